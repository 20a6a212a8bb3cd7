// `include "path"`: the files of a program, joined in one SourceFile before it is parsed.
//
// Reading files is the caller's: it gives a function that finds one. The standard library (std/) is
// part of the frontend and needs no files.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/base/source.h"

namespace tilevm::frontend {

/// The most files that a program includes, and the bytes that they have together.
inline constexpr std::size_t max_included_files = 256;
inline constexpr std::size_t max_included_bytes = std::size_t{16} << 20;

/// A file that an `include` names.
struct FoundFile {
  std::string name;  ///< name as messages show it
  std::string key;   ///< key that all paths to the file have in common
  std::string text;
};

/// Finds a file by its path from the file with the key `from`; the error's message says why there
/// is none.
using FindFile = std::function<Result<FoundFile>(const std::string& path, const std::string& from)>;

/// The source with the files that it includes, directly or by way of others, each once; the same
/// source if it includes none. What cannot be included is noted beside its `include` and reported
/// by parse(). `key` is the source's own.
[[nodiscard]] std::shared_ptr<const SourceFile> with_includes(
    const std::shared_ptr<const SourceFile>& source, const std::string& key, const FindFile& find);

/// A text that is not a file: only the standard library can be included.
[[nodiscard]] std::shared_ptr<const SourceFile> with_standard_library(
    const std::shared_ptr<const SourceFile>& source);

/// The text of a program with every `include` replaced by the file, so that it stands alone.
[[nodiscard]] std::string flattened(const SourceFile& source);

/// A file of the standard library.
struct LibraryFile {
  std::string_view path;  ///< "std/fragments.tile"
  std::string_view text;
};
[[nodiscard]] std::vector<LibraryFile> standard_library();

}  // namespace tilevm::frontend
