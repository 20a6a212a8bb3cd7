// Plans the accesses of a kernel's statements (access_plan.h).
#pragma once

#include <optional>

#include "isa/access/access_plan.h"
#include "isa/numeric/target.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Plans the accesses of a kernel's statements.
class AccessPlanner {
 public:
  AccessPlanner(const Kernel& kernel, const KernelInfo& info, const Target& target);

  /// The plan of LoadGlobal, StoreGlobal, LoadShared, StoreShared and CopyAsync (whose copies need
  /// pieces that layouts and offsets keep together and aligned on both sides; without any, it
  /// loads and stores single elements); nothing for other instructions.
  [[nodiscard]] std::optional<AccessPlan> plan(const InstStmt& stmt) const;

 private:
  [[nodiscard]] AccessPlan plan_tile(const RegisterType& tile, VarId tensor,
                                     const std::optional<OffsetList>& offset, bool stores) const;

  const Kernel& kernel_;
  const KernelInfo& info_;
  const Target& target_;
  ScalarFacts facts_;
};

}  // namespace tilevm::isa
