#include "sim/debug/provenance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "isa/program/tile_move.h"
#include "isa/type/number.h"
#include "sim/debug/access_capture.h"

namespace tilevm::sim::debug {

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

/// The instruction before which the machine is; null of another statement.
const isa::InstStmt* Provenance::next_instruction() {
  const PlanOp& op = machine().launch().plan().records[machine().next_record()];
  const isa::InstStmt* found = nullptr;
  isa::for_each_statement(machine().launch().kernel().body, [&](const isa::Stmt& stmt) {
    if (stmt.id() == op.statement) found = std::get_if<isa::InstStmt>(&stmt.node);
  });
  return found;
}

std::optional<std::size_t> Provenance::resident_of(const Trail& trail) {
  const MachineState& state = machine().state();
  if (machine().finished() || state.launch != trail.launch) return std::nullopt;
  for (std::size_t i = 0; i < state.residents.size(); ++i) {
    if (state.residents[i]->rank == trail.rank) return i;
  }
  return std::nullopt;
}

reply::Cause Provenance::step(Trail trail, const std::string& via, std::optional<TrailBranch>& next,
                              std::vector<TrailBranch>& branches) {
  reply::Cause cause;
  next.reset();
  branches.clear();
  access_.clear();
  moved_.reset();
  if (trail.bits.empty()) {
    cause.kind = reply::Cause::Kind::unknown;
    return cause;
  }
  describe(trail, cause);
  std::optional<Trail> value;
  const std::vector<ScalarSources::NotTaken> not_taken = branches_not_taken(trail, cause, branches);
  follow(trail, via, value, cause, branches);
  if (cause.kind != reply::Cause::Kind::statement) return cause;
  if (value && branches.empty()) {
    branches.push_back({*value, timeline_.now()});
    cause.followed = 1;
  }
  cause.values = branches.size();
  if (value) next = TrailBranch{*value, timeline_.now()};
  list_scalars(trail, not_taken, via, next, cause, branches);
  cause.branches = branches.size();
  return cause;
}

/// Goes to before the statement that wrote the trail's bits last, and finds the value that these
/// were made of.
void Provenance::follow(Trail trail, const std::string& via, std::optional<Trail>& next,
                        reply::Cause& cause, std::vector<TrailBranch>& branches) {
  const Moment origin = timeline_.now();
  std::optional<Writer> writer;
  switch (trail.space) {
    case Trail::Space::registers:
    case Trail::Space::scalar: {
      const Moment last = last_write(trail);
      if (last == 0) {
        cause.kind =
            is_parameter(trail) ? reply::Cause::Kind::parameter : reply::Cause::Kind::unknown;
        return;
      }
      timeline_.go_back_to(last - 1);
      cause.position = make_position(machine(), machine().state().position);
      next = trail.space == Trail::Space::scalar ? through_scalar(trail)
                                                 : through_registers(trail, via, cause, branches);
      return;
    }
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
    return;
  }
  access_ = writer->capture;
  cause.position = make_position(machine(), machine().state().position);
  if (writer->capture.combines()) {
    next = through_combination(trail, *writer, via, cause, branches);
    return;
  }
  if (writer->capture.orders_blocks()) {
    follow_update(trail, next, cause, branches);
    return;
  }
  cause.copy = true;
  next = through_store(trail, *writer, cause);
  if (next) {
    branches.push_back({*next, timeline_.now()});
    cause.followed = 1;
  }
  branch_off_rest(trail, *writer, origin, cause, branches);
}

/// The moment after a register tile or a scalar was written last, 0 if it was not. `trail.var`
/// becomes the variable by which it was written.
Moment Provenance::last_write(Trail& trail) {
  const auto resident = resident_of(trail);
  if (!resident) return 0;
  const PreparedLaunch& launch = machine().launch();
  const std::vector<Moment>& last_run = machine().state().residents[*resident]->last_run;
  const isa::VarId asked = trail.var;
  // A View and its source may share their registers.
  const auto shares = [&](isa::VarId var) {
    if (trail.space == Trail::Space::scalar) return var == asked;
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
  return last;
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
      return through_load(trail, cause);
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
  Trail& next = branches[chosen].trail;
  if (op.flow.kind == DataFlow::Kind::moved) {  // the same bits of the element
    const std::uint64_t shift = trail.bits.front().begin - place * type.dtype.bits;
    next.bits.front().begin += shift;
    next.bits.front().end =
        next.bits.front().begin + trail.bits.front().end - trail.bits.front().begin;
  }
  return next;
}

}  // namespace tilevm::sim::debug
