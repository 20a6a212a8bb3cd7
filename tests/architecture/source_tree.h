// The repository's C++ sources and what each includes, read from the files themselves.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilevm::architecture {

/// One `#include` line.
struct Include {
  std::string path;     ///< path as written, without quotes or brackets
  bool quoted = false;  ///< "..." rather than <...>
  int line = 0;         ///< line from 1 on
};

/// A .cc or .h file. `path` is relative to the repository's root.
struct SourceFile {
  std::string path;
  std::string text;
  std::vector<Include> includes;
};

/// The includes of a text, in order.
[[nodiscard]] std::vector<Include> find_includes(std::string_view text);

/// The bytes of a file; empty if there is none.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

[[nodiscard]] std::filesystem::path repository_root();
[[nodiscard]] bool is_source(const std::filesystem::path& path);

/// The top folders that may hold C++, and every source file below them in the order of their paths.
[[nodiscard]] const std::vector<std::string>& top_folders();
[[nodiscard]] const std::vector<SourceFile>& source_files();

/// "sim" of "sim/exec/semantics.h".
[[nodiscard]] std::string_view top_of(std::string_view path);
/// "sim/exec" of "sim/exec/semantics.h"; "tests" of every file below tests.
[[nodiscard]] std::string room_of(std::string_view path);
/// "sim/exec/semantics": a source and its header are one unit.
[[nodiscard]] std::string unit_of(std::string_view path);

}  // namespace tilevm::architecture
