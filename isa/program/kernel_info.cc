#include "isa/program/kernel_info.h"

#include <algorithm>

#include "isa/base/check.h"

namespace tilevm::isa {

const KernelInfo::SharedTile& KernelInfo::shared_tile(VarId var) const {
  const auto found =
      std::find_if(shared.begin(), shared.end(), [&](const auto& tile) { return tile.var == var; });
  TILEVM_CHECK(found != shared.end(), "a shared tensor that the verifier did not list");
  return *found;
}

const KernelInfo::Barrier& KernelInfo::barrier(VarId var) const {
  const auto found = std::find_if(barriers.begin(), barriers.end(),
                                  [&](const Barrier& each) { return each.var == var; });
  TILEVM_CHECK(found != barriers.end(), "a barrier that the verifier did not list");
  return *found;
}

const DotPlan& KernelInfo::dot_plan(const InstStmt& stmt) const {
  TILEVM_CHECK(dot_plans[stmt.id] != nullptr, "a Dot of another program");
  return *dot_plans[stmt.id];
}

const DotPlan* KernelInfo::find_dot_plan(const InstStmt& stmt) const {
  return dot_plans[stmt.id].get();
}

const AccessPlan& KernelInfo::access_plan(const InstStmt& stmt) const {
  TILEVM_CHECK(access_plans[stmt.id] != nullptr, "a tile access of another program");
  return *access_plans[stmt.id];
}

}  // namespace tilevm::isa
