// A line of the program, or of a file that it includes.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/source.h"

namespace tilevm::sim::debug {

struct SourceLine {
  int line = 0;          ///< number from 1 on; 0: none
  std::size_t file = 0;  ///< index into SourceFile::files(); 0: the program's own

  friend auto operator<=>(const SourceLine&, const SourceLine&) = default;
};

/// The line of an offset, which may be in an inlined copy.
[[nodiscard]] SourceLine source_line(const SourceFile& source, std::size_t offset);

/// The lines of a file, without their line breaks.
[[nodiscard]] std::vector<std::string_view> lines_of(const SourceFile& source, std::size_t file);

/// "12", or "layouts.tile:12" in another file than the program's own.
[[nodiscard]] std::string line_text(const SourceFile& source, SourceLine line);

}  // namespace tilevm::sim::debug
