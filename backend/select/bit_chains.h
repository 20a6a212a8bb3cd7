// Tiles that are other tiles' bits in another order.
//
// View and ConvertLayout move bits inside a thread or not at all. Where such a tile is written
// once, and so is the tile that it is made of, its bits can be taken from there: the tile is in
// scope only until its source is made anew. What reads bits one by one (View, ConvertLayout, a Cast
// that has a recipe) looks through the whole chain, and links that nobody else reads are not
// emitted.
#pragma once

#include <vector>

#include "backend/select/bit_recipe.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// The tile that holds a tile's bits: bit j of a thread is bit places[j] there.
struct BitOrigin {
  isa::VarId base;
  std::vector<BitPlace> places;
};

class BitChains {
 public:
  BitChains(const isa::VerifiedProgram& program, int kernel);

  [[nodiscard]] BitOrigin origin(isa::VarId tile) const;
  /// Whether a tile is a link of a chain that nobody needs, since all look through it.
  [[nodiscard]] bool is_skipped(isa::VarId tile) const {
    return link(tile).source.index >= 0 && reads(tile) == 0;
  }
  /// How many statements read a tile, links that nobody needs left out.
  [[nodiscard]] int reads(isa::VarId tile) const {
    return reads_[static_cast<std::size_t>(tile.index)];
  }
  /// Whether only arithmetic reads a tile's floats, for which any NaN is as good as the canonical
  /// one.
  [[nodiscard]] bool is_for_arithmetic(isa::VarId tile) const {
    return !exact_[static_cast<std::size_t>(tile.index)];
  }
  [[nodiscard]] bool written_once(isa::VarId tile) const {
    return info_.write_count[static_cast<std::size_t>(tile.index)] == 1;
  }
  /// The tile that origin() finds.
  [[nodiscard]] isa::VarId base_of(isa::VarId tile) const;

 private:
  /// How a tile is made of another.
  struct Link {
    isa::VarId source{-1};  ///< -1: it is not, or one of both may change
    bool converts = false;  ///< by ConvertLayout, not View
  };

  [[nodiscard]] const Link& link(isa::VarId tile) const {
    return links_[static_cast<std::size_t>(tile.index)];
  }
  void find_links(const isa::InstStmt& stmt);
  void count_reads(const isa::InstStmt& stmt, const isa::Target& target);
  void mark_exact(const isa::InstStmt& stmt);

  const isa::Kernel& kernel_;
  const isa::KernelInfo& info_;
  std::vector<Link> links_;  // by variable
  std::vector<int> reads_;   // by variable
  std::vector<bool> exact_;  // by variable: something may read its bits
};

/// The order of the bits of a tile in layout `to` in the same tile in layout `from`.
[[nodiscard]] std::vector<BitPlace> converted_places(const isa::RegisterType& from,
                                                     const isa::RegisterLayout& to);

/// Whether a Cast between these types is emitted as a recipe.
[[nodiscard]] bool casts_bits(const isa::DType& from, const isa::DType& to,
                              const isa::Target& target);

}  // namespace tilevm::backend
