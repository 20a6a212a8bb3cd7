// The constants of a file by themselves: what `-D` makes of them, and what may be tuned.
//
// A program has its constants folded in; who asks for the sizes of a problem, or tries many values
// of a tunable, reads them here without binding kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/bind/frontend.h"
#include "frontend/syntax/ast.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

struct FileConstants {
  std::map<std::string, std::int64_t, std::less<>> integers;
  std::vector<isa::Tunable> tunables;
};

/// Evaluates `const` and checks `require`, with the overrides. After an error that was reported, it
/// gives what could be evaluated.
[[nodiscard]] FileConstants evaluate_constants(const ast::Program& tree, const SourceFile& source,
                                               const std::vector<Define>& defines,
                                               Diagnostics& diagnostics);

}  // namespace tilevm::frontend
