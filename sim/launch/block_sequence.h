// The order in which the blocks of a launch begin, as a permutation that takes no memory.
#pragma once

#include <cstdint>
#include <numeric>

#include "sim/api/sim.h"

namespace tilevm::sim {

/// Rank in the launch order -> linear index of the block.
class BlockSequence {
 public:
  BlockSequence(const BlockOrder& order, std::uint64_t blocks)
      : kind_(order.kind), blocks_(blocks) {
    if (kind_ != BlockOrder::Kind::random) return;
    // x -> factor * x + offset modulo the number of blocks: one to one, since they are coprime.
    std::uint64_t mixed = (order.seed + 1) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 29;
    offset_ = mixed % blocks;
    factor_ = (mixed * 0xbf58476d1ce4e5b9U >> 7) % blocks;
    while (std::gcd(factor_, blocks) != 1) factor_ = (factor_ + 1) % blocks;
  }

  [[nodiscard]] std::uint64_t operator[](std::uint64_t rank) const {
    switch (kind_) {
      case BlockOrder::Kind::ascending:
        return rank;
      case BlockOrder::Kind::descending:
        return blocks_ - 1 - rank;
      case BlockOrder::Kind::random:
        break;
    }
    const Wide sum = static_cast<Wide>(factor_) * rank + offset_;
    return static_cast<std::uint64_t>(sum % blocks_);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  BlockOrder::Kind kind_;
  std::uint64_t blocks_, factor_ = 1, offset_ = 0;
};

}  // namespace tilevm::sim
