// Which seeds a campaign has, and how many several ranges have together.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::vm::fuzz {

/// The seeds A..B, of those every `count`th: the ones whose remainder is `index`.
struct SeedRange {
  std::uint64_t first = 0, last = 0;
  std::uint64_t index = 0, count = 1;

  [[nodiscard]] bool has(std::uint64_t seed) const {
    return seed >= first && seed <= last && seed % count == index;
  }
};

inline constexpr std::uint64_t most_seed = std::uint64_t{1} << 62, most_shards = 1 << 16;

/// Whether the ends are in order and the shard exists.
[[nodiscard]] bool is_valid(const SeedRange& range);

/// How many seeds the ranges have, each counted once. Error (usage): their shards are of so many
/// sizes that nobody made them to go together.
[[nodiscard]] Result<std::uint64_t> count_seeds(const std::vector<SeedRange>& ranges);

}  // namespace tilevm::vm::fuzz
