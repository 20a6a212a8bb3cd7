// The prelude of emulated kernels as part of a test, so that its functions and the portable part of
// emitted programs are compared with isa's arithmetic. One thread calls, which has all memory.
#pragma once

#include "backend/emu/approximations.h"
#include "backend/emu/lane.h"

namespace tilevm::backend {

/// How often the prelude found a fault of the program.
inline int trap_count = 0;

/// The thread that a test is: alone in its block, so that barriers have nobody to wait for.
inline emu::Lane* test_lane() {
  static unsigned long long for_block = 0;
  static constexpr emu::Operations operations = [] {
    emu::Operations made{};
    made.trap = [](emu::Lane*) { ++trap_count; };
    made.check = [](emu::Lane*, const void*, unsigned, bool) {};
    made.synchronize = [](emu::Lane*, unsigned) {};
    made.approximation = find_approximation;
    return made;
  }();
  static emu::Lane lane = [] {
    emu::Lane made{};
    made.operations = &operations;
    for (unsigned& extent : made.grid) extent = 1;
    made.global = {nullptr, ~0ULL};
    made.for_block = &for_block;
    return made;
  }();
  return &lane;
}

/// Calls that follow come from this block.
inline void set_test_block(unsigned block) { test_lane()->index[0] = block; }

}  // namespace tilevm::backend

#define TV_LANE tilevm::backend::test_lane()

// In the order of the emitted text.
// clang-format off
#include "backend/prelude/emulated.cuh"
#include "backend/prelude/memory.cuh"
#include "backend/prelude/element.cuh"
#include "backend/prelude/arithmetic.cuh"
#include "isa/type/function_sequences.h"
#include "backend/prelude/function.cuh"
#include "backend/prelude/dot.cuh"
#include "backend/prelude/scalar.cuh"
#include "backend/prelude/reduce.cuh"
#include "backend/prelude/lookup.cuh"
#include "backend/prelude/print.cuh"
// clang-format on
