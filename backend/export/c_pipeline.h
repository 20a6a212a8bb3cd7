// Pipelines in the C header: the memory that one needs besides its tensors, and its launches on a
// stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// What a header has of a kernel.
struct CKernel {
  std::string name;                  ///< begins the names of its functions
  std::int64_t workspace_bytes = 0;  ///< 0: its launch takes no workspace
};

/// Text that does not end or continue the line after `//`.
[[nodiscard]] std::string in_comment(std::string text);

/// The functions of a pipeline, whose names begin with `name`; those of helpers begin with
/// `prefix`. Error (program): it computes with f32.
[[nodiscard]] Result<std::string> c_pipeline(const isa::VerifiedProgram& program,
                                             const isa::Pipeline& pipeline,
                                             const std::vector<CKernel>& kernels,
                                             const std::string& name, const std::string& prefix);

/// The functions that those of pipelines call.
[[nodiscard]] std::string c_pipeline_helpers(const std::string& prefix);

}  // namespace tilevm::backend
