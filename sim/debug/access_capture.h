// The accesses of one statement, and which of its elements lie where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/access/global_access.h"
#include "sim/access/shared_access.h"
#include "sim/state/access_observer.h"

namespace tilevm::sim::debug {

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
