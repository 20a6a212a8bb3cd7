// Instructions that order or end a block (the paper's Table 1, "Others").
#pragma once

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct Synchronize {
  static constexpr auto schema = define<Synchronize>(
      {.mnemonic = "Synchronize",
       .category = Category::control,
       .summary = "Waits until all threads of the block are here.",
       .detail = "What was written to shared memory before is then seen by every thread, and what "
                 "was read before may be overwritten.",
       .barrier = true});
  friend bool operator==(const Synchronize&, const Synchronize&) = default;
};

struct Exit {
  static constexpr auto schema =
      define<Exit>({.mnemonic = "Exit",
                    .category = Category::control,
                    .summary = "Ends the block.",
                    .detail = "May stand in loops and branches. Copies in flight are given up."});
  friend bool operator==(const Exit&, const Exit&) = default;
};

}  // namespace tilevm::isa
