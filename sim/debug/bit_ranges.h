// Ranges of bits of a stream, ascending.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilevm::sim::debug {

struct BitRange {
  std::uint64_t begin = 0, end = 0;
};

/// Appends bits, in one range with those before if they follow them.
inline void append(std::vector<BitRange>& bits, std::uint64_t begin, std::uint64_t count) {
  if (!bits.empty() && bits.back().end == begin) {
    bits.back().end += count;
  } else {
    bits.push_back({begin, begin + count});
  }
}

/// Calls f(element, first bit in the element, how many bits) for the elements of n bits that ranges
/// of a stream touch.
template <class F>
void for_each_element(const std::vector<BitRange>& bits, unsigned n, F&& f) {
  for (const BitRange& range : bits) {
    for (std::uint64_t at = range.begin; at < range.end;) {
      const std::uint64_t element = at / n, end = std::min(range.end, (element + 1) * n);
      f(static_cast<std::size_t>(element), at - element * n, end - at);
      at = end;
    }
  }
}

}  // namespace tilevm::sim::debug
