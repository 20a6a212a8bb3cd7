// UTF-8, as far as reading a source file needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilevm::frontend {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
};

/// The code point at the start of `text` (not empty); nothing if it is not well-formed UTF-8
/// (Unicode, table 3-7: no overlong form, no surrogate, at most U+10FFFF).
[[nodiscard]] std::optional<CodePoint> decode_utf8(std::string_view text);

}  // namespace tilevm::frontend
