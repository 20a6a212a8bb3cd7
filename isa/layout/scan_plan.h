// How the elements of a tile are combined from the first on along a dimension: the order that every
// engine follows.
//
// The index along the dimension is a number whose digits count places of a thread or threads; a
// digit of threads splits into one inside of warps and one of the rest. From the lowest digit on,
// each level knows of every value of its digit what all elements there make together (the total; at
// first the element itself), and combines the totals of the values before with the elements:
//
//   places, threads   totals in ascending order, ((0, 1), 2), 3 ..
//   lanes             by doubling: each lane its value with that of the lane 1 before, then with
//                     what the lane 2 before made, then 4 and so on
//
//   spatial(32).local(4): a thread's four elements, then its lane's place in the warp
#pragma once

#include <cstdint>
#include <vector>

#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// How the totals of threads go through memory: `slots * size` values for each total of a thread. A
/// thread puts its own at `slot + digit * slots`, and reads those at `slot + i * slots`.
struct ScanExchange {
  std::int64_t slots = 1;
  std::vector<RegisterLayout::Term> slot;
  /// Digits of the thread's number whose threads all have one total: only the first puts it there.
  std::vector<RegisterLayout::Term> copies;
};

/// A digit of the index.
struct ScanLevel {
  enum class Kind : std::uint8_t { places, lanes, threads };
  Kind kind = Kind::places;
  std::int64_t size = 1;
  std::int64_t distance = 1;   ///< distance between threads that are neighbours in the digit
  std::int64_t members = 1;    ///< places of a thread for each of its totals
  std::int64_t totals = 1;     ///< number of totals of a thread, before the level
  ScanExchange exchange = {};  ///< Kind::threads
};

struct ScanPlan {
  /// The places of a thread: row after row, each by ascending index along the dimension.
  std::vector<std::int32_t> places;
  std::vector<ScanLevel> levels;  ///< the lowest digit first

  /// Values that go through memory at a time, at most.
  [[nodiscard]] std::int64_t exchanged_values() const;
};

[[nodiscard]] ScanPlan plan_scan(const RegisterLayout& layout, int dim);

}  // namespace tilevm::isa
