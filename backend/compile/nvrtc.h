// NVRTC, NVIDIA's compiler as a library, found and opened at run time.
#pragma once

#include <string>
#include <vector>

#include "backend/compile/compile_request.h"
#include "backend/compile/nvrtc_api.h"
#include "backend/host/dynamic_library.h"
#include "backend/host/subprocess.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// What a compiler gives: the bytes, and its remarks.
struct CompilerOutput {
  std::string image;
  std::string log;
};

/// An opened NVRTC. Copies share the library; `compile` may be called from several threads.
class Nvrtc {
 public:
  /// Looks for the library: $TILEVM_NVRTC (then nothing else), the names libnvrtc.so.13, .12,
  /// .11.2 as the loader finds them, then the same in `cuda_library_folders`.
  /// Error (unavailable): not found, and where it was looked for.
  [[nodiscard]] static Result<Nvrtc> find();

  [[nodiscard]] int major() const { return major_; }
  [[nodiscard]] int minor() const { return minor_; }
  [[nodiscard]] const std::string& path() const { return library_.path(); }
  /// "NVRTC 13.0 (/path/libnvrtc.so.13)".
  [[nodiscard]] std::string describe() const;

  /// False where the library of its built-in functions could not be opened: compiling then fails.
  [[nodiscard]] bool has_builtins() const { return has_builtins_; }

  /// Whether it makes code for this architecture's number; suffixes show when compiling.
  [[nodiscard]] bool knows(const CudaTarget& target) const;
  /// The architectures it makes code for: 75, 80, 86 ...
  [[nodiscard]] const std::vector<int>& architectures() const { return architectures_; }
  /// An Error (unavailable) that names a target it does not know, and those it does.
  [[nodiscard]] Error unknown_target(const std::string& target) const;

  /// Compiles for one target to a cubin, or to PTX where the target is virtual. The deadline is
  /// kept by NVRTC 13 and later, at the points where it asks.
  [[nodiscard]] Result<CompilerOutput> compile(const CompileRequest& request,
                                               const CudaTarget& target, Deadline deadline) const;

 private:
  /// Opens one file. Error: not found, or not a usable NVRTC.
  [[nodiscard]] static Result<Nvrtc> open(const std::string& name);
  [[nodiscard]] Status load_functions();
  void open_builtins();
  [[nodiscard]] Error compile_error(nvrtc::Code code, const std::string& log,
                                    const CompileRequest& request, const CudaTarget& target) const;

  DynamicLibrary library_;
  nvrtc::Api api_;
  int major_ = 0;
  int minor_ = 0;
  bool has_builtins_ = false;
  std::vector<int> architectures_;
};

}  // namespace tilevm::backend
