// The programs that come with tilevm, wherever they were installed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilevm::vm {

/// The folder `programs` beside this executable, as it is built or installed; nothing where it is
/// alone.
[[nodiscard]] std::optional<std::filesystem::path> shipped_programs();

/// The path that a user means by `path`: a file of this name, else the shipped program that is
/// named so, `programs/figure2.tile`.
[[nodiscard]] std::string program_path(const std::string& path);

/// Every shipped program that says what it is, as paths below the folder, in order of their names.
struct ShippedProgram {
  std::string path;  ///< "programs/figure2.tile"
  std::string what;  ///< the first sentence of its first comment
};
[[nodiscard]] std::vector<ShippedProgram> list_shipped(const std::filesystem::path& folder);

}  // namespace tilevm::vm
