// Instructions that combine the elements of a tile with one another.
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct Reduce {
  RegisterOperand src;
  ReduceOp op = ReduceOp::add;
  DimList dims;
  std::optional<ScalarOperand> keep_dims;

  static constexpr auto schema = define<Reduce>(
      {.mnemonic = "Reduce",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Combines the elements of a tile along dimensions.",
       .detail =
           "`op` is `add`, `mul`, `max`, `min`, `bit_and`, `bit_or`, `bit_xor`, `argmax` or "
           "`argmin`. The result has the layout `L.reduce(dims)`: every thread that held a part "
           "of a row gets the row's result; `keep_dims=true` keeps the dimensions with extent 1, "
           "so that the result broadcasts back. Sums and products of types narrower than 32 bits, "
           "and of tf32, are computed in f32, i32 or u32 and cast once; the layout defines the "
           "order of float sums (docs/reference/tiles.md, Reduce). `max` and `min` treat zeros "
           "and NaN "
           "as Max and Min do. `v, i = Reduce(x, argmax, dims=1)` also gives the number of the "
           "element along the dimensions, an i32; of equal elements the first.",
       .exchanges = true},
      slot("src", &Reduce::src, "the tile"), slot("op", &Reduce::op, "how elements are combined"),
      slot("dims", &Reduce::dims, "the dimensions that vanish, one or a list"),
      slot("keep_dims", &Reduce::keep_dims, "a constant: whether they stay, with extent 1"));
  friend bool operator==(const Reduce&, const Reduce&) = default;
};

struct Scan {
  RegisterOperand src;
  ReduceOp op = ReduceOp::add;
  DimList dim;
  std::optional<ScalarOperand> exclusive;

  static constexpr auto schema = define<Scan>(
      {.mnemonic = "Scan",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Combines each element with all before it along a dimension.",
       .detail =
           "`op` is `add`, `mul`, `max`, `min`, `bit_and`, `bit_or` or `bit_xor`: with `add` "
           "element j is the sum of the elements 0 to j. With `exclusive=true` the element itself "
           "takes no part, and the first is 0, or what leaves others as they are under `op`. The "
           "result has the layout of `src`. It is computed in the types that `Reduce` computes in; "
           "the layout defines the order of float sums (docs/reference/tiles.md, Scan).",
       .exchanges = true},
      slot("src", &Scan::src, "the tile"), slot("op", &Scan::op, "how elements are combined"),
      slot("dim", &Scan::dim, "the dimension, a constant"),
      slot("exclusive", &Scan::exclusive, "a constant: whether the element itself is left out"));
  friend bool operator==(const Scan&, const Scan&) = default;
};

/// Its instructions, in the order of the reference.
using ReduceInstructions = InstructionList<Reduce, Scan>;

}  // namespace tilevm::isa
