// Granules: the units of shared memory in which checks record accesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "sim/access/shared_access.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {

/// The range of granules of shared memory that contains a tile.
struct GranuleRange {
  std::uint64_t begin, end;
};
[[nodiscard]] GranuleRange granules_of(const ResolvedAccess& resolved, const Context& context);

/// Calls f(first granule, one past the last) for a thread's runs until f returns false.
template <class F>
bool for_each_granules(const ResolvedAccess& resolved, std::size_t thread, unsigned granule_shift,
                       F&& f) {
  const unsigned shift = granule_shift + 3;
  const TableLookup& runs = resolved.runs;
  const std::uint64_t run_bits = runs.table->run_elements * resolved.access->tile.bits;
  const std::uint32_t* begins = runs.table->run_bits.data() + thread * runs.table->runs;
  for (std::size_t r = 0; r < runs.table->runs; ++r) {
    const std::uint64_t begin = runs.base_bits + begins[r];
    if (!f(begin >> shift, ((begin + run_bits - 1) >> shift) + 1)) return false;
  }
  return true;
}

/// The index in the tensor of element (thread, place) of a tile.
[[nodiscard]] inline isa::Index element_index(const ResolvedAccess& resolved, std::size_t thread,
                                              std::size_t place) {
  const SharedAccess& access = *resolved.access;
  return element_index(access.geometry, *access.parts, resolved.origin, thread, place);
}

/// The elements with a granule for which `bad(thread, granule)` holds; the detail is the first such
/// granule of the first element. Replicas count once.
template <class F>
Offenders<std::size_t> find_elements(const ResolvedAccess& resolved, unsigned granule_shift,
                                     F&& bad) {
  const SharedAccess& access = *resolved.access;
  std::set<std::int64_t> offsets;
  auto found = find_offenders(
      access.tile.threads, access.tile.locals,
      [&](std::size_t t, std::size_t i) -> std::optional<Offender<std::size_t>> {
        const std::int64_t offset =
            element_offset(access.geometry, *access.parts, resolved.origin, t, i);
        const std::uint64_t bit =
            access.tensor_bits + static_cast<std::uint64_t>(offset) * access.tile.bits;
        const std::uint64_t end = ((bit + access.tile.bits - 1) >> (granule_shift + 3)) + 1;
        std::uint64_t granule = bit >> (granule_shift + 3);
        while (granule < end && !bad(t, granule)) ++granule;
        if (granule == end) return std::nullopt;
        offsets.insert(offset);
        return Offender<std::size_t>{element_index(resolved, t, i),
                                     static_cast<std::size_t>(granule)};
      });
  found.count = offsets.size();
  return found;
}

}  // namespace tilevm::sim
