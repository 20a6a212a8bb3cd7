// What a CUDA compiler is asked for, and what it gives: the same for NVRTC and nvcc.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::backend {

enum class Artifact { cubin, ptx };

/// Who compiles. `automatic`: NVRTC, or nvcc where NVRTC is missing or does not know the target.
enum class CompilerChoice { automatic, nvrtc, nvcc };

/// One compilation. `source` includes no headers.
struct CompileRequest {
  std::string source;
  std::string name = "kernel.cu";  ///< what the compiler's messages call the source
  std::string target = "sm_90a";   ///< `sm_80`, `sm_90a`, `sm_120` ...; for PTX also `compute_90`
  Artifact artifact = Artifact::cubin;
  CompilerChoice compiler = CompilerChoice::automatic;
  bool line_info = true;                   ///< keep the source lines for NVIDIA's tools
  std::optional<int> level;                ///< level of ptxas, 0 to 3; nothing: its default
  std::vector<std::string> extra_options;  ///< appended to those of `compile_options`
  /// Most time for the whole request; must be positive.
  std::chrono::milliseconds timeout{120'000};
};

/// What came out.
struct Compiled {
  std::string image;                 ///< the bytes of the cubin, or PTX text
  std::string log;                   ///< the compiler's remarks, usually empty
  std::string compiler;              ///< "NVRTC 13.0 (/path/libnvrtc.so.13)"
  std::vector<std::string> options;  ///< what the compiler was given besides the target
  double milliseconds = 0;           ///< wall time of the compilation, or of finding it
  bool cached = false;               ///< found in the kernel cache
};

/// The options of a request besides target and kind of output.
[[nodiscard]] std::vector<std::string> compile_options(const CompileRequest& request);

/// An architecture of NVIDIA's: `sm_90a` or, for PTX, `compute_90`.
struct CudaTarget {
  int number = 0;           ///< 90
  std::string suffix;       ///< "", "a" or "f"
  bool is_virtual = false;  ///< written compute_

  [[nodiscard]] std::string real_name() const { return "sm_" + digits(); }
  [[nodiscard]] std::string virtual_name() const { return "compute_" + digits(); }
  /// As it is written.
  [[nodiscard]] std::string name() const { return is_virtual ? virtual_name() : real_name(); }
  [[nodiscard]] std::string digits() const { return std::to_string(number) + suffix; }
};

/// Reads a target's name. Error (usage): not of that form.
[[nodiscard]] Result<CudaTarget> parse_cuda_target(const std::string& text);

}  // namespace tilevm::backend
