// The pieces of shared memory that checks count in, and the elements that a message speaks of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "sim/access/shared_access.h"

namespace tilevm::sim {

/// The granules of shared memory between which a tile lies.
struct GranuleRange {
  std::uint64_t begin, end;
};
[[nodiscard]] GranuleRange granules_of(const FoundTable& runs, const Context& context);

/// Calls f(first granule, one behind the last) for a thread's runs until it returns false.
template <class F>
bool for_each_granules(const SharedAccess& access, const FoundTable& runs, std::size_t thread,
                       unsigned granule_shift, F&& f) {
  const unsigned shift = granule_shift + 3;
  const std::uint64_t run_bits = runs.table->run_elements * access.tile.bits;
  const std::uint32_t* places = runs.table->run_bits.data() + thread * runs.table->runs;
  for (std::size_t r = 0; r < runs.table->runs; ++r) {
    const std::uint64_t begin = runs.base_bits + places[r];
    if (!f(begin >> shift, ((begin + run_bits - 1) >> shift) + 1)) return false;
  }
  return true;
}

/// Elements of a tile for which something holds: how many, and the first of them.
struct Found {
  std::set<std::int64_t> offsets;  ///< replicas count once
  isa::Index first;
  std::size_t thread = 0, granule = 0;
};

/// Asks `bad(thread, granule)` for all granules of all elements.
template <class F>
Found find_elements(const SharedAccess& access, const Numbers& origin, unsigned granule_shift,
                    F&& bad) {
  Found found;
  const auto& dims = access.place.tile_dims;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const std::int64_t offset = element_offset(access.place, *access.parts, origin, t, i);
      const std::uint64_t bit =
          access.tensor_bits + static_cast<std::uint64_t>(offset) * access.tile.bits;
      const std::uint64_t end = ((bit + access.tile.bits - 1) >> (granule_shift + 3)) + 1;
      std::uint64_t granule = bit >> (granule_shift + 3);
      while (granule < end && !bad(t, granule)) ++granule;
      if (granule == end) continue;
      isa::Index index(dims.size());
      for (std::size_t d = 0; d < index.size(); ++d) {
        index[d] = origin[d];
        if (dims[d] < 0) continue;
        const auto dim = static_cast<std::size_t>(dims[d]);
        index[d] += access.parts->thread_part(t)[dim] + access.parts->local_part(i)[dim];
      }
      if (found.offsets.empty() || index < found.first) {
        found.first = index;
        found.thread = t;
        found.granule = granule;
      }
      found.offsets.insert(offset);
    }
  }
  return found;
}

/// "3 elements of `s`".
[[nodiscard]] std::string elements(const Found& found, std::string_view tensor);
/// "first `s[1, 2]`".
[[nodiscard]] std::string first_element(const Found& found, std::string_view tensor);

}  // namespace tilevm::sim
