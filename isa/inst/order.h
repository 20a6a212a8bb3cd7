// Instructions that order blocks: semaphores, and counters that all blocks share.
//
// A semaphore is an i32 or u32 element of global memory. All three are barriers of their block, and
// what a block did before it released a semaphore is seen by every block that saw the value
// (PTX ISA, Memory Consistency Model: release and acquire at the scope of the GPU).
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

/// The kind of scalar that semaphores of an element type hold; nothing if there are none.
[[nodiscard]] std::optional<ScalarKind> semaphore_kind(const DType& dtype);

struct LockSemaphore {
  GlobalOperand view;
  ScalarOperand value;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<LockSemaphore>(
      {.mnemonic = "LockSemaphore",
       .category = Category::control,
       .summary = "Waits until an element of global memory has a value.",
       .detail = "The block goes on once an `i32` or `u32` element equals `value`; it changes "
                 "nothing. It then sees everything that was done before the `ReleaseSemaphore` or "
                 "`AtomicAdd` which stored that value. A barrier of the block, as `Synchronize`. "
                 "The element must lie in the view. A wait that cannot end is a fault.",
       .barrier = true,
       .orders_blocks = true},
      slot("view", &LockSemaphore::view, "the view that holds the semaphore", Access::read),
      slot("value", &LockSemaphore::value, "the value to wait for"),
      slot("offset", &LockSemaphore::offset, "the element's index; zero if left out"));
  friend bool operator==(const LockSemaphore&, const LockSemaphore&) = default;
};

struct ReleaseSemaphore {
  GlobalOperand view;
  ScalarOperand value;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<ReleaseSemaphore>(
      {.mnemonic = "ReleaseSemaphore",
       .category = Category::control,
       .summary = "Stores a value for which other blocks wait.",
       .detail = "Everything that the block did before is seen by blocks whose `LockSemaphore` or "
                 "`AtomicAdd` finds the value. A barrier of the block, as `Synchronize`. The "
                 "element must lie in the view.",
       .barrier = true,
       .orders_blocks = true},
      slot("view", &ReleaseSemaphore::view, "the view that holds the semaphore", Access::write),
      slot("value", &ReleaseSemaphore::value, "the value to store"),
      slot("offset", &ReleaseSemaphore::offset, "the element's index; zero if left out"));
  friend bool operator==(const ReleaseSemaphore&, const ReleaseSemaphore&) = default;
};

struct AtomicAdd {
  GlobalOperand view;
  ScalarOperand value;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<AtomicAdd>(
      {.mnemonic = "AtomicAdd",
       .category = Category::control,
       .result = ResultKind::scalar,
       .summary = "Adds to an element of global memory, once for the block, and gives what was "
                  "there before.",
       .detail = "The element is `i32` or `u32`, as is the result, and wraps. No other block "
                 "touches it between the load and the store. Both `LockSemaphore` and "
                 "`ReleaseSemaphore` as far as other blocks go: those that added before are seen. "
                 "A barrier of the block, as `Synchronize`. Which block comes first is left to "
                 "chance, and the program's result must not depend on it.",
       .barrier = true,
       .orders_blocks = true},
      slot("view", &AtomicAdd::view, "the view that holds the counter", Access::update),
      slot("value", &AtomicAdd::value, "what is added"),
      slot("offset", &AtomicAdd::offset, "the element's index; zero if left out"));
  friend bool operator==(const AtomicAdd&, const AtomicAdd&) = default;
};

}  // namespace tilevm::isa
