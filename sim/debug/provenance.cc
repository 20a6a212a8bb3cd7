#include "sim/debug/provenance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "isa/program/tile_move.h"
#include "isa/type/number.h"
#include "sim/debug/access_capture.h"
#include "sim/debug/bit_ranges.h"

namespace tilevm::sim::debug {
namespace {

const isa::InstStmt* find_statement(const isa::Block& block, isa::StmtId id) {
  const isa::InstStmt* found = nullptr;
  isa::for_each_statement(block, [&](const isa::Stmt& stmt) {
    if (stmt.id() == id) found = std::get_if<isa::InstStmt>(&stmt.node);
  });
  return found;
}

}  // namespace

/// A statement that wrote memory: its accesses.
struct Provenance::Writer {
  AccessCapture capture;
};

Trail Provenance::trail_of(const Tensor& tensor, const isa::Index& index,
                           std::optional<std::int64_t> thread, std::size_t launch,
                           std::uint64_t rank) {
  Trail trail;
  trail.launch = launch;
  trail.rank = rank;
  trail.var = tensor.var;
  const auto add = [&](std::uint64_t begin) { append(trail.bits, begin, tensor.dtype.bits); };
  if (const auto* registers = std::get_if<RegisterPlace>(&tensor.place)) {
    const isa::RegisterLayout& layout = registers->type->layout;
    const std::vector<std::int64_t> threads = layout.threads_of(index);
    const bool holds =
        thread && std::find(threads.begin(), threads.end(), *thread) != threads.end();
    trail.thread = static_cast<std::size_t>(holds ? *thread : threads.front());
    add(static_cast<std::uint64_t>(layout.local_of(index)) * tensor.dtype.bits);
    return trail;
  }
  if (const auto bit = tensor.bit_of(index)) add(*bit);
  trail.space = Trail::Space::shared;
  if (const auto* global = std::get_if<GlobalPlace>(&tensor.place)) {
    trail.space = Trail::Space::global;
    trail.buffer = global->buffer.data;
  }
  return trail;
}

std::optional<std::size_t> Provenance::resident_of(const Trail& trail) {
  const MachineState& state = machine().state();
  if (machine().finished() || state.launch != trail.launch) return std::nullopt;
  for (std::size_t i = 0; i < state.residents.size(); ++i) {
    if (state.residents[i]->rank == trail.rank) return i;
  }
  return std::nullopt;
}

reply::Cause Provenance::step(Trail trail, const std::string& via, std::optional<Trail>& next,
                              std::vector<TrailBranch>& branches) {
  reply::Cause cause;
  next.reset();
  branches.clear();
  const Moment origin = timeline_.now();
  if (trail.bits.empty()) {
    cause.kind = reply::Cause::Kind::unknown;
    return cause;
  }
  describe(trail, cause);
  std::optional<Writer> writer;
  switch (trail.space) {
    case Trail::Space::registers:
      if (!find_register_writer(trail)) {
        cause.kind = reply::Cause::Kind::unknown;
        return cause;
      }
      cause.position = make_position(machine(), machine().state().position);
      next = through_registers(trail, via, cause, branches);
      cause.branches = branches.size();
      return cause;
    case Trail::Space::shared:
      writer = find_shared_writer(trail);
      break;
    case Trail::Space::global:
      writer = find_global_writer(trail);
      break;
  }
  if (!writer) {
    cause.kind =
        trail.space == Trail::Space::global ? reply::Cause::Kind::input : reply::Cause::Kind::zeros;
    return cause;
  }
  cause.position = make_position(machine(), machine().state().position);
  if (writer->capture.combines()) {
    next = through_combination(trail, *writer, via, cause, branches);
    cause.branches = branches.size();
    return cause;
  }
  cause.copy = true;
  next = through_store(trail, *writer);
  if (next) {
    branches.push_back({*next, timeline_.now()});
    cause.branches = cause.followed = 1;
  }
  branch_off_rest(trail, *writer, origin, cause, branches);
  return cause;
}

/// Goes to before the statement that wrote a register tile last.
bool Provenance::find_register_writer(Trail& trail) {
  const auto resident = resident_of(trail);
  if (!resident) return false;
  const PreparedLaunch& launch = machine().launch();
  const std::vector<Moment>& last_run = machine().state().residents[*resident]->last_run;
  const isa::VarId asked = trail.var;
  // A View and its source may share their registers.
  const auto shares = [&](isa::VarId var) {
    return std::holds_alternative<isa::RegisterType>(launch.kernel().variable(var).type) &&
           launch.registers().offset(var) == launch.registers().offset(asked);
  };
  Moment last = 0;
  for (std::size_t record = 0; record < last_run.size(); ++record) {
    for (const isa::VarId var : launch.records()[record].written) {
      if (last_run[record] <= last || !shares(var)) continue;
      last = last_run[record];
      trail.var = var;
    }
  }
  if (last == 0) return false;
  timeline_.go_back_to(last - 1);
  return true;
}

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

Trail Provenance::of_element(const ElementSource& source, const Trail& trail) {
  const auto& type =
      *std::get_if<isa::RegisterType>(&machine().launch().kernel().variable(source.var).type);
  Trail result = trail;
  result.space = Trail::Space::registers;
  result.var = source.var;
  result.thread = source.thread;
  result.bits = {{source.place * type.dtype.bits, (source.place + 1) * type.dtype.bits}};
  return result;
}

/// The machine is before the statement that wrote the tile.
std::optional<Trail> Provenance::through_registers(const Trail& trail, const std::string& via,
                                                   reply::Cause& cause,
                                                   std::vector<TrailBranch>& branches) {
  const PlanOp& op = machine().launch().plan().records[machine().next_record()];
  Trail next = trail;
  switch (op.flow.kind) {
    case DataFlow::Kind::none:
    case DataFlow::Kind::created:
      return std::nullopt;
    case DataFlow::Kind::loaded:
      cause.copy = true;
      return through_load(trail);
    case DataFlow::Kind::viewed:
      next.var = op.flow.viewed;
      return next;
    case DataFlow::Kind::moved:
      cause.copy = true;
      return through_elements(trail, via, cause, branches);
    case DataFlow::Kind::computed:
    case DataFlow::Kind::selected:
    case DataFlow::Kind::product:
      return through_elements(trail, via, cause, branches);
  }
  TILEVM_NO_ENUMERATOR();
}

std::optional<Trail> Provenance::through_load(const Trail& trail) {
  const auto& type =
      *std::get_if<isa::RegisterType>(&machine().launch().kernel().variable(trail.var).type);
  const Writer load = capture_step();
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
                     if (bit) append(next.bits, *bit + first, count);
                   });
  if (outside) return std::nullopt;
  next.space = load.capture.in_shared ? Trail::Space::shared : Trail::Space::global;
  next.buffer = load.capture.buffer;
  return next;
}

std::optional<Trail> Provenance::through_store(const Trail& trail, const Writer& writer) {
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
      thread = found->first.thread;
      const std::uint64_t count = std::min<std::uint64_t>(n - found->second, range.end - at);
      std::optional<std::uint64_t> begin = found->first.place * n;
      if (is_copy) begin = bit_of(*capture.in_global, found->first);
      if (!begin) return std::nullopt;
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
  const PlanOp& op = machine().launch().plan().records[machine().next_record()];
  const isa::InstStmt* stmt = find_statement(machine().launch().kernel().body, op.statement);
  const auto move = stmt != nullptr ? isa::tile_move(*stmt) : std::nullopt;
  const auto* registers = move ? std::get_if<isa::RegisterMove>(&*move) : nullptr;
  if (registers == nullptr) return std::nullopt;  // a semaphore's value
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
  const PlanOp& op = machine().launch().plan().records[machine().next_record()];
  const isa::InstStmt* stmt = find_statement(machine().launch().kernel().body, op.statement);
  const auto move = stmt != nullptr ? isa::tile_move(*stmt) : std::nullopt;
  const auto* store = move ? std::get_if<isa::RegisterMove>(&*move) : nullptr;
  if (store == nullptr) return std::nullopt;
  std::vector<ElementSource> sources;
  for (const MovedElement& element : elements_at(writer.capture, trail.bits.front().begin)) {
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
  reply::Cause before;
  describe(trail, before);
  if (before.has_element) {
    branches.push_back({trail, timeline_.now()});
    cause.sources.push_back({fmt::format("{} = {} before", before.place,
                                         isa::format_value(before.dtype, before.element.code)),
                             {branches.size()}});
  }
  if (listed.empty()) return std::nullopt;
  const std::size_t chosen = choose(sources, listed, DataFlow::Kind::computed, via, cause);
  cause.followed = chosen + 1;
  return branches[chosen].trail;
}

std::optional<Trail> Provenance::through_elements(const Trail& trail, const std::string& via,
                                                  reply::Cause& cause,
                                                  std::vector<TrailBranch>& branches) {
  const PlanOp& op = machine().launch().plan().records[machine().next_record()];
  const auto& type =
      *std::get_if<isa::RegisterType>(&machine().launch().kernel().variable(trail.var).type);
  const std::size_t place = trail.bits.front().begin / type.dtype.bits;
  const std::vector<ElementSource> sources = op.flow.sources(trail.thread, place);
  if (sources.empty()) return std::nullopt;
  std::vector<std::size_t> listed;
  if (op.flow.kind == DataFlow::Kind::product) {
    list_terms(sources, cause, listed);
  } else {
    list_sources(sources, cause, listed);
  }
  const std::size_t chosen = choose(sources, listed, op.flow.kind, via, cause);
  for (const std::size_t source : listed) {
    branches.push_back({of_element(sources[source], trail), timeline_.now()});
  }
  cause.followed = chosen + 1;
  Trail next = branches[chosen].trail;
  if (op.flow.kind == DataFlow::Kind::moved) {  // the same bits of the element
    const std::uint64_t shift = trail.bits.front().begin - place * type.dtype.bits;
    next.bits.front().begin += shift;
    next.bits.front().end =
        next.bits.front().begin + trail.bits.front().end - trail.bits.front().begin;
  }
  return next;
}

}  // namespace tilevm::sim::debug
