// Instructions that show what a program does (the paper's Table 1, "Others").
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct Print {
  ValueOperand value;
  std::optional<Text> label;

  static constexpr auto schema = define<Print>(
      {.mnemonic = "Print",
       .category = Category::debug,
       .sync = Sync::none,
       .summary = "Shows a register tile or a scalar.",
       .detail =
           "Prints appear in the order of the blocks (x fastest), and within a block in the order "
           "in which it made them, on every engine and however the blocks were scheduled. A tile "
           "is shown once, whatever its layout and its replicas. A tile of more than "
           "1024 elements shows the first and last indices of each dimension. A block prints 256 "
           "KiB "
           "at most (less where many of more than 1024 blocks print), a launch 4 MiB; what is "
           "beyond is counted."},
      slot("value", &Print::value, "what to show"),
      slot("label", &Print::label, "a text that is shown with it, such as `\"after the loop\"`"));
  friend bool operator==(const Print&, const Print&) = default;
};

struct Assert {
  ValueOperand condition;
  std::optional<Text> message;

  static constexpr auto schema = define<Assert>(
      {.mnemonic = "Assert",
       .category = Category::debug,
       .sync = Sync::none,
       .summary = "Ends the run with a report if a condition does not hold.",
       .detail =
           "The condition is a scalar, or a tile of u1, as comparisons give it, of which every "
           "element must be 1. The report (TV0415) has the statement, the block, the element and "
           "the message. In the simulator the element is the first in row-major order; a GPU, "
           "which stops at once, names one of those that are 0."},
      slot("condition", &Assert::condition, "what must hold: a boolean or a tile of u1"),
      slot("message", &Assert::message, "a text for the report, such as `\"indices ascend\"`"));
  friend bool operator==(const Assert&, const Assert&) = default;
};

/// Its instructions, in the order of the reference.
using DebugInstructions = InstructionList<Print, Assert>;

}  // namespace tilevm::isa
