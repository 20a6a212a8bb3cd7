// Random numbers of a block that asks for them (Completion::Time::random).
#pragma once

#include <cstdint>

#include "sim/state/context.h"

namespace tilevm::sim {

/// A number that depends only on the seed, the block and the number of earlier draws.
inline std::uint64_t next_random(Context& context) {
  std::uint64_t x = context.settings.completion.seed + 0x9e3779b97f4a7c15U * ++context.state.draws +
                    0xbf58476d1ce4e5b9U * (context.state.order + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace tilevm::sim
