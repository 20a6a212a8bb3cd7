// How `why` follows values through shared and global memory, and scalars: who wrote them, and what
// a load or a store moved.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/analysis/operands.h"
#include "isa/program/tile_move.h"
#include "isa/type/number.h"
#include "sim/debug/access_capture.h"
#include "sim/debug/outside_view.h"
#include "sim/debug/provenance.h"

namespace tilevm::sim::debug {

std::optional<Provenance::Writer> Provenance::find_shared_writer(const Trail& trail) {
  const auto resident = resident_of(trail);
  if (!resident) return std::nullopt;
  const Moment began = machine().state().residents[*resident]->began;
  const std::uint64_t bit = trail.bits.front().begin;
  AccessCapture capture;
  std::uint64_t stepped = 0;
  bool known = false;
  machine().writes().listener = &capture;
  const auto found = timeline_.search_back(
      [&](bool first, bool) -> std::optional<Moment> {
        std::optional<Moment> match;
        if (!first && known && stepped == trail.rank && timeline_.now() > began &&
            capture.in_shared && capture.in_shared->writes && element_at(*capture.in_shared, bit)) {
          match = timeline_.now() - 1;
        }
        capture.clear();
        known = machine().has_current();
        if (known) stepped = machine().current().rank;
        return match;
      },
      began);
  machine().writes().listener = nullptr;
  if (!found) return std::nullopt;
  return capture_step();
}

/// The accesses of the next step, which is not made.
Provenance::Writer Provenance::capture_step() {
  Writer writer;
  const Moment before = timeline_.now();
  machine().writes().listener = &writer.capture;
  static_cast<void>(timeline_.step());
  machine().writes().listener = nullptr;
  timeline_.go_back_to(before);
  return writer;
}

std::optional<Provenance::Writer> Provenance::find_global_writer(const Trail& trail) {
  const std::uint64_t bit = trail.bits.front().begin;
  const Moment present = timeline_.now();
  const std::vector<GlobalWrite>& history = machine().writes().history;
  for (std::size_t k = history.size(); k-- > 0;) {
    const GlobalWrite& write = history[k];
    if (write.moment > present || !write.may_include(trail.buffer, bit / 8)) continue;
    timeline_.go_back_to(write.moment - 1);
    Writer writer = capture_step();
    const auto& access = writer.capture.in_global;
    if (access && sim::writes(access->use) && element_at(*access, bit)) return writer;
  }
  return std::nullopt;
}

std::optional<Trail> Provenance::through_load(const Trail& trail, reply::Cause& cause) {
  const auto& type =
      *std::get_if<isa::RegisterType>(&machine().launch().kernel().variable(trail.var).type);
  const Writer load = capture_step();
  access_ = load.capture;
  moved_ = MovedElement{trail.thread,
                        static_cast<std::size_t>(trail.bits.front().begin / type.dtype.bits)};
  Trail next = trail;
  next.bits.clear();
  bool outside = false;
  for_each_element(trail.bits, type.dtype.bits,
                   [&](std::size_t place, std::uint64_t first, std::uint64_t count) {
                     const MovedElement element{trail.thread, place};
                     std::optional<std::uint64_t> bit;
                     if (load.capture.in_shared) {
                       bit = bit_of(*load.capture.in_shared, element);
                     } else if (load.capture.in_global) {
                       bit = bit_of(*load.capture.in_global, element);
                     }
                     outside = outside || !bit;
                     if (!bit && !cause.outside)
                       cause.outside = outside_view(load.capture, element);
                     if (bit) append(next.bits, *bit + first, count);
                   });
  if (outside) return std::nullopt;
  next.space = load.capture.in_shared ? Trail::Space::shared : Trail::Space::global;
  next.buffer = load.capture.buffer;
  return next;
}

std::optional<Trail> Provenance::through_store(const Trail& trail, const Writer& writer,
                                               reply::Cause& cause) {
  const AccessCapture& capture = writer.capture;
  const bool is_copy = capture.in_shared && capture.in_global;
  const unsigned n = capture.in_shared ? capture.in_shared->access->tile.bits
                                       : capture.in_global->access->tile.bits;
  Trail next = trail;
  next.launch = machine().launch_index();
  next.rank = machine().current().rank;
  next.bits.clear();
  std::optional<std::size_t> thread;
  for (const BitRange& range : trail.bits) {
    for (std::uint64_t at = range.begin; at < range.end;) {
      const auto found = capture.in_shared ? element_at(*capture.in_shared, at)
                                           : element_at(*capture.in_global, at);
      if (!found || (thread && *thread != found->first.thread)) break;  // written by another
      if (!thread) moved_ = found->first;
      thread = found->first.thread;
      const std::uint64_t count = std::min<std::uint64_t>(n - found->second, range.end - at);
      std::optional<std::uint64_t> begin = found->first.place * n;
      if (is_copy) begin = bit_of(*capture.in_global, found->first);
      if (!begin) {
        cause.outside = outside_view(capture, found->first);
        return std::nullopt;
      }
      append(next.bits, *begin + found->second, count);
      at += count;
    }
  }
  if (next.bits.empty()) return std::nullopt;
  next.thread = thread.value_or(0);
  if (is_copy) {
    next.space = Trail::Space::global;
    next.buffer = capture.buffer;
    return next;
  }
  const isa::InstStmt* stmt = next_instruction();
  const auto move = stmt != nullptr ? isa::tile_move(*stmt) : std::nullopt;
  const auto* registers = move ? std::get_if<isa::RegisterMove>(&*move) : nullptr;
  if (registers == nullptr) return std::nullopt;
  next.space = Trail::Space::registers;
  next.var = registers->tile;
  return next;
}

/// Bits of a value in memory that another statement, or another thread, wrote.
void Provenance::branch_off_rest(const Trail& trail, const Writer& writer, Moment origin,
                                 reply::Cause& cause, std::vector<TrailBranch>& branches) {
  const AccessCapture& capture = writer.capture;
  std::optional<std::size_t> thread;
  Trail rest = trail;
  rest.bits.clear();
  for (const BitRange& range : trail.bits) {
    for (std::uint64_t bit = range.begin; bit < range.end; ++bit) {
      const auto found = capture.in_shared ? element_at(*capture.in_shared, bit)
                                           : element_at(*capture.in_global, bit);
      if (found && !thread) thread = found->first.thread;
      if (!found || found->first.thread != *thread) append(rest.bits, bit, 1);
    }
  }
  if (rest.bits.empty()) return;
  branches.push_back({rest, origin});
  cause.branches = branches.size();
  cause.sources.push_back(
      {fmt::format("{}: written by another thread or statement", byte_ranges(rest.bits)),
       {branches.size()}});
}

/// The machine is before a store that combines: what it makes of the element comes from what was
/// there, and from the elements of the tile that have this place. One of them is followed.
std::optional<Trail> Provenance::through_combination(const Trail& trail, const Writer& writer,
                                                     const std::string& via, reply::Cause& cause,
                                                     std::vector<TrailBranch>& branches) {
  const isa::InstStmt* stmt = next_instruction();
  const auto move = stmt != nullptr ? isa::tile_move(*stmt) : std::nullopt;
  const auto* store = move ? std::get_if<isa::RegisterMove>(&*move) : nullptr;
  if (store == nullptr) return std::nullopt;
  std::vector<ElementSource> sources;
  for (const MovedElement& element : elements_at(writer.capture, trail.bits.front().begin)) {
    if (!moved_) moved_ = element;
    sources.push_back({store->tile, element.thread, element.place});
  }
  Trail here = trail;
  here.launch = machine().launch_index();
  here.rank = machine().current().rank;
  std::vector<std::size_t> listed;
  list_sources(sources, cause, listed);
  for (const std::size_t source : listed) {
    branches.push_back({of_element(sources[source], here), timeline_.now()});
  }
  list_before(trail, cause, branches);
  if (listed.empty()) return std::nullopt;
  const std::size_t chosen = choose(sources, listed, DataFlow::Kind::computed, via, cause);
  cause.followed = chosen + 1;
  return branches[chosen].trail;
}

/// What an element of memory was before the statement.
void Provenance::list_before(const Trail& trail, reply::Cause& cause,
                             std::vector<TrailBranch>& branches) {
  reply::Cause before;
  describe(trail, before);
  if (before.place.empty()) return;
  std::string text = before.place;
  if (before.has_element) {
    text += fmt::format(" = {}", isa::format_value(before.dtype, before.element.code));
  }
  branches.push_back({trail, timeline_.now()});
  cause.sources.push_back({text + " before", {branches.size()}});
}

/// The machine is before an instruction on a semaphore, which stores a scalar, or adds one to what
/// was there.
void Provenance::follow_update(const Trail& trail, std::optional<Trail>& next, reply::Cause& cause,
                               std::vector<TrailBranch>& branches) {
  moved_ = MovedElement{};
  const isa::InstStmt* stmt = next_instruction();
  if (stmt == nullptr || !isa::updates_memory(stmt->inst)) return;
  list_before(trail, cause, branches);
  if (branches.empty()) return;
  cause.followed = branches.size();
  next = branches.back().trail;
}

/// The machine is before the statement that wrote the scalar: the element that it was read from.
std::optional<Trail> Provenance::through_scalar(const Trail& trail) {
  const isa::InstStmt* stmt = next_instruction();
  if (stmt == nullptr || isa::description(stmt->inst).result != isa::ResultKind::scalar) {
    return std::nullopt;
  }
  Trail next = trail;
  std::optional<isa::VarId> tile;
  isa::for_each_register_operand(stmt->inst, [&](isa::VarId var) { tile = var; });
  if (tile) {
    const auto& type =
        *std::get_if<isa::RegisterType>(&machine().launch().kernel().variable(*tile).type);
    next.space = Trail::Space::registers;
    next.var = *tile;
    next.thread = 0;
    next.bits = {{0, type.dtype.bits}};
    return next;
  }
  access_ = capture_step().capture;
  moved_ = MovedElement{};
  std::optional<std::uint64_t> bit;
  std::uint64_t bits = 0;
  if (access_.in_shared) {
    bit = bit_of(*access_.in_shared, *moved_);
    bits = access_.in_shared->access->tile.bits;
  } else if (access_.in_global) {
    bit = bit_of(*access_.in_global, *moved_);
    bits = access_.in_global->access->tile.bits;
  }
  if (!bit) return std::nullopt;
  next.space = access_.in_shared ? Trail::Space::shared : Trail::Space::global;
  next.buffer = access_.buffer;
  next.bits = {{*bit, *bit + bits}};
  return next;
}

bool Provenance::is_parameter(const Trail& trail) {
  if (trail.space != Trail::Space::scalar || !resident_of(trail)) return false;
  return std::ranges::find(machine().launch().kernel().parameters, trail.var) !=
         machine().launch().kernel().parameters.end();
}

std::vector<ScalarSources::NotTaken> Provenance::branches_not_taken(
    const Trail& trail, reply::Cause& cause, std::vector<TrailBranch>& branches) {
  Trail written = trail;
  const bool is_variable =
      trail.space == Trail::Space::registers || trail.space == Trail::Space::scalar;
  const Moment last = is_variable ? last_write(written) : 0;
  if (last == 0) return {};
  return ScalarSources(timeline_, dtypes_, shapes_, trail.rank, cause, branches)
      .find_not_taken(written.var, last);
}

/// The row-major number of a tile's element; nothing if the trail is none.
std::optional<std::int64_t> Provenance::element_number(const Trail& trail) {
  if (trail.space != Trail::Space::registers) return std::nullopt;
  const auto& type =
      *std::get_if<isa::RegisterType>(&machine().launch().kernel().variable(trail.var).type);
  const isa::Index index =
      type.layout.element(static_cast<std::int64_t>(trail.thread),
                          static_cast<std::int64_t>(trail.bits.front().begin / type.dtype.bits));
  std::int64_t number = 0;
  for (std::size_t d = 0; d < index.size(); ++d) number = number * type.shape()[d] + index[d];
  return number;
}

/// The machine is before the statement: scalars that it computes with, which are followed if there
/// is not another value, those of its offsets, and those of the conditions around it.
void Provenance::list_scalars(const Trail& trail,
                              const std::vector<ScalarSources::NotTaken>& not_taken,
                              const std::string& via, std::optional<TrailBranch>& next,
                              reply::Cause& cause, std::vector<TrailBranch>& branches) {
  const std::uint64_t rank = machine().current().rank;
  ScalarSources scalars(timeline_, dtypes_, shapes_, rank, cause, branches);
  // What a LoadScalar or an AtomicAdd gives was in memory; what it adds is not in the result.
  const bool was_in_memory = trail.space == Trail::Space::scalar && next.has_value();
  if (!was_in_memory) scalars.list_values(element_number(trail));
  scalars.list_range();
  cause.values += scalars.values();
  const bool has_value = next.has_value();
  if (!has_value && scalars.values() > 0) {
    cause.followed = choose_scalar(cause, branches) + 1;
    next = branches[cause.followed - 1];
  }
  scalars.list_offsets(access_, moved_);
  if (!not_taken.empty()) scalars.list_not_taken(not_taken);
  scalars.list_conditions(listed_);
  const auto named = [&](const TrailBranch& branch) {
    return branch.trail.space == Trail::Space::scalar &&
           machine().launch().kernel().variable(branch.trail.var).name == via;
  };
  const auto found = via.empty() ? branches.end() : std::ranges::find_if(branches, named);
  if (found == branches.end()) return;
  cause.followed = static_cast<std::size_t>(found - branches.begin()) + 1;
  next = *found;
}

/// The scalar that has the value, else the first.
std::size_t Provenance::choose_scalar(const reply::Cause& cause,
                                      const std::vector<TrailBranch>& branches) {
  for (std::size_t i = 0; i < cause.values; ++i) {
    const isa::VarId var = branches[i].trail.var;
    const auto& type =
        *std::get_if<isa::ScalarType>(&machine().launch().kernel().variable(var).type);
    const BlockState& block = machine().state().residents[machine().state().position]->state;
    const isa::Scalar value{type.kind, block.scalars[static_cast<std::size_t>(var.index)]};
    if (cause.scalar && value == *cause.scalar) return i;
    if (!cause.has_element) continue;
    const Value number = value.kind == isa::ScalarKind::f32 ? Value(double{value.as_float()})
                                                            : Value(value.as_int());
    if (code_of_value(cause.dtype, number) == cause.element.code) return i;
  }
  return 0;
}

}  // namespace tilevm::sim::debug
