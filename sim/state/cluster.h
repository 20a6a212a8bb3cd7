// The blocks of a cluster in one state: which one is the current block.
//
// A cluster runs as a block that has several shared memories. Its groups of warps are those of all
// blocks, block after block, and so are its threads and the stages of its barriers. What each block
// has for itself is exchanged when another one becomes the current block.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/state/state.h"

namespace tilevm::sim {

/// Makes the block of a rank the current one.
inline void enter_block(std::uint32_t rank, BlockState& state) {
  if (rank == state.rank) return;
  std::swap(static_cast<OwnState&>(state), state.others[state.rank]);
  std::swap(static_cast<OwnState&>(state), state.others[rank]);
  state.rank = rank;
}

/// Another block is the current one for a while: an access to its shared memory.
class BlockVisit {
 public:
  BlockVisit(std::uint32_t rank, BlockState& state) : state_(state), home_(state.rank) {
    enter_block(rank, state);
  }
  BlockVisit(const BlockVisit&) = delete;
  BlockVisit& operator=(const BlockVisit&) = delete;
  ~BlockVisit() { enter_block(home_, state_); }

 private:
  BlockState& state_;
  std::uint32_t home_;
};

/// Calls f() with each block as the current one, in the order of their ranks.
template <class F>
void for_each_member(BlockState& state, F&& f) {
  if (state.others.empty()) return f();
  const std::uint32_t home = state.rank;
  for (std::uint32_t rank = 0; rank < state.others.size(); ++rank) {
    enter_block(rank, state);
    f();
  }
  enter_block(home, state);
}

}  // namespace tilevm::sim
