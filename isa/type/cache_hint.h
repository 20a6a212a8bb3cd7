// How long what a copy reads is worth keeping in a GPU's L2 cache: a hint, without meaning for
// results.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilevm::isa {

enum class CacheHint : std::uint8_t {
  normal,
  evict_first,  ///< read once: the first to go where room is needed
  evict_last,   ///< read again by other blocks: the last to go
};

/// As programs write it: "evict_first".
[[nodiscard]] constexpr std::string_view to_string(CacheHint hint) {
  switch (hint) {
    case CacheHint::normal:
      return "normal";
    case CacheHint::evict_first:
      return "evict_first";
    case CacheHint::evict_last:
      return "evict_last";
  }
  return "";
}

}  // namespace tilevm::isa
