// Races for shared memory between the threads of a block.
#pragma once

#include "isa/base/check.h"
#include "sim/access/shared_access.h"

namespace tilevm::sim {

/// What is done to a tile of shared memory; a copy writes it from threads that nobody knows.
enum class SharedUse : std::uint8_t { read, write, copy };
[[nodiscard]] constexpr bool writes(SharedUse use) {
  switch (use) {
    case SharedUse::read:
      return false;
    case SharedUse::write:
    case SharedUse::copy:
      return true;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Whether the tile races with what a set holds. If not, it is added; a copy is not, since it is in
/// flight. Runs found before may be gone.
[[nodiscard]] bool conflicts_with_history(SharedHistory& set, const SharedAccess& access,
                                          const Coordinates& origin, SharedUse use,
                                          Context& context);

/// Whether a tile may be used now as far as other threads go; takes note of it. False after a
/// fault.
[[nodiscard]] bool check_race(const SharedAccess& access, const Coordinates& origin, SharedUse use,
                              Context& context);

/// Says whose access a race is with, and what to do.
void explain_conflicting_access(const ConflictingAccess& other, std::uint32_t statement,
                                Context& context);

/// Forgets who touched what: all threads have met.
void forget_history(SharedHistory& set);

}  // namespace tilevm::sim
