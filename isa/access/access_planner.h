// Plans the accesses of a kernel's statements (access_plan.h).
#pragma once

#include <optional>

#include "isa/access/access_plan.h"
#include "isa/analysis/definitions.h"
#include "isa/analysis/statements.h"
#include "isa/numeric/target.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"
#include "isa/program/tile_move.h"

namespace tilevm::isa {

/// Plans the accesses of a kernel's statements.
class AccessPlanner {
 public:
  AccessPlanner(const Kernel& kernel, const KernelInfo& info, const Target& target);

  /// The plan of an instruction that moves a tile; nothing for other instructions. A copy between
  /// memories moves pieces that are contiguous and aligned on both sides. Without such pieces the
  /// copy loads and stores single elements.
  [[nodiscard]] std::optional<AccessPlan> plan(const InstStmt& stmt) const;

 private:
  [[nodiscard]] AccessPlan plan_move(const RegisterMove& move, std::int64_t threads) const;
  [[nodiscard]] AccessPlan plan_move(const CopyMove& move, std::int64_t threads) const;
  [[nodiscard]] MappedIndex mapped_index(const IndexedDim& indexed) const;
  /// Whether neighbours along the last dimension of a copy's tile have one index, or none.
  [[nodiscard]] bool has_one_index(const CopyMove& move) const;
  /// Whether a statement stores from registers to a shared tensor.
  [[nodiscard]] bool is_stored(VarId tensor) const;

  const Kernel& kernel_;
  const KernelInfo& info_;
  const Target& target_;
  ScalarFacts facts_;
  Statements statements_;
  Uses uses_;
};

}  // namespace tilevm::isa
