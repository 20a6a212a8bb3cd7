// A program as one target sees it, and what its compilation is asked and tells.
#pragma once

#include "backend/compile/compile_request.h"
#include "backend/emit/emit.h"
#include "isa/verify/verify.h"
#include "vm/run/compile_report.h"
#include "vm/text/json.h"

namespace tilevm::vm {

struct CompileUnit {
  isa::VerifiedProgram program;
  backend::CudaSource source;
  backend::CompileRequest request;  ///< request for machine code

  /// Compiles, or takes the result from the cache. The report lives as long as the unit.
  [[nodiscard]] CompileReport compile_and_report() const;
};

/// `explain`: the compiler is asked for registers, spills and shared memory.
[[nodiscard]] CompileUnit make_compile_unit(const isa::VerifiedProgram& program, bool explain);

}  // namespace tilevm::vm
