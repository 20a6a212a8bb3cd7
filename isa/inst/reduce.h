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
       .result = ResultKind::register_tile,
       .summary = "Combines the elements of a tile along dimensions.",
       .detail =
           "`op` is `add`, `mul`, `max`, `min`, `bit_and`, `bit_or`, `bit_xor`, `argmax` or "
           "`argmin`. The result has the layout `L.reduce(dims)`: every thread that held a part "
           "of a row gets the row's result; `keep_dims=true` keeps the dimensions with extent 1, "
           "so that the result broadcasts back. Sums and products of types narrower than 32 bits, "
           "and of tf32, are computed in f32, i32 or u32 and cast once; the layout defines the "
           "order of float sums (docs/semantics.md, Reduce). `max` and `min` treat zeros and NaN "
           "as Max and Min do. `v, i = Reduce(x, argmax, dims=1)` also gives the number of the "
           "element along the dimensions, an i32; of equal elements the first.",
       .exchanges = true},
      slot("src", &Reduce::src, "the tile"), slot("op", &Reduce::op, "how elements are combined"),
      slot("dims", &Reduce::dims, "the dimensions that vanish, one or a list"),
      slot("keep_dims", &Reduce::keep_dims, "a constant: whether they stay, with extent 1"));
  friend bool operator==(const Reduce&, const Reduce&) = default;
};

/// Its instructions, in the order of the reference.
using ReduceInstructions = InstructionList<Reduce>;

}  // namespace tilevm::isa
