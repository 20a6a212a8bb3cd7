// What the threads of a block share when they prefetch a tile.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/layout/register_layout.h"
#include "isa/program/program.h"
#include "isa/rules/rules.h"

namespace tilevm::isa {

/// Bytes that a prefetch is known to bring: a sector of a cache line.
inline constexpr std::int64_t prefetch_bytes = 32;

struct PrefetchPlan {
  TilePlacement placement;
  /// The tile in pieces, one prefetch each: of several elements along a dimension whose stride in
  /// memory is the constant 1, if there is one.
  Shape pieces;
  std::int64_t elements = 1;  ///< number of elements of a piece
  /// A tile dimension's index of the first element of a piece, by the piece's row-major number.
  std::vector<RegisterLayout::Term> terms;
};

[[nodiscard]] PrefetchPlan plan_prefetch(const Prefetch& inst, const GlobalType& view);

}  // namespace tilevm::isa
