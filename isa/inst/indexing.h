// Instructions that tell a block where it stands.
#pragma once

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct BlockIndices {
  static constexpr auto schema = define<BlockIndices>(
      {.mnemonic = "BlockIndices",
       .category = Category::indexing,
       .result = ResultKind::indices,
       .summary = "Gives the indices of the current thread block in the grid.",
       .detail =
           "One `i32` a grid extent, in the order of the extents: `bi, bj = BlockIndices()` in "
           "a grid of two extents, `t = BlockIndices()` in a grid of one."});
  friend bool operator==(const BlockIndices&, const BlockIndices&) = default;
};

/// Its instructions, in the order of the reference.
using IndexingInstructions = InstructionList<BlockIndices>;

}  // namespace tilevm::isa
