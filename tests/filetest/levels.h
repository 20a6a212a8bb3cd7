// Whether programs compile for a GPU at several levels of optimisation, which needs a CUDA compiler
// and no GPU. Engines that differ only in the level (`cuda:O0`, `cuda`) tell a fault of ptxas from
// all others; where there is no GPU to run them, their code is at least made.
#pragma once

#include <string>

#include "isa/base/result.h"

namespace tilevm::filetest {

/// Compiles the program of a test, as its first case asks for it, by ptxas's default level and by
/// level 0. What was found, in words, or an error: the test cannot be read, the program does not
/// compile at a level, or both levels give the same code, so that the level had no effect.
[[nodiscard]] Result<std::string> compile_at_levels(const std::string& path);

}  // namespace tilevm::filetest
