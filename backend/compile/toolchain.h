// CUDA C++ text in, machine code out: through NVRTC where it is found, else through nvcc.
//
// Neither is linked; both are looked for when the first kernel is compiled. Arithmetic is never
// loosened: multiplies and adds are not fused, subnormals are kept, division and square root are
// exact, because results are defined bit for bit.
#pragma once

#include <string>

#include "backend/compile/compile_request.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// Compiles without the kernel cache (kernel_cache.h). Errors: usage (a target's name), unavailable
/// (no compiler, or none that knows the target), limit (timeout), program (the compiler refuses the
/// source; the message ends with its log).
[[nodiscard]] Result<Compiled> compile_cuda(const CompileRequest& request);

/// The compiler that takes the request, with version and path, and its file's size and time: an
/// update within a version does not show in NVRTC's number. Errors: as `compile_cuda`.
[[nodiscard]] Result<std::string> identify_compiler(const CompileRequest& request);

/// The compiler that a request with this choice would use first, with version and path; the error
/// says what was looked for.
[[nodiscard]] Result<std::string> describe_compiler(CompilerChoice choice);

}  // namespace tilevm::backend
