// The order of a tile's elements in the memory through which they change their threads.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// As the threads of the new layout read them: place after place, and of each place the threads
/// next to one another, replicas left out. So reads have no bank conflicts.
struct ExchangeOrder {
  MemoryLayout elements;                      ///< of the tile
  std::vector<RegisterLayout::Term> threads;  ///< their sum is what a thread reads first
  std::int64_t holders = 1;                   ///< from there to its next place
};
[[nodiscard]] ExchangeOrder exchange_order(const RegisterLayout& to);

}  // namespace tilevm::isa
