// Live ranges of variables, from the order of statements.
#pragma once

#include <optional>

#include "isa/analysis/definitions.h"
#include "isa/analysis/statements.h"

namespace tilevm::isa {

/// From one statement of a block to a later one, both included.
struct LiveRange {
  StmtId first, last;

  [[nodiscard]] bool overlaps(const LiveRange& other) const {
    return first <= other.last && other.first <= last;
  }
};

/// From the first to the last statement that uses a variable, in the block that declares it. A use
/// inside of a loop or a branch counts as one by that statement of the block, so a variable that is
/// declared before a loop lives through all of its iterations. Nothing if no statement uses it.
[[nodiscard]] std::optional<LiveRange> find_live_range(const Statements& statements,
                                                       const Definitions& definitions,
                                                       const Uses& uses, VarId var);

}  // namespace tilevm::isa
