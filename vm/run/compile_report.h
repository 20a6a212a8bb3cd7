// What became of a program's kernels for one target, as text and as JSON: `tilevm compile
// --explain`.
//
//   matmul (matmul_kernel in the code), sm_90a
//     threads     128
//     registers   111 a thread, 0 bytes spilled
//     137  bytes = LoadShared(sq, layout=BYTES, offset=[s, 0:])
//       137:25  LoadShared  7 x 16 bytes
#pragma once

#include <cstdint>
#include <string>

#include "backend/compile/toolchain.h"
#include "backend/emit/emit.h"
#include "isa/base/diagnostic.h"
#include "isa/base/result.h"
#include "isa/verify/verify.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// A program as one target sees it, and what the compiler gave.
struct CompileReport {
  const isa::VerifiedProgram& program;
  const backend::CudaSource& source;
  std::string target;
  Result<backend::Compiled> compiled;  ///< result with backend::report_option

  /// Warnings of kernels that spill.
  [[nodiscard]] Diagnostics warnings() const;
};

/// That a kernel needs more registers than there are, by how many bytes, and what to do; nothing if
/// `bytes`, what each thread keeps in memory instead, is 0.
void warn_of_spills(const isa::Kernel& kernel, std::int64_t threads, std::int64_t bytes,
                    Diagnostics& diagnostics);

/// Warns of tiles with more elements a thread than loops are unrolled for: compilers would take
/// minutes.
void warn_of_long_loops(const isa::VerifiedProgram& program, Diagnostics& diagnostics);

[[nodiscard]] std::string format_report(const CompileReport& report);
/// What of the report was decided before the compiler ran, without lines and columns of the
/// program: the same with every compiler, and wherever a statement is in its file.
[[nodiscard]] std::string format_decisions(const isa::VerifiedProgram& program,
                                           const backend::CudaSource& source,
                                           const std::string& target);
/// An object with target, compiler, error and kernels.
[[nodiscard]] Json report_json(const CompileReport& report);

}  // namespace tilevm::vm
