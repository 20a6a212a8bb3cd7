// A second simulator, written to be obviously right: one element at a time, blocks one after the
// other, copies at once.
//
// It shares only `isa` with the simulator: types, the arithmetic of one element, layouts, and which
// instructions a Dot becomes. It finds no faults: what it is given must run without one. Blocks run
// to their end in ascending order, so a block may wait for earlier blocks only.
#pragma once

#include <memory>

#include "vm/run/engine.h"

namespace tilevm::vm::naive {

[[nodiscard]] std::unique_ptr<Engine> make_naive_engine();

}  // namespace tilevm::vm::naive
