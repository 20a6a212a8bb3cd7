// Instructions that give scalars: where a block stands, and what an element is.
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct BlockIndices {
  static constexpr auto schema = define<BlockIndices>(
      {.mnemonic = "BlockIndices",
       .category = Category::indexing,
       .sync = Sync::none,
       .result = ResultKind::indices,
       .summary = "Gives the indices of the current thread block in the grid.",
       .detail =
           "One `i32` a grid extent, in the order of the extents: `bi, bj = BlockIndices()` in "
           "a grid of two extents, `t = BlockIndices()` in a grid of one."});
  friend bool operator==(const BlockIndices&, const BlockIndices&) = default;
};

struct LoadScalar {
  TensorOperand src;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<LoadScalar>(
      {.mnemonic = "LoadScalar",
       .category = Category::indexing,
       .sync = Sync::none,
       .result = ResultKind::scalar,
       .summary = "Reads one element into a scalar of the block.",
       .detail =
           "For page tables, lengths, and branches and loops that depend on data. Integers of at "
           "most 32 bits give an `i32` or `u32`, of 64 bits an `i64` or `u64`; `f32` gives an "
           "`f32`. The element must lie in the view or the shared tensor (TV0401), and must have a "
           "value (TV0404). A register tile has one element, which all threads hold, and costs "
           "nothing. All threads read; what another thread wrote may be read after a "
           "Synchronize."},
      slot("src", &LoadScalar::src, "a view, a shared tensor, or a register tile of one element",
           Access::read, Proxy::generic),
      slot("offset", &LoadScalar::offset, "the element's index in memory; zero if left out"));
  friend bool operator==(const LoadScalar&, const LoadScalar&) = default;
};

/// Its instructions, in the order of the reference.
using IndexingInstructions = InstructionList<BlockIndices, LoadScalar>;

}  // namespace tilevm::isa
