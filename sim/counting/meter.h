// What counts the executions of a statement.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sim/api/counters.h"
#include "sim/state/state.h"

namespace tilevm::sim {

/// The counts found so far, of all meters of one host thread. The cache is emptied when it is full.
class MeterCache {
 public:
  using Key = std::vector<std::int64_t>;
  /// The counts of a key, or null; valid until the next keep().
  [[nodiscard]] const AccessCounts* find(const Key& key) const;
  const AccessCounts& keep(const Key& key, const AccessCounts& counts);

 private:
  std::map<Key, AccessCounts> counts_;
};

/// Adds the counts of the execution that is about to run; nothing if it will fault.
using Meter = std::function<void(const BlockState& state, MeterCache& cache, AccessCounts& counts)>;

}  // namespace tilevm::sim
