// The arithmetic of tensor cores for the emulated GPU: the simulator's model.
#pragma once

#include "backend/emu/mma_unit.h"
#include "isa/numeric/target.h"

namespace tilevm::vm {

/// How the tensor cores of a target multiply. Every instruction must be one of the target.
[[nodiscard]] backend::MmaModel mma_model_of(const isa::Target& target);

}  // namespace tilevm::vm
