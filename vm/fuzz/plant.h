// Planted faults: statements that are right, and the same with one mistake, in the middle of a
// random program. The simulator must report the mistake, at its statement, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vm/fuzz/fuzz_case.h"
#include "vm/fuzz/kernel_builder.h"

namespace tilevm::vm::fuzz {

enum class Planted : std::uint8_t {
  no_barrier,             ///< a shared tensor is read without the Synchronize after its store
  no_wait,                ///< a copy is read without the CopyAsyncWaitGroup
  no_barrier_after_wait,  ///< .. without the Synchronize after it
  shared_offset,          ///< a load begins beyond the last place inside of a shared tensor
  undefined_tile,         ///< a tile without `init` is stored
  undefined_shared,       ///< a shared tensor is read before it is written, and the result stored
  blocks_race,            ///< all blocks store to one part of a workspace
  zero_divisor,           ///< elements are divided by zero
  zero_scalar,            ///< a scalar is divided by zero
  replicas,               ///< a View claims that different elements are replicas
  deadlock,               ///< a block waits for a value that no block stores
  unordered_places,       ///< a pair of places of a sparse product does not ascend
  assertion,              ///< an Assert of which one element does not hold
  no_barrier_after_add,   ///< a shared tensor is read without one after elements were added to it
};
[[nodiscard]] constexpr std::string_view to_string(Planted planted) {
  switch (planted) {
    case Planted::no_barrier:
      return "no barrier";
    case Planted::no_wait:
      return "no wait";
    case Planted::no_barrier_after_wait:
      return "no barrier after the wait";
    case Planted::shared_offset:
      return "offset outside";
    case Planted::undefined_tile:
      return "undefined tile";
    case Planted::undefined_shared:
      return "undefined shared tensor";
    case Planted::blocks_race:
      return "blocks race";
    case Planted::zero_divisor:
      return "zero divisor";
    case Planted::zero_scalar:
      return "zero scalar";
    case Planted::replicas:
      return "replicas differ";
    case Planted::deadlock:
      return "deadlock";
    case Planted::unordered_places:
      return "unordered places";
    case Planted::assertion:
      return "assertion";
    case Planted::no_barrier_after_add:
      return "no barrier after additions";
  }
  return "";
}

/// Adds the statements, with their mistake or without. Nothing where it cannot stand (threads or
/// blocks that race must be two). Both forms make the same random choices.
[[nodiscard]] std::optional<ExpectedReport> plant(KernelBuilder& builder, Planted planted,
                                                  bool faulty);

}  // namespace tilevm::vm::fuzz
