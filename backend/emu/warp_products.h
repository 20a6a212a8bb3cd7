// Asynchronous products of an emulated block: each warp's parts in groups. Results arrive as
// EmuOptions::copies says, in the order of the products.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "backend/emu/emu_options.h"
#include "backend/emu/wgmma_unit.h"

namespace tilevm::backend {

class WarpProducts {
 public:
  WarpProducts(std::size_t warps, EmuOptions::Landing landing) : landing_(landing), all_(warps) {}
  void clear();
  void begin(unsigned warp, WarpProduct product, SeededNumbers& numbers);
  void commit(unsigned warp, SeededNumbers& numbers);
  /// Lands all but the latest `pending` groups.
  void wait(unsigned warp, unsigned pending);
  /// Lands some of all that is under way, where the moment is seeded.
  void let_some_land(SeededNumbers& numbers);

 private:
  struct Grouped {
    std::uint64_t group;
    WarpProduct product;
  };
  struct OfWarp {
    std::deque<Grouped> under_way;
    std::uint64_t made = 0;  ///< groups
  };
  void let_some_land(OfWarp& warp, SeededNumbers& numbers) const;

  EmuOptions::Landing landing_;
  std::vector<OfWarp> all_;
};

}  // namespace tilevm::backend
