#include "sim/launch/kept_plans.h"

#include <algorithm>

namespace tilevm::sim {
namespace {

/// About what it takes to begin a host thread and to wait for its end.
constexpr std::uint64_t thread_nanoseconds = 100'000;

bool has_loops(const Plan& plan) {
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    const PlanOp& record = plan.records[i];
    if (record.kind == PlanOp::Kind::loop_enter) return true;
    if (record.kind == PlanOp::Kind::jump && record.target <= i) return true;
  }
  return false;
}

}  // namespace

bool is_quick(const PreparedPlan& prepared, std::uint64_t blocks) {
  const Plan& plan = prepared.plan;
  const std::uint64_t most_blocks = thread_nanoseconds / 1000;
  if (blocks > most_blocks) return false;
  std::uint64_t each = prepared.block_nanoseconds.load(std::memory_order_relaxed);
  if (each == 0) {
    if (has_loops(plan)) return false;
    // A statement takes less than a microsecond and a nanosecond for each byte of registers.
    each = plan.records.size() * (1000 + std::uint64_t{plan.register_bytes});
  }
  return each < thread_nanoseconds / std::max<std::uint64_t>(blocks, 1);
}

std::shared_ptr<PreparedPlan> KeptPlans::plan(int kernel, const PlanExtras& extras) {
  const Key key{kernel, extras.wrapping == Wrapping::found, extras.follow_padding};
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PreparedPlan>& plan = plans_[key];
  if (!plan) plan = std::make_shared<PreparedPlan>(build_plan(program_, kernel, extras));
  return plan;
}

std::shared_ptr<KeptPlans> keep_plans(const isa::VerifiedProgram& program) {
  return std::make_shared<KeptPlans>(program);
}

std::shared_ptr<PreparedPlan> plan_of_launch(const isa::VerifiedProgram& program, int kernel,
                                             const Options& options) {
  const PlanExtras extras{
      .count_accesses = options.count_accesses,
      .keep_shadow = options.keep_shadow,
      .probes = options.probes.plan,
      .wrapping = options.checks.wraps ? Wrapping::found : Wrapping::allowed,
      .follow_padding = options.checks.padding,
  };
  const bool plain = !extras.count_accesses && !extras.keep_shadow && extras.probes == nullptr;
  if (plain && options.plans && options.plans->is_of(program)) {
    return options.plans->plan(kernel, extras);
  }
  return std::make_shared<PreparedPlan>(build_plan(program, kernel, extras));
}

}  // namespace tilevm::sim
