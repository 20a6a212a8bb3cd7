// CUDA C++ text in, machine code out: through NVRTC where it is found, else through nvcc.
//
// Neither is linked; both are looked for when the first kernel is compiled. Arithmetic is never
// loosened: multiplies and adds are not fused, subnormals are kept, division and square root are
// exact, because results are defined bit for bit.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::backend {

/// What to make. A `fatbin` holds code for several targets; the other two hold one.
enum class Artifact { cubin, ptx, fatbin };

/// Who compiles. `automatic`: NVRTC, or nvcc where NVRTC is missing or does not know the target.
enum class CompilerChoice { automatic, nvrtc, nvcc };

/// One compilation. `source` includes no headers.
struct CompileRequest {
  std::string source;
  std::string name = "kernel.cu";  ///< what the compiler's messages call the source
  /// `sm_80`, `sm_90a`, `sm_120` ...; in a fatbin also `compute_90` for PTX. One for a cubin or
  /// PTX, at most `max_targets` for a fatbin.
  std::vector<std::string> targets = {"sm_90a"};
  Artifact artifact = Artifact::cubin;
  CompilerChoice compiler = CompilerChoice::automatic;
  bool line_info = true;                       ///< keep the source lines for NVIDIA's tools
  std::vector<std::string> extra_options;      ///< appended to those of `compile_options`
  std::chrono::milliseconds timeout{120'000};  ///< for the whole request; must be positive
};

inline constexpr std::size_t max_targets = 32;

/// What came out.
struct Compiled {
  std::string image;                 ///< the bytes of the cubin, PTX text or fatbin
  std::string log;                   ///< the compiler's remarks, usually empty
  std::string compiler;              ///< "NVRTC 13.0 (/path/libnvrtc.so.13)"
  std::vector<std::string> options;  ///< what the compiler was given besides the target
  double milliseconds = 0;           ///< wall time of the compilation
};

/// Compiles. Errors: usage (a target's name or their number), unavailable (no compiler, or none
/// that knows the target, or no `fatbinary`), limit (timeout), program (the compiler refuses the
/// source; the message ends with its log).
[[nodiscard]] Result<Compiled> compile_cuda(const CompileRequest& request);

/// The options of a request besides target and kind of output. Together with the source, the
/// targets and `describe_compiler` they decide the output, so they are what a cache is keyed by.
[[nodiscard]] std::vector<std::string> compile_options(const CompileRequest& request);

/// The compiler that a request with this choice would use first, with version and path; the error
/// says what was looked for.
[[nodiscard]] Result<std::string> describe_compiler(CompilerChoice choice);

/// An architecture of NVIDIA's: `sm_90a` or, for PTX in a fatbin, `compute_90`.
struct CudaTarget {
  int number = 0;           ///< 90
  std::string suffix;       ///< "", "a" or "f"
  bool is_virtual = false;  ///< written compute_

  [[nodiscard]] std::string real_name() const { return "sm_" + digits(); }
  [[nodiscard]] std::string virtual_name() const { return "compute_" + digits(); }
  [[nodiscard]] std::string digits() const { return std::to_string(number) + suffix; }
};

/// Reads a target's name. Error (usage): not of that form.
[[nodiscard]] Result<CudaTarget> parse_cuda_target(const std::string& text);

}  // namespace tilevm::backend
