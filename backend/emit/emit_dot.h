// What the forms of Dot share.
#pragma once

#include <functional>
#include <string>

#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {

/// Writes the sums of a product to the tile `target`, which may be c but neither a nor b.
using DotWriter = std::function<void(const std::string& target)>;

/// Declares the result and has the sums written there. A result that replaces a or b is built in
/// other registers first.
void emit_dot(const DotForm& form, const isa::InstStmt& stmt, KernelEmission& kernel,
              const DotWriter& write);

}  // namespace tilevm::backend
