// An owner for every granule of a buffer, compressed: a long interval of one owner costs little.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilevm::sim {

/// Granules are numbered from 0; each has an owner, at first 0. A chunk of granules is stored as
/// one interval of one owner as long as one interval suffices.
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
        if (chunk.owner != 0 && chunk.begin < chunk.end) f(base + chunk.begin, base + chunk.end);
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
  static constexpr std::uint64_t chunk_granules = 1024;
  using Owners = std::array<Owner, chunk_granules>;
  struct Chunk {
    Owner owner = 0;  ///< owner of granules [begin, end); the others have owner 0
    std::uint32_t begin = 0, end = 0;
    std::unique_ptr<Owners> owners;  ///< owners by granule, once one interval does not suffice
  };

  /// Updates granules [begin, end) of a chunk.
  template <class F>
  static void update_chunk(Chunk& chunk, std::uint32_t begin, std::uint32_t end, F& f) {
    if (!chunk.owners && update_interval(chunk, {begin, end}, f)) return;
    if (!chunk.owners) spread(chunk);
    Owners& owners = *chunk.owners;
    for (std::uint32_t g = begin; g < end;) {
      const Owner old = owners[g], next = f(old);
      for (; g < end && owners[g] == old; ++g) owners[g] = next;
    }
  }

  struct Range {
    std::uint32_t begin, end;
  };

  /// Updates a chunk that is one interval; false if the result would not be one interval.
  template <class F>
  static bool update_interval(Chunk& chunk, Range range, F& f) {
    if (chunk.begin == chunk.end) {
      chunk.owner = f(Owner{0});
      if (chunk.owner != 0) chunk.begin = range.begin, chunk.end = range.end;
      return true;
    }
    const bool meets = range.begin < chunk.end && chunk.begin < range.end;
    const bool sticks_out = range.begin < chunk.begin || chunk.end < range.end;
    const bool covers = range.begin <= chunk.begin && chunk.end <= range.end;
    const bool touches = range.begin <= chunk.end && chunk.begin <= range.end;
    const Owner inside = meets ? f(chunk.owner) : chunk.owner;
    const Owner outside = sticks_out ? f(Owner{0}) : inside;
    if (inside == chunk.owner && (outside == 0 || !sticks_out)) return true;
    if (!touches || inside != outside || (inside != chunk.owner && !covers)) return false;
    chunk.owner = inside;
    if (range.begin < chunk.begin) chunk.begin = range.begin;
    if (range.end > chunk.end) chunk.end = range.end;
    return true;
  }

  static void spread(Chunk& chunk) {
    chunk.owners = std::make_unique<Owners>();
    chunk.owners->fill(0);
    for (std::uint32_t g = chunk.begin; g < chunk.end; ++g) (*chunk.owners)[g] = chunk.owner;
  }

  std::vector<Chunk> chunks_;
};

}  // namespace tilevm::sim
