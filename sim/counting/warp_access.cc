#include "sim/counting/warp_access.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tilevm::sim {
namespace {

template <class T>
void keep_distinct(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Counts requests, bytes, and the sectors that the distinct bytes would fill.
AccessCount count_request(const WarpAccess& access) {
  AccessCount count;
  if (access.empty()) return count;
  count.requests = 1;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
  for (const LaneAccess& lane : access) {
    count.bytes += lane.bytes;
    pieces.emplace_back(lane.address, lane.bytes);
  }
  keep_distinct(pieces);
  std::uint64_t distinct = 0;
  for (const auto& [address, bytes] : pieces) distinct += bytes;
  count.ideal = (distinct + sector_bytes - 1) / sector_bytes;
  return count;
}

/// The largest number of words that share a bank.
std::uint64_t passes(std::vector<std::uint64_t>& words) {
  keep_distinct(words);
  std::array<std::uint64_t, shared_banks> in_bank{};
  std::uint64_t most = 0;
  for (const std::uint64_t word : words) most = std::max(most, ++in_bank[word % in_bank.size()]);
  return most;
}

}  // namespace

AccessCount count_sectors(const WarpAccess& access) {
  AccessCount count = count_request(access);
  std::vector<std::uint64_t> sectors;
  for (const LaneAccess& lane : access) sectors.push_back(lane.address / sector_bytes);
  keep_distinct(sectors);
  count.transfers = count.lookups = sectors.size();
  return count;
}

AccessCount count_wavefronts(const WarpAccess& access, unsigned width) {
  AccessCount count = count_request(access);
  count.ideal = 0;
  const unsigned lanes = lanes_served_together(width);
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < access.size();) {
    const unsigned group = access[i].lane / lanes;
    words.clear();
    for (; i < access.size() && access[i].lane / lanes == group; ++i) {
      const std::uint64_t end = access[i].address + width;
      for (std::uint64_t word = access[i].address / 4; word * 4 < end; ++word) {
        words.push_back(word);
      }
    }
    count.transfers += passes(words);
    ++count.ideal;
  }
  return count;
}

AccessCount count_copied_sectors(const WarpAccess& global, const WarpAccess& shared) {
  AccessCount count = count_request(global);
  // Pairs: a sector or line of global memory, and the sector of shared memory it goes to.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> reads, lookups;
  for (std::size_t i = 0; i < global.size(); ++i) {
    const std::uint64_t to = shared[i].address / sector_bytes;
    reads.emplace_back(global[i].address / sector_bytes, to);
    lookups.emplace_back(global[i].address / line_bytes, to);
  }
  keep_distinct(reads);
  keep_distinct(lookups);
  count.transfers = reads.size();
  count.lookups = lookups.size();
  return count;
}

}  // namespace tilevm::sim
