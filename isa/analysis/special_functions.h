// Instructions that are one of a GPU's special function unit (docs/reference/approximations.md).
#pragma once

#include "isa/inst/instruction_set.h"

namespace tilevm::isa {

/// Whether an instruction gives what the special function unit gives: a PTX instruction `.approx`,
/// or a quotient by the unit's reciprocal. Each element takes one instruction of the unit.
[[nodiscard]] bool is_special_function(const Instruction& inst);

}  // namespace tilevm::isa
