// The accesses of one statement, and which bits of memory its elements are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/access/global_access.h"
#include "sim/access/shared_access.h"
#include "sim/state/access_observer.h"

namespace tilevm::sim::debug {

/// Bits of a stream; lists of them ascend.
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

/// Calls f(element, first bit in the element, number of bits) for each element that ranges of a
/// stream touch. Elements have n bits.
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

/// An element of a tile that moves, by its place in registers, or in a copy's data.
struct MovedElement {
  std::size_t thread = 0, place = 0;
};

class AccessCapture final : public AccessObserver {
 public:
  struct Shared {
    const SharedAccess* access = nullptr;
    TileOrigin origin{};
    bool writes = false;
  };

  void global(const GlobalFootprint& footprint, const Context& context) override;
  void shared(const SharedAccess& access, const TileOrigin& origin, bool is_write,
              const Context& context) override;
  void clear();
  /// Whether a store combines elements with those of memory.
  [[nodiscard]] bool combines() const;
  /// Whether the access is that of an instruction on a semaphore.
  [[nodiscard]] bool orders_blocks() const;

  std::optional<GlobalFootprint> in_global;
  const std::uint8_t* buffer = nullptr;  ///< buffer that holds the footprint
  std::optional<Shared> in_shared;
};

/// The index of an element in its view, which may be outside.
[[nodiscard]] isa::Index index_of(const GlobalFootprint& footprint, const MovedElement& element);
[[nodiscard]] bool is_inside(const GlobalFootprint& footprint, const isa::Index& index);
/// The first bit of an element in its buffer; nothing if it is outside of the view.
[[nodiscard]] std::optional<std::uint64_t> bit_of(const GlobalFootprint& footprint,
                                                  const MovedElement& element);
/// In shared memory.
[[nodiscard]] std::uint64_t bit_of(const AccessCapture::Shared& access,
                                   const MovedElement& element);

/// The element that has a bit, and the bit's number in it; nothing if no element does.
[[nodiscard]] std::optional<std::pair<MovedElement, unsigned>> element_at(
    const GlobalFootprint& footprint, std::uint64_t bit);
[[nodiscard]] std::optional<std::pair<MovedElement, unsigned>> element_at(
    const AccessCapture::Shared& access, std::uint64_t bit);

/// All elements that have it, each by its first replica.
[[nodiscard]] std::vector<MovedElement> elements_at(const AccessCapture& capture,
                                                    std::uint64_t bit);

}  // namespace tilevm::sim::debug
