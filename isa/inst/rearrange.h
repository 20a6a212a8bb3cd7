// Instructions that take elements of tiles to other places: parts of a tile, tiles side by side,
// entries of a table.
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct Slice {
  RegisterOperand src;
  DimList dim;
  ScalarOperand begin;
  ScalarOperand extent;

  static constexpr auto schema = define<Slice>(
      {.mnemonic = "Slice",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Takes a part of a tile along a dimension.",
       .detail = "Elements stay in their threads, so along the dimension threads hold whole parts: "
                 "`extent` divides the dimension, and only local digits of the layout count whole "
                 "parts. `begin` is a multiple of `extent`; both are constants. The result has the "
                 "layout without these digits. It costs nothing."},
      slot("src", &Slice::src, "the tile"), slot("dim", &Slice::dim, "the dimension"),
      slot("begin", &Slice::begin, "the index of the first element, a constant"),
      slot("extent", &Slice::extent, "how many elements, a constant"));
  friend bool operator==(const Slice&, const Slice&) = default;
};

struct Concat {
  RegisterOperand a;
  RegisterOperand b;
  DimList dim;

  static constexpr auto schema = define<Concat>(
      {.mnemonic = "Concat",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Puts two tiles of one type side by side along a dimension.",
       .detail = "Each thread has the elements that it had of both: the result's layout is "
                 "`local(.., 2, ..).L`, L that of the tiles. It costs nothing. `Slice` takes the "
                 "tiles out again."},
      slot("a", &Concat::a, "the first tile"), slot("b", &Concat::b, "the second tile"),
      slot("dim", &Concat::dim, "the dimension along which they stand"));
  friend bool operator==(const Concat&, const Concat&) = default;
};

struct Lookup {
  RegisterOperand table;
  RegisterOperand index;

  static constexpr auto schema = define<Lookup>(
      {.mnemonic = "Lookup",
       .category = Category::compute,
       .sync = Sync::none,
       .result = ResultKind::register_tile,
       .summary = "Takes for each index the entry of a table in registers.",
       .detail = "The table has one dimension and at most 64 entries, all of which every thread "
                 "holds: `replicated(T).local(E)`, T the threads. The indices are unsigned "
                 "integers; one that the table does not have is a fault (TV0401). The result has "
                 "the layout of the indices. Up to 16 entries of 8, 16 or 32 bits become byte "
                 "permutes, others a chain of choices."},
      slot("table", &Lookup::table, "the entries"),
      slot("index", &Lookup::index, "which entry each element takes"));
  friend bool operator==(const Lookup&, const Lookup&) = default;
};

/// Its instructions, in the order of the reference.
using RearrangeInstructions = InstructionList<Slice, Concat, Lookup>;

}  // namespace tilevm::isa
