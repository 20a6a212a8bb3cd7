// The part of the verifier that checks pipelines: what is passed is what kernels take, and every
// output is written.
#pragma once

#include <string>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// `uses[k]` are the pointer uses of kernel k.
void verify_pipeline(const Program& program, const Pipeline& pipeline,
                     const std::vector<std::vector<PointerUse>>& uses, Diagnostics& diagnostics);

/// What is wrong if a kernel's constant view of a pointer is larger than the tensor that it is
/// given, which has this shape; empty if nothing is.
[[nodiscard]] std::string view_misfit(const Kernel& kernel, const PointerUse& use,
                                      const PipelineTensor& tensor, const Shape& shape);

}  // namespace tilevm::isa
