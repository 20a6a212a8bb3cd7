#include "frontend/syntax/utf8.h"

namespace tilevm::frontend {
namespace {

/// How many bytes a sequence has by its first byte; 0 for a byte that starts none.
std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;  // a continuation byte, or an overlong form
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

}  // namespace

std::optional<CodePoint> decode_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = sequence_length(first);
  if (length == 0 || length > text.size()) return std::nullopt;
  if (length == 1) return CodePoint{first, 1};
  std::uint32_t value = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0U) != 0x80U) return std::nullopt;
    value = (value << 6U) | (byte & 0x3fU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (overlong || surrogate || value > 0x10ffff) return std::nullopt;
  return CodePoint{value, length};
}

}  // namespace tilevm::frontend
