#include "isa/inst/barrier.h"

#include <fmt/format.h>

#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// A constant within bounds; nothing after a report.
std::optional<std::int64_t> constant_within(const ScalarOperand& operand, std::int64_t low,
                                            std::int64_t high, std::size_t slot,
                                            std::string_view what, const RuleContext& context) {
  const auto value = operand.value.constant_int();
  if (value && low <= *value && *value <= high) return value;
  const std::string seen =
      value ? fmt::format("{}", *value) : std::string("known only when the kernel runs");
  context.error(value ? Code::bad_group : Code::not_a_constant, slot,
                fmt::format("{} is a constant from {} to {}; this is {}", what, low, high, seen));
  return std::nullopt;
}

bool is_integer_scalar(const ScalarOperand& operand, std::size_t slot, std::string_view what,
                       const RuleContext& context) {
  if (is_integer(operand.value.kind())) return true;
  context.error(Code::scalar_type, slot,
                fmt::format("{} is an integer, this is {}", what, to_string(operand.value.kind())));
  return false;
}

/// A stage of a barrier, if one is given; a constant one is within the barrier.
bool check_stage(BarrierOperand barrier, const std::optional<ScalarOperand>& stage,
                 std::size_t slot, const RuleContext& context) {
  if (!stage) return true;
  if (!is_integer_scalar(*stage, slot, "`stage`", context)) return false;
  const auto value = stage->value.constant_int();
  const std::int64_t stages = context.type(barrier).stages;
  if (!value || (0 <= *value && *value < stages)) return true;
  context.error(Code::index_out_of_range, slot,
                fmt::format("{} has stages 0 to {}; this is stage {}", context.name(barrier.var),
                            stages - 1, *value));
  return false;
}

/// Instructions of sm_90 and later.
bool needs_sm_90(std::string_view mnemonic, std::string_view way, const RuleContext& context) {
  if (context.target().sm >= 90) return true;
  add_note(
      context.error(Code::not_supported, fmt::format("`{}` needs sm_90 or later; the target is {}",
                                                     mnemonic, to_string(context.target()))),
      std::string(way));
  return false;
}

template <class Inst>
RuleResult named_barrier_types(const Inst& inst, const RuleContext& context) {
  const bool ok =
      constant_within(inst.id, 0, named_barriers - 1, position_of(&Inst::id), "`id`", context) &&
      constant_within(inst.warps, 1, max_threads / 32, position_of(&Inst::warps), "`warps`",
                      context);
  return ok ? RuleResult(std::vector<Type>{}) : std::nullopt;
}

}  // namespace

template <>
RuleResult result_types(const AllocateBarrier& inst, const RuleContext& context) {
  const auto arrivals =
      constant_within(inst.arrivals, 1, max_arrivals - 1, position_of(&AllocateBarrier::arrivals),
                      "`arrivals`", context);
  if (!arrivals) return std::nullopt;
  std::int64_t stages = 1;
  if (inst.stages) {
    const auto given = constant_within(*inst.stages, 1, max_barrier_stages,
                                       position_of(&AllocateBarrier::stages), "`stages`", context);
    if (!given) return std::nullopt;
    stages = *given;
  }
  return std::vector<Type>{BarrierType{*arrivals, stages}};
}

template <>
RuleResult result_types(const Arrive& inst, const RuleContext& context) {
  if (!check_stage(inst.barrier, inst.stage, position_of(&Arrive::stage), context) ||
      !check_block_rank(inst.block, position_of(&Arrive::block), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const ArriveExpect& inst, const RuleContext& context) {
  const std::size_t slot = position_of(&ArriveExpect::bytes);
  if (!needs_sm_90("ArriveExpect",
                   "before sm_90 no barrier counts bytes: copy by `CopyAsync`, wait by "
                   "`CopyAsyncWaitGroup` and arrive by `Arrive`",
                   context) ||
      !check_stage(inst.barrier, inst.stage, position_of(&ArriveExpect::stage), context) ||
      !check_block_rank(inst.block, position_of(&ArriveExpect::block), context) ||
      !is_integer_scalar(inst.bytes, slot, "`bytes`", context)) {
    return std::nullopt;
  }
  const auto bytes = inst.bytes.value.constant_int();
  if (bytes && (*bytes < 0 || *bytes >= max_arrivals)) {
    context.error(Code::bad_group, slot,
                  fmt::format("`bytes` is {}; a barrier counts 0 to {} in one instruction", *bytes,
                              max_arrivals - 1));
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const WaitBarrier& inst, const RuleContext& context) {
  if (!check_stage(inst.barrier, inst.stage, position_of(&WaitBarrier::stage), context) ||
      !is_integer_scalar(inst.parity, position_of(&WaitBarrier::parity), "`parity`", context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const FenceProxy&, const RuleContext& context) {
  if (!needs_sm_90("FenceProxy", "before sm_90 there is no async proxy: leave the fence out",
                   context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const SyncNamedBarrier& inst, const RuleContext& context) {
  return named_barrier_types(inst, context);
}

template <>
RuleResult result_types(const ArriveNamedBarrier& inst, const RuleContext& context) {
  return named_barrier_types(inst, context);
}

}  // namespace tilevm::isa
