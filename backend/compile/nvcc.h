// nvcc, NVIDIA's compiler as a program.
#pragma once

#include <string>
#include <vector>

#include "backend/compile/compile_request.h"
#include "backend/compile/nvrtc.h"
#include "backend/host/subprocess.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// A found nvcc. Each compilation is one process in a temporary folder of its own.
class Nvcc {
 public:
  /// $TILEVM_NVCC or $NVCC (then nothing else), else as `find_tool` does; and asks its version.
  /// Error (unavailable): not found or it does not start.
  [[nodiscard]] static Result<Nvcc> find();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// "13.0.88", or empty if nvcc does not report one.
  [[nodiscard]] const std::string& version() const { return version_; }
  /// "nvcc 13.0.88 (/path/nvcc)".
  [[nodiscard]] std::string describe() const;

  /// The architectures nvcc makes code for (75, 80 ...); empty if nvcc does not report them.
  [[nodiscard]] std::vector<int> architectures() const;

  /// Compiles for one target to a cubin, or to PTX where the target is virtual.
  [[nodiscard]] Result<CompilerOutput> compile(const CompileRequest& request,
                                               const CudaTarget& target, Deadline deadline) const;

 private:
  [[nodiscard]] Error failure(const CompileRequest& request, const std::string& target,
                              const std::string& log) const;

  std::string path_;
  std::string version_;
};

}  // namespace tilevm::backend
