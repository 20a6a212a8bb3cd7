// The order of a tile's elements in the memory through which they change their threads.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// As the threads of the new layout read them: place after place, and of each place the threads
/// next to one another, replicas left out. So reads have no bank conflicts. Where writes would have
/// some, high bits of an element's offset change those that choose a bank; reads keep theirs apart.
struct ExchangeOrder {
  /// Bit `to` of an offset becomes the exclusive or of it and bit `from`.
  struct Spread {
    int from = 0, to = 0;
  };
  MemoryLayout elements;  ///< memory layout of the tile before it is spread
  /// Terms whose sum is the first place that a thread reads.
  std::vector<RegisterLayout::Term> threads;
  std::int64_t holders = 1;  ///< number of threads up to its next place
  std::vector<Spread> spread;

  /// Where the element of an offset is.
  [[nodiscard]] std::int64_t place(std::int64_t offset) const;
};

/// For elements that take `bytes` bytes there: 1, 2, 4 or 8. Both layouts have the same shape and
/// number of threads.
[[nodiscard]] ExchangeOrder exchange_order(const RegisterLayout& from, const RegisterLayout& to,
                                           int bytes);

}  // namespace tilevm::isa
