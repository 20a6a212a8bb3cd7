#include "sim/launch/block_interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/checks/product_checks.h"
#include "sim/checks/redundancy.h"
#include "sim/checks/shared_races.h"
#include "sim/exec/async_copy.h"
#include "sim/flight/async_product.h"
#include "sim/launch/group_scheduler.h"
#include "sim/state/cluster.h"

namespace tilevm::sim {
namespace {

__extension__ using Int128 = __int128;

/// An integer's value, whatever its kind: u64 does not fit an int64.
Int128 value_of(isa::ScalarKind kind, std::uint64_t bits) {
  if (kind == isa::ScalarKind::u64) return static_cast<Int128>(bits);
  return static_cast<std::int64_t>(bits);
}

/// How many values range(begin, end, step) has; it fits, since a kind has at most 2^64 values.
std::uint64_t range_count(Int128 begin, Int128 end, Int128 step) {
  if (step > 0) return begin < end ? static_cast<std::uint64_t>((end - begin - 1) / step + 1) : 0;
  return begin > end ? static_cast<std::uint64_t>((begin - end - 1) / -step + 1) : 0;
}

/// The sum of two integers in their kind's canonical bits.
std::uint64_t add_in(isa::ScalarKind kind, std::uint64_t a, std::uint64_t b) {
  return isa::apply(isa::ScalarBinary::add, {kind, a}, {kind, b})->bits;
}

}  // namespace

BlockInterpreter::BlockInterpreter(const Plan& plan, const Memory& memory,
                                   const std::vector<std::uint64_t>& parameters,
                                   const RunSettings& settings)
    : plan_(plan),
      parameters_(parameters),
      context_(state_, memory, scratch_, settings),
      executed_(plan.records.size(), 0),
      accesses_(plan.counts_accesses ? plan.records.size() : 0),
      errors_(plan.keeps_shadow ? plan.records.size() : 0) {
  state_ = new_state();
  scratch_.tables.resize(plan.table_count);
  scratch_.shared_tables.resize(plan.shared_table_count);
  scratch_.indexed_tables.resize(plan.indexed_table_count);
  scratch_.indexed_places.resize(plan.indexed_table_count);
  scratch_.stores.resize(plan.memory_statements.size());
  scratch_.outside.resize(plan.memory_statements.size());
}

BlockState BlockInterpreter::new_state() const {
  BlockState state;
  static_cast<OwnState&>(state) = new_own_state();
  if (plan_.groups.blocks == 1) return state;
  // The current block's place is empty.
  state.others.emplace_back();
  for (std::uint32_t i = 1; i < plan_.groups.blocks; ++i) state.others.push_back(new_own_state());
  return state;
}

OwnState BlockInterpreter::new_own_state() const {
  const RunSettings& settings = context_.settings;
  const Checks& checks = settings.checks;
  OwnState state;
  state.registers = RegisterSlab(plan_.register_bytes);
  const bool masked = checks.uninitialized || checks.padding;
  state.undefined = UndefinedRegisters(masked ? plan_.register_bytes : 0);
  state.views.resize(plan_.view_slots);
  state.shadow.kept = plan_.keeps_shadow;
  state.shadow.registers.resize(plan_.shadow_registers);
  const std::size_t granules = plan_.shared_bytes >> plan_.granule_shift;
  // Accesses of a block with parties are compared by what these know (group_races.h).
  const bool by_epoch = !settings.has_parties();
  if (checks.races && by_epoch) state.shared.since_barrier.records.resize(granules);
  if (checks.in_flight && by_epoch) state.shared.in_flight.resize(granules);
  if (settings.observers.needed != nullptr) state.shared.without.history.records.resize(granules);
  if (checks.races && by_epoch && plan_.has_products) state.products.stores.resize(granules);
  if (settings.uses != nullptr) {
    const std::size_t buffers = context_.memory.size();
    state.global.since_barrier.resize(buffers);
    state.global.block.resize(buffers);
    if (settings.observers.needed != nullptr) state.global.without.resize(buffers);
  }
  return state;
}

void BlockInterpreter::start(const std::array<std::int64_t, 3>& block, std::uint64_t order) {
  state_.order = order;
  state_.scalars.assign(plan_.scalar_slots, 0);
  std::copy(parameters_.begin(), parameters_.end(), state_.scalars.begin());
  state_.next = 0;
  state_.steps = 0;
  state_.draws = 0;
  state_.wait.reset();
  state_.turns = 0;
  enter_block(0, state_);
  for_each_member(state_, [&] { start_member(member(block, state_.rank)); });
  start_groups(plan_, state_);
  context_.fault.reset();
}

/// The block of a rank in the cluster whose first block is given; x counts first.
std::array<std::int64_t, 3> BlockInterpreter::member(const std::array<std::int64_t, 3>& first,
                                                     std::uint32_t rank) const {
  std::array<std::int64_t, 3> block = first;
  std::int64_t left = rank;
  for (std::size_t d = 0; d < block.size(); ++d) {
    block[d] += left % plan_.groups.cluster[d];
    left /= plan_.groups.cluster[d];
  }
  return block;
}

void BlockInterpreter::start_member(const std::array<std::int64_t, 3>& block) {
  state_.block = block;
  start_shared_memory();
  state_.prints.clear();
  state_.undefined.reset();
  state_.probe = {};
  const Trace* trace = context_.settings.observers.trace;
  state_.traced = trace != nullptr && (trace->first_blocks > 0 ? state_.order < trace->first_blocks
                                                               : trace->block == block);
  start_products();
  state_.tensor_stores.clear();
}

/// Initial contents are unspecified. The simulator makes them zero, whatever ran before.
void BlockInterpreter::start_shared_memory() {
  SharedMemory& shared = state_.shared;
  shared.bytes.assign(plan_.shared_bytes, 0);
  state_.shadow.shared.assign(plan_.shadow_shared, {});
  if (context_.settings.checks.uninitialized) {
    shared.undefined = plan_.shared_contents.undefined;
    shared.unwritten = plan_.shared_contents.unwritten;
  } else if (context_.settings.checks.padding) {
    shared.undefined.assign(plan_.shared_contents.undefined.size(), 0);
    shared.unwritten = plan_.shared_contents.unwritten;
    state_.padding.assign(shared.unwritten.size(), {});
  }
  if (!shared.copies.empty()) {
    shared.in_flight.assign(shared.in_flight.size(), false);
    shared.copies.clear();
  }
  shared.pending_bytes = 0;
  shared.groups = 0;
  shared.last_wait = {};
  forget_history(shared.since_barrier);
  stop_counterfactuals(context_);
  shared.without.unwaited.clear();
}

void BlockInterpreter::start_products() {
  if (!plan_.has_products) return;
  AsyncProducts fresh;
  fresh.stores = std::move(state_.products.stores);
  std::ranges::fill(fresh.stores, GenericStore{});
  state_.products = std::move(fresh);
}

std::optional<Fault> BlockInterpreter::run_block(const std::array<std::int64_t, 3>& block,
                                                 std::uint64_t order) {
  start(block, order);
  while (!done() && step()) {
  }
  publish();
  return take_fault();
}

bool BlockInterpreter::step() {
  const PlanOp& record = plan_.records[state_.next];
  if (state_.steps >= context_.settings.max_steps * plan_.groups.blocks) return step_limit(record);
  ++state_.steps;
  ++executed_[state_.next];
  if (record.meter) record.meter(state_, meter_cache_, accesses_[state_.next]);
  if (context_.settings.observers.probes != nullptr) keep_operands_of(record);
  const std::size_t number = state_.next++;
  if (!execute(record)) return false;
  if (plan_.groups.active) return step_groups(number);
  if (done() && !state_.products.pending.empty() && !check_all_retired(context_)) return false;
  if (state_.traced && !state_.wait && !emit_trace(record)) return false;
  if (context_.settings.observers.probes != nullptr) run_probe_of(record);
  return true;
}

/// After a record of a block with groups of warps: the record runs again if its group must wait,
/// and the group that runs next becomes the current one.
bool BlockInterpreter::step_groups(std::size_t number) {
  const PlanOp& record = plan_.records[number];
  const bool waits = state_.groups[state_.group].wait.has_value();
  if (waits) {
    state_.next = number;
    --state_.steps;
    --executed_[number];
  } else {
    if (state_.traced && !state_.wait && !emit_trace(record)) return false;
    if (context_.settings.observers.probes != nullptr) run_probe_of(record);
  }
  return settle_groups(plan_, record, context_);
}

/// A fault of a cluster is in the block that was the current one.
std::optional<Fault> BlockInterpreter::take_fault() {
  std::optional<Fault> fault = std::exchange(context_.fault, std::nullopt);
  if (fault && !state_.others.empty())
    fault->block.assign(state_.block.begin(), state_.block.end());
  return fault;
}

void BlockInterpreter::publish() {
  for_each_member(state_, [&] { publish_accesses(context_); });
}

bool BlockInterpreter::run_segment() {
  while (!done() && !plan_.records[state_.next].orders_blocks) {
    if (!step()) return false;
  }
  return true;
}

bool BlockInterpreter::take_turn() {
  const std::size_t number = state_.next;
  if (!step()) return false;
  if (!state_.wait) return true;
  state_.next = number;
  --state_.steps;
  --executed_[number];
  return true;
}

void BlockInterpreter::run_turns(std::uint32_t turns) {
  while (!done() && state_.turns < turns && step()) {
  }
}

/// Traces the values of a statement that wrote a variable or is an instruction. False: the trace is
/// long enough, so the run stops.
bool BlockInterpreter::emit_trace(const PlanOp& record) {
  const bool loop_ended = record.kind == PlanOp::Kind::loop_next && state_.next == record.target;
  if (loop_ended || (record.mnemonic.empty() && record.written.empty())) return true;
  const Trace& trace = *context_.settings.observers.trace;
  const auto group = static_cast<std::uint16_t>(state_.group % plan_.groups.block_groups);
  TraceEvent event{state_.block, state_.steps, record.span, record.mnemonic, group, {}, {}};
  if (trace.values) show_values(record.written, state_, event);
  if (trace.tell(event)) return true;
  state_.traced = false;
  if (trace.first_blocks > 0) return true;
  return context_.fail(Code::step_limit, record.span, "the trace is long enough");
}

void BlockInterpreter::keep_operands_of(const PlanOp& record) {
  keep_operands(plan_.probes[static_cast<std::size_t>(&record - plan_.records.data())], state_,
                *context_.settings.observers.probes);
}

/// Records what a statement wrote, or that an iteration of a loop begins.
void BlockInterpreter::run_probe_of(const PlanOp& record) {
  const StatementProbe& probe =
      plan_.probes[static_cast<std::size_t>(&record - plan_.records.data())];
  if (probe.mode == isa::ProbeMode::none || state_.wait) return;
  const bool may_leave =
      record.kind == PlanOp::Kind::loop_next || record.kind == PlanOp::Kind::branch;
  if (may_leave && state_.next == record.target) return;
  run_probe(probe, state_, context_.memory, *context_.settings.observers.probes);
}

bool BlockInterpreter::execute(const PlanOp& record) {
  switch (record.kind) {
    case PlanOp::Kind::instruction:
      if (!state_.shared.copies.empty() &&
          context_.settings.completion.time == Completion::Time::random) {
        let_copies_arrive(context_);
      }
      if (!state_.products.pending.empty()) let_products_complete(context_);
      return plan_.keeps_shadow ? step_shadow(record) : run_action(record);
    case PlanOp::Kind::assign: {
      std::uint64_t bits = 0;
      if (!context_.evaluate(record.values[0], bits)) return false;
      state_.scalars[record.slot] = bits;
      return true;
    }
    case PlanOp::Kind::jump:
      state_.next = record.target;
      // Every loop ends with a jump, so a block that does not end comes here.
      return !context_.settings.stop->load(std::memory_order_relaxed);
    case PlanOp::Kind::branch: {
      std::uint64_t condition = 0;
      if (!context_.evaluate(record.values[0], condition)) return false;
      if (condition == 0) state_.next = record.target;
      return true;
    }
    case PlanOp::Kind::loop_enter:
      return enter_loop(record);
    case PlanOp::Kind::loop_next:
      next_of_loop(record);
      return true;
    case PlanOp::Kind::fork:
      begin_groups(record, context_);
      return true;
    case PlanOp::Kind::group_end:
      return end_group(record, context_);
  }
  return true;
}

bool BlockInterpreter::run_action(const PlanOp& record) {
  return state_.undefined.any() ? step_undefined(record) : record.action(context_);
}

/// Runs an instruction while shadow values are kept.
bool BlockInterpreter::step_shadow(const PlanOp& record) {
  const auto number = static_cast<std::size_t>(&record - plan_.records.data());
  if (record.shadow.before) record.shadow.before(context_);
  if (!run_action(record)) return false;
  if (record.shadow.after) record.shadow.after(context_, errors_[number]);
  return true;
}

/// Runs an instruction while some tiles hold undefined elements.
bool BlockInterpreter::step_undefined(const PlanOp& record) {
  if (record.undefined.before && !record.undefined.before(context_)) return false;
  if (!record.action(context_)) return false;
  if (record.undefined.after) record.undefined.after(context_);
  return true;
}

bool BlockInterpreter::enter_loop(const PlanOp& record) {
  std::array<std::uint64_t, 3> bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (!context_.evaluate(record.values[i], bits[i])) return false;
  }
  if (bits[2] == 0) {
    return context_.fail(Code::range_step, record.span,
                         "the step of this range is 0, so the loop would never end; a step is "
                         "positive or negative");
  }
  const auto value = [&](std::size_t i) { return value_of(record.scalar_kind, bits[i]); };
  state_.scalars[record.counter] = bits[0];
  state_.scalars[record.counter + 1] = range_count(value(0), value(1), value(2));
  state_.scalars[record.counter + 2] = bits[2];
  return true;
}

void BlockInterpreter::next_of_loop(const PlanOp& record) {
  std::uint64_t* counter = state_.scalars.data() + record.counter;
  if (counter[1] == 0) {
    state_.next = record.target;
    return;
  }
  --counter[1];
  state_.scalars[record.slot] = counter[0];
  counter[0] = add_in(record.scalar_kind, counter[0], counter[2]);
}

bool BlockInterpreter::step_limit(const PlanOp& record) {
  const bool in_loop = record.loop != Span{};
  return context_.fail(
      Code::step_limit, in_loop ? record.loop : record.span,
      fmt::format("a block did not end within {} steps{}; raise the limit if it is meant to run "
                  "that long",
                  context_.settings.max_steps, in_loop ? ", and was in this loop then" : ""));
}

}  // namespace tilevm::sim
