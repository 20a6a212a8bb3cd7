// The ways of Dot (isa/dot/dot.h, DotMethod) other than plain tensor-core instructions.
#pragma once

#include <string>

#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {

/// The sums go to the tile `target`, which may be c but neither a nor b.
void emit_bipolar_dot(const isa::Dot& inst, const isa::DotPlan& plan, const std::string& target,
                      KernelEmission& kernel);
void emit_chain_dot(const isa::Dot& inst, const isa::DotPlan& plan, const std::string& target,
                    KernelEmission& kernel);

}  // namespace tilevm::backend
