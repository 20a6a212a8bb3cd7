#include "isa/dot/dot_plan.h"

namespace tilevm::isa {

std::uint64_t count_instructions(const DotPlan& plan) {
  const auto a_planes = static_cast<std::uint64_t>(plan.a_form.planes);
  const auto b_planes = static_cast<std::uint64_t>(plan.b_form.planes);
  std::uint64_t count = plan.steps.size() * a_planes * b_planes;
  // Each fragment of a and of b takes part in one sum.
  if (plan.b_form.offset != 0) count += plan.a.size() * a_planes;
  if (plan.a_form.offset != 0) count += plan.b.size() * b_planes;
  return count;
}

}  // namespace tilevm::isa
