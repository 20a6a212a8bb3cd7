#include "sim/counting/meter.h"

namespace tilevm::sim {

const AccessCounts* MeterCache::find(const Key& key) const {
  const auto found = counts_.find(key);
  return found == counts_.end() ? nullptr : &found->second;
}

const AccessCounts& MeterCache::keep(const Key& key, const AccessCounts& counts) {
  constexpr std::size_t most = std::size_t{1} << 14;
  if (counts_.size() >= most) counts_.clear();
  return counts_[key] = counts;
}

}  // namespace tilevm::sim
