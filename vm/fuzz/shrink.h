// Making a failing case smaller while it fails in the same way.
//
// Statements go, loops and branches are replaced by their bodies, constants become 0 or 1, optional
// operands are left out, a tile takes the place of another of its type, layouts become plain and
// smaller, inputs become zeros. A change that no longer loads, or fails otherwise, is taken back.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "vm/fuzz/fuzz_case.h"

namespace tilevm::vm::fuzz {

/// What is wrong with a case, if anything is.
using JudgeFunction = std::function<std::optional<Finding>(const FuzzCase&)>;

/// A case that fails with the finding's signature and of which no single change leaves less. Where
/// the finding is a fault that the simulator reports, only harmless changes are made: others could
/// make the report right.
[[nodiscard]] FuzzCase shrink(const FuzzCase& failing, const Finding& finding,
                              const JudgeFunction& judge, int most_tries = 2000);

}  // namespace tilevm::vm::fuzz
