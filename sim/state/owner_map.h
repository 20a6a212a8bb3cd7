// An owner for every granule of a buffer, compressed: a long interval of one owner costs little.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilevm::sim {

/// Granules are numbered from 0; each has an owner, at first 0. A chunk of granules is stored as
/// runs of one owner as long as few suffice.
template <class Owner>
class OwnerMap {
 public:
  OwnerMap() = default;
  explicit OwnerMap(std::uint64_t granules) : chunks_(granules / chunk_granules + 1) {}

  /// Replaces the owner of each granule in [begin, end) by f(owner). `f` is called once or more for
  /// each owner in the range, and must depend on the owner only.
  template <class F>
  void update(std::uint64_t begin, std::uint64_t end, F&& f) {
    while (begin < end) {
      const std::uint64_t limit = (begin / chunk_granules + 1) * chunk_granules;
      const std::uint64_t stop = end < limit ? end : limit;
      update_chunk(chunks_[begin / chunk_granules],
                   static_cast<std::uint32_t>(begin % chunk_granules),
                   static_cast<std::uint32_t>(stop - limit + chunk_granules), f);
      begin = stop;
    }
  }

  /// Calls f(begin, end) for ascending ranges of granules whose owner is not 0; neighbouring ranges
  /// may touch.
  template <class F>
  void for_each_owned(F&& f) const {
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const Chunk& chunk = chunks_[c];
      const std::uint64_t base = c * chunk_granules;
      if (!chunk.owners) {
        std::uint64_t begin = 0;
        for (const Run& run : chunk.runs) {
          if (run.owner != 0) f(base + begin, base + run.end);
          begin = run.end;
        }
        continue;
      }
      const Owners& owners = *chunk.owners;
      for (std::uint64_t g = 0; g < chunk_granules;) {
        const std::uint64_t begin = g;
        while (g < chunk_granules && owners[g] != 0) ++g;
        if (begin < g) f(base + begin, base + g);
        while (g < chunk_granules && owners[g] == 0) ++g;
      }
    }
  }

 private:
  static constexpr std::uint32_t chunk_granules = 1024;
  /// Where a chunk has more, owners by granule take hardly more memory and less time.
  static constexpr std::size_t max_runs = 32;
  using Owners = std::array<Owner, chunk_granules>;
  /// Granules of one owner, from the end of the run before.
  struct Run {
    std::uint32_t end;
    Owner owner;
  };
  struct Chunk {
    std::vector<Run> runs;           ///< all granules; empty: they have owner 0
    std::unique_ptr<Owners> owners;  ///< owners by granule, once runs do not suffice
  };

  /// Updates granules [begin, end) of a chunk.
  template <class F>
  static void update_chunk(Chunk& chunk, std::uint32_t begin, std::uint32_t end, F& f) {
    if (!chunk.owners) return update_runs(chunk, begin, end, f);
    Owners& owners = *chunk.owners;
    for (std::uint32_t g = begin; g < end;) {
      const Owner old = owners[g], next = f(old);
      for (; g < end && owners[g] == old; ++g) owners[g] = next;
    }
  }

  template <class F>
  static void update_runs(Chunk& chunk, std::uint32_t begin, std::uint32_t end, F& f) {
    if (chunk.runs.empty()) chunk.runs.push_back({chunk_granules, 0});
    std::array<Run, max_runs + 2> next;  // the ends of the range may cut two runs
    std::size_t count = 0;
    std::uint32_t at = 0;
    const auto add = [&](std::uint32_t to, Owner owner) {
      if (to <= at) return;
      at = to;
      if (count > 0 && next[count - 1].owner == owner) --count;
      next[count++] = {to, owner};
    };
    for (const Run& run : chunk.runs) {
      add(std::min(run.end, begin), run.owner);
      if (at < std::min(run.end, end)) add(std::min(run.end, end), f(run.owner));
      add(run.end, run.owner);
    }
    if (count > max_runs) return spread(chunk, next.data(), count);
    chunk.runs.assign(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count));
  }

  static void spread(Chunk& chunk, const Run* runs, std::size_t count) {
    chunk.owners = std::make_unique<Owners>();
    auto at = chunk.owners->begin();
    for (std::size_t r = 0; r < count; ++r) {
      const auto end = chunk.owners->begin() + runs[r].end;
      std::fill(at, end, runs[r].owner);
      at = end;
    }
    chunk.runs = {};
  }

  std::vector<Chunk> chunks_;
};

}  // namespace tilevm::sim
