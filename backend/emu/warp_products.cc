#include "backend/emu/warp_products.h"

#include <utility>

namespace tilevm::backend {

using Landing = EmuOptions::Landing;

void WarpProducts::clear() {
  for (OfWarp& warp : all_) warp = {};
}

void WarpProducts::begin(unsigned warp, WarpProduct product, SeededNumbers& numbers) {
  OfWarp& own = all_[warp];
  own.under_way.push_back({own.made, std::move(product)});
  switch (landing_) {
    case Landing::at_once:
      own.under_way.back().product.land();
      own.under_way.pop_back();
      return;
    case Landing::seeded:
      return let_some_land(own, numbers);
    case Landing::at_wait:
      return;
  }
}

void WarpProducts::commit(unsigned warp, SeededNumbers& numbers) {
  ++all_[warp].made;
  if (landing_ == Landing::seeded) let_some_land(all_[warp], numbers);
}

void WarpProducts::wait(unsigned warp, unsigned pending) {
  OfWarp& own = all_[warp];
  while (!own.under_way.empty() && own.under_way.front().group + pending < own.made) {
    own.under_way.front().product.land();
    own.under_way.pop_front();
  }
}

void WarpProducts::let_some_land(SeededNumbers& numbers) {
  if (landing_ != Landing::seeded) return;
  for (OfWarp& warp : all_) let_some_land(warp, numbers);
}

/// Tensor cores work in order.
void WarpProducts::let_some_land(OfWarp& warp, SeededNumbers& numbers) const {
  while (!warp.under_way.empty() && numbers.below(2) == 0) {
    warp.under_way.front().product.land();
    warp.under_way.pop_front();
  }
}

}  // namespace tilevm::backend
