// A C header for people who only want the kernel: what a launch must know of each kernel, and a
// function that launches it through the CUDA driver API. The header is C99 and C++, includes
// cuda.h, and needs nothing of tilevm.
#pragma once

#include <string>
#include <vector>

#include "backend/emit/emit.h"
#include "isa/base/result.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

struct CHeaderOptions {
  std::string prefix;                ///< begins every name, made a C identifier
  std::vector<std::string> targets;  ///< targets of the image, for the comment
  std::string image;                 ///< a cubin or fatbin to put into the header; may be empty
};

/// The header of a program that was emitted as `sources`, once for each target: blocks have the
/// threads, and at most the shared memory and the workspaces, of each. Errors (program): a kernel
/// prints, or its grid computes with floats.
[[nodiscard]] Result<std::string> c_header(const isa::VerifiedProgram& program,
                                           const std::vector<CudaSource>& sources,
                                           const CHeaderOptions& options);

}  // namespace tilevm::backend
