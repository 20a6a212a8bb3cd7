// Instructions that order threads and blocks, or end a block (the paper's Table 1, "Others", and
// beyond it).
//
// A semaphore is an i32 or u32 element of global memory. What works on one is a barrier of its
// block, and what a block did before it released a semaphore is seen by every block that saw the
// value (PTX ISA, Memory Consistency Model: release and acquire at the scope of the GPU).
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct Synchronize {
  static constexpr auto schema = define<Synchronize>(
      {.mnemonic = "Synchronize",
       .category = Category::control,
       .sync = Sync::block,
       .summary = "Waits until all threads of the block are here.",
       .detail = "What was written to shared memory before is then seen by every thread, and what "
                 "was read before may be overwritten."});
  friend bool operator==(const Synchronize&, const Synchronize&) = default;
};

/// The kind of scalar that semaphores of an element type hold; nothing if there are none.
[[nodiscard]] std::optional<ScalarKind> semaphore_kind(const DType& dtype);

struct LockSemaphore {
  GlobalOperand view;
  ScalarOperand value;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<LockSemaphore>(
      {.mnemonic = "LockSemaphore",
       .category = Category::control,
       .sync = Sync::block | Sync::acquire,
       .summary = "Waits until an element of global memory has a value.",
       .detail = "The block goes on once an `i32` or `u32` element equals `value`; it changes "
                 "nothing. It then sees everything that was done before the `ReleaseSemaphore` or "
                 "`AtomicAdd` which stored that value. A barrier of the block, as `Synchronize`. "
                 "The element must lie in the view. A wait that cannot end is a fault."},
      slot("view", &LockSemaphore::view, "the view that holds the semaphore", Access::read,
           Proxy::generic),
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
       .sync = Sync::block | Sync::release,
       .summary = "Stores a value for which other blocks wait.",
       .detail = "Everything that the block did before is seen by blocks whose `LockSemaphore` or "
                 "`AtomicAdd` finds the value. A barrier of the block, as `Synchronize`. The "
                 "element must lie in the view."},
      slot("view", &ReleaseSemaphore::view, "the view that holds the semaphore", Access::write,
           Proxy::generic),
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
       .sync = Sync::block | Sync::acquire | Sync::release,
       .result = ResultKind::scalar,
       .summary = "Adds to an element of global memory, once for the block, and gives what was "
                  "there before.",
       .detail = "The element is `i32` or `u32`, as is the result, and wraps. No other block "
                 "touches it between the load and the store. Both `LockSemaphore` and "
                 "`ReleaseSemaphore` as far as other blocks go: those that added before are seen. "
                 "A barrier of the block, as `Synchronize`. Which block comes first is left to "
                 "chance, and the program's result must not depend on it."},
      slot("view", &AtomicAdd::view, "the view that holds the counter", Access::update,
           Proxy::generic),
      slot("value", &AtomicAdd::value, "what is added"),
      slot("offset", &AtomicAdd::offset, "the element's index; zero if left out"));
  friend bool operator==(const AtomicAdd&, const AtomicAdd&) = default;
};

struct AtomicCombine {
  GlobalOperand view;
  ReduceOp op;
  ScalarOperand value;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<AtomicCombine>(
      {.mnemonic = "AtomicCombine",
       .category = Category::control,
       .sync = Sync::block | Sync::acquire | Sync::release,
       .result = ResultKind::scalar,
       .summary = "Combines an element of global memory with a scalar, once for the block, and "
                  "gives what was there before.",
       .detail = "`op` is `add`, `max`, `min`, `bit_and`, `bit_or` or `bit_xor`; with `add` it is "
                 "`AtomicAdd`, whose other rules hold."},
      slot("view", &AtomicCombine::view, "the view that holds the element", Access::update,
           Proxy::generic),
      slot("op", &AtomicCombine::op, "how the element and the value are combined"),
      slot("value", &AtomicCombine::value, "what the element is combined with"),
      slot("offset", &AtomicCombine::offset, "the element's index; zero if left out"));
  friend bool operator==(const AtomicCombine&, const AtomicCombine&) = default;
};

struct AtomicExchange {
  GlobalOperand view;
  ScalarOperand value;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<AtomicExchange>(
      {.mnemonic = "AtomicExchange",
       .category = Category::control,
       .sync = Sync::block | Sync::acquire | Sync::release,
       .result = ResultKind::scalar,
       .summary = "Stores a scalar to an element of global memory, once for the block, and gives "
                  "what was there before.",
       .detail = "The rules of `AtomicAdd` hold. It gives back a lock that `AtomicCompareExchange` "
                 "took: blocks that take the lock later see what this block did before."},
      slot("view", &AtomicExchange::view, "the view that holds the element", Access::update,
           Proxy::generic),
      slot("value", &AtomicExchange::value, "the element's new value"),
      slot("offset", &AtomicExchange::offset, "the element's index; zero if left out"));
  friend bool operator==(const AtomicExchange&, const AtomicExchange&) = default;
};

struct AtomicCompareExchange {
  GlobalOperand view;
  ScalarOperand compare;
  ScalarOperand value;
  std::optional<OffsetList> offset;

  static constexpr auto schema = define<AtomicCompareExchange>(
      {.mnemonic = "AtomicCompareExchange",
       .category = Category::control,
       .sync = Sync::block | Sync::acquire | Sync::release,
       .result = ResultKind::scalar,
       .summary = "Stores a scalar to an element of global memory if the element has a value, once "
                  "for the block, and gives what was there before.",
       .detail =
           "The rules of `AtomicAdd` hold, also where the element has another value and is left "
           "alone. A loop until `AtomicCompareExchange(locks, 0, 1)` finds 0 takes a lock, which a "
           "block gives back by `AtomicExchange(locks, 0)`."},
      slot("view", &AtomicCompareExchange::view, "the view that holds the element", Access::update,
           Proxy::generic),
      slot("compare", &AtomicCompareExchange::compare, "the value that the element must have"),
      slot("value", &AtomicCompareExchange::value, "the element's new value"),
      slot("offset", &AtomicCompareExchange::offset, "the element's index; zero if left out"));
  friend bool operator==(const AtomicCompareExchange&, const AtomicCompareExchange&) = default;
};

struct Exit {
  static constexpr auto schema =
      define<Exit>({.mnemonic = "Exit",
                    .category = Category::control,
                    .sync = Sync::none,
                    .summary = "Ends the block.",
                    .detail = "May stand in loops and branches. Copies in flight are given up."});
  friend bool operator==(const Exit&, const Exit&) = default;
};

/// Its instructions, in the order of the reference.
using ControlInstructions =
    InstructionList<Synchronize, LockSemaphore, ReleaseSemaphore, AtomicAdd, AtomicCombine,
                    AtomicExchange, AtomicCompareExchange, Exit>;

}  // namespace tilevm::isa
