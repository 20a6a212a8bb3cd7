// Kernels of one program, prepared once for many launches.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "isa/verify/verify.h"
#include "sim/api/sim.h"
#include "sim/launch/plan.h"

namespace tilevm::sim {

/// A plan, and how long its blocks took.
struct PreparedPlan {
  explicit PreparedPlan(Plan made) : plan(std::move(made)) {}

  const Plan plan;
  /// Time of one block in the last launch, on one host thread; 0: not known.
  std::atomic<std::uint64_t> block_nanoseconds{0};
};

/// Whether so many blocks take less time than another host thread takes to begin: as the last
/// launch took, or by a bound for plans without loops.
[[nodiscard]] bool is_quick(const PreparedPlan& prepared, std::uint64_t blocks);

/// Several threads may use it at once. The plans of launches that count, trace sums or keep shadow
/// values are not kept.
class KeptPlans {
 public:
  explicit KeptPlans(const isa::VerifiedProgram& program) : program_(program) {}

  [[nodiscard]] bool is_of(const isa::VerifiedProgram& program) const {
    return &program.program() == &program_.program();
  }
  [[nodiscard]] std::shared_ptr<PreparedPlan> plan(int kernel, const PlanExtras& extras);

 private:
  using Key = std::array<int, 3>;  ///< the kernel, PlanExtras::wrapping, PlanExtras::follow_padding

  const isa::VerifiedProgram program_;
  std::mutex mutex_;  // guards the plans
  std::map<Key, std::shared_ptr<PreparedPlan>> plans_;
};

/// The plan of a launch: a kept one where the options have it.
[[nodiscard]] std::shared_ptr<PreparedPlan> plan_of_launch(const isa::VerifiedProgram& program,
                                                           int kernel, const Options& options);

}  // namespace tilevm::sim
