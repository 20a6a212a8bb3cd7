// Loads and stores of tiles in registers, as their plan says (isa/access/access_plan.h).
#pragma once

#include <string>

#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {

/// Moves the tile `tile` to or from the part of `tensor` at which the statement places it.
void emit_load(isa::VarId tile, isa::VarId tensor, const isa::InstStmt& stmt,
               KernelEmission& kernel);
void emit_store(isa::VarId tile, isa::VarId tensor, const isa::InstStmt& stmt,
                KernelEmission& kernel);

}  // namespace tilevm::backend
