// Chains of bitcasts: tiles that are other tiles' bits in another order.
//
// View and ConvertLayout move bits only inside a thread. If the tile and its source are each
// written once, the bits can be taken from the source: the tile's scope ends before the source is
// written again. An instruction that reads bits one by one (View, ConvertLayout, a Cast that
// has a recipe) takes them from the beginning of the chain, and a link that no other instruction
// reads emits nothing.
#pragma once

#include <vector>

#include "backend/select/bit_recipe.h"
#include "isa/analysis/definitions.h"
#include "isa/analysis/statements.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// The tile at the beginning of a chain: bit j of a thread is bit source_bits[j] of the base.
struct BitOrigin {
  isa::VarId base;
  std::vector<SourceBit> source_bits;
};

class BitcastChains {
 public:
  BitcastChains(const isa::VerifiedProgram& program, int kernel, const isa::Statements& statements,
                const isa::Definitions& definitions);

  [[nodiscard]] BitOrigin origin(isa::VarId tile) const;
  /// Whether a tile is a link of a chain that no instruction needs in registers of its own.
  [[nodiscard]] bool is_elided(isa::VarId tile) const {
    return link(tile).source.valid() && reads(tile) == 0;
  }
  /// How many instructions read a tile, elided links left out.
  [[nodiscard]] int reads(isa::VarId tile) const {
    return reads_[static_cast<std::size_t>(tile.index)];
  }
  /// Whether only arithmetic reads a tile's floats, for which any NaN is as good as the canonical
  /// one.
  [[nodiscard]] bool is_for_arithmetic(isa::VarId tile) const {
    return !exact_[static_cast<std::size_t>(tile.index)];
  }
  /// The tile that origin() finds.
  [[nodiscard]] isa::VarId base_of(isa::VarId tile) const;

 private:
  /// How a tile is made of another.
  struct Link {
    isa::VarId source{};    ///< invalid: it is made otherwise, or one of the two may change
    bool converts = false;  ///< whether it is a ConvertLayout, not a View
  };

  [[nodiscard]] const Link& link(isa::VarId tile) const {
    return links_[static_cast<std::size_t>(tile.index)];
  }
  void find_link(const isa::InstStmt& stmt, const isa::Definitions& definitions);
  void count_reads(const isa::InstStmt& stmt, const isa::Target& target);
  void mark_exact(const isa::InstStmt& stmt, const isa::Definitions& definitions);

  const isa::Kernel& kernel_;
  std::vector<Link> links_;  // by variable
  std::vector<int> reads_;   // by variable
  std::vector<bool> exact_;  // by variable: an instruction may read its bits
};

/// The order of the bits of a tile in layout `to` in the same tile in layout `from`.
[[nodiscard]] std::vector<SourceBit> converted_bits(const isa::RegisterType& from,
                                                    const isa::RegisterLayout& to);

/// Whether a Cast between these types is emitted as a recipe.
[[nodiscard]] bool casts_bits(const isa::DType& from, const isa::DType& to,
                              const isa::Target& target);

}  // namespace tilevm::backend
