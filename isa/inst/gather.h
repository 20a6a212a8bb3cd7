// Instructions that move tiles of which an index tile says where each element is in memory.
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct Gather {
  TensorOperand src;
  RegisterOperand index;
  DimList dim;
  std::optional<OffsetList> offset;
  std::optional<RegisterLayout> layout;

  static constexpr auto schema = define<Gather>(
      {.mnemonic = "Gather",
       .category = Category::transfer,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Loads elements whose place along one dimension is data.",
       .detail =
           "Element x of the tile is the one of `src` at `offset + x`, with the index along `dim` "
           "replaced by that of `offset` plus `index[x]`; `index` broadcasts to the tile. A `src` "
           "of rank 1 takes an index of any shape: `src[offset + index[x]]`. The tile has the "
           "layout of the index unless `layout` or `out` gives another. Elements outside of a "
           "view, at a negative index too, are zero; of a shared tensor they are a fault (TV0401). "
           "All indices must have a value (TV0404). Elements that are neighbours along another "
           "dimension are loaded at once."},
      slot("src", &Gather::src, "a view of global memory or a shared tensor", Access::read,
           Proxy::generic),
      slot("index", &Gather::index,
           "a tile of unsigned integers, `i32` or `i64`, that broadcasts to the result"),
      slot("dim", &Gather::dim, "the dimension of `src` along which the index counts, a constant"),
      slot("offset", &Gather::offset,
           "where the tile begins in `src`, with a colon for each dimension of the tile; zero if "
           "left out"),
      slot("layout", &Gather::layout,
           "the register layout of the tile; that of `out` or of the index if left out"));
  friend bool operator==(const Gather&, const Gather&) = default;
};

struct Scatter {
  RegisterOperand src;
  TensorOperand dst;
  RegisterOperand index;
  DimList dim;
  std::optional<OffsetList> offset;
  std::optional<ReduceOp> op = {};

  static constexpr auto schema = define<Scatter>(
      {.mnemonic = "Scatter",
       .category = Category::transfer,
       .sync = Sync::none,
       .summary = "Stores elements whose place along one dimension is data.",
       .detail =
           "Element x of `src` goes to the place of `dst` from which `Gather` would take it. "
           "Elements outside of a view, at a negative index too, are skipped; of a shared tensor "
           "they are a fault (TV0401). Two elements of different threads in one place are a fault "
           "(TV0406); of one thread the later one stays. All indices must have a value (TV0404). "
           "With `op`, which is `add`, `max`, `min`, `bit_and`, `bit_or` or `bit_xor`, each "
           "element "
           "is combined with the one in memory as one step, whoever else combines there: any "
           "number "
           "of elements may have one place. Elements are `i32`, `u32`, `i64`, `u64`, or with `add` "
           "`f16`, `f32`, `f64` and, from sm_90 on, `bf16`, whose sums depend on an order that "
           "nothing defines and are rounded at each step "
           "(docs/reference/tiles.md, Gather, Scatter)."},
      slot("src", &Scatter::src, "the tile to store"),
      slot("dst", &Scatter::dst, "a view of global memory or a shared tensor", Access::write,
           Proxy::generic),
      slot("index", &Scatter::index,
           "a tile of unsigned integers, `i32` or `i64`, that broadcasts to `src`"),
      slot("dim", &Scatter::dim, "the dimension of `dst` along which the index counts, a constant"),
      slot("offset", &Scatter::offset,
           "where the tile begins in `dst`, with a colon for each dimension of the tile; zero if "
           "left out"),
      slot("op", &Scatter::op,
           "how an element is combined with the one in memory; it replaces that if left out"));
  friend bool operator==(const Scatter&, const Scatter&) = default;
};

/// Its instructions, in the order of the reference.
using GatherInstructions = InstructionList<Gather, Scatter>;

}  // namespace tilevm::isa
