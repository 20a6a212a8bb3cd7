#include "vm/fuzz/seed_range.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace tilevm::vm::fuzz {
namespace {

/// Seeds that are looked at one by one.
constexpr std::uint64_t most_period = std::uint64_t{1} << 20;

/// The shards of ranges that cover a stretch of seeds: index and count.
using Shards = std::set<std::pair<std::uint64_t, std::uint64_t>>;

std::uint64_t count_one_by_one(std::uint64_t begin, std::uint64_t length, const Shards& shards) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = begin; seed < begin + length; ++seed) {
    found += std::any_of(shards.begin(), shards.end(),
                         [&](const auto& shard) { return seed % shard.second == shard.first; });
  }
  return found;
}

/// The pattern of shards repeats after the least common multiple of their counts.
Result<std::uint64_t> count_stretch(std::uint64_t begin, std::uint64_t length,
                                    const Shards& shards) {
  std::uint64_t period = 1;
  for (const auto& [index, count] : shards) period = std::min(std::lcm(period, count), most_period);
  if (length <= most_period) return count_one_by_one(begin, length, shards);
  if (period == most_period) {
    return Error{ErrorKind::usage, "these corpora have shards of too many different sizes"};
  }
  return length / period * count_one_by_one(begin, period, shards) +
         count_one_by_one(begin, length % period, shards);
}

}  // namespace

bool is_valid(const SeedRange& range) {
  return range.first <= range.last && range.last <= most_seed && range.count > 0 &&
         range.count <= most_shards && range.index < range.count;
}

Result<std::uint64_t> count_seeds(const std::vector<SeedRange>& ranges) {
  std::vector<std::uint64_t> cuts;
  for (const SeedRange& range : ranges) {
    cuts.push_back(range.first);
    cuts.push_back(range.last + 1);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::uint64_t total = 0;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    Shards shards;
    for (const SeedRange& range : ranges) {
      const bool covers = range.first <= cuts[i] && cuts[i] <= range.last;
      if (covers) shards.emplace(range.index, range.count);
    }
    const Result<std::uint64_t> here = count_stretch(cuts[i], cuts[i + 1] - cuts[i], shards);
    if (!here) return here;
    total += *here;
  }
  return total;
}

}  // namespace tilevm::vm::fuzz
