// Where CUDA's tools and libraries may be on this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::backend {

/// An environment variable; nothing if it is unset or empty.
[[nodiscard]] std::optional<std::string> environment(const char* name);

/// The absolute path of a program of the toolkit (`nvcc`, `fatbinary`). Looked for in the folders
/// `bin` of $CUDA_HOME and $CUDA_PATH, on PATH, and in the usual folders of a toolkit.
/// Error (unavailable): not found, and where it was looked for.
[[nodiscard]] Result<std::string> find_tool(const std::string& name);

/// The path of a program that the user named: a path, or a name to look up on PATH.
/// Error (unavailable): there is no such program. `variable` is where the name came from.
[[nodiscard]] Result<std::string> find_named_program(const std::string& name,
                                                     const std::string& variable);

/// Existing folders that may hold CUDA's libraries, in the order of search: of $CUDA_HOME and
/// $CUDA_PATH, of the toolkit that `nvcc` belongs to, of Python wheels beside it, the usual
/// folders.
[[nodiscard]] std::vector<std::string> cuda_library_folders();

}  // namespace tilevm::backend
