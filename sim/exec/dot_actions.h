// The kinds of Dot (isa/dot/dot.h, DotMethod and MmaMethod); exec_dot.cc chooses among them.
#pragma once

#include "isa/dot/dot.h"
#include "isa/numeric/mma_rules.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {

/// Tensor-core instructions that work in blocks.
[[nodiscard]] Action prepare_block_dot(const isa::Dot& inst, const isa::DotPlan& plan,
                                       const isa::MmaRule& rule, const Preparation& preparation);

/// Integers of at most 8 bits, bipolar ones among them. Exact, so that the plan does not matter.
[[nodiscard]] Action prepare_integer_dot(const isa::Dot& inst, const Preparation& preparation);

/// Chains of multiply-adds, which f64 instructions are too.
[[nodiscard]] Action prepare_chain_dot(const isa::Dot& inst, const Preparation& preparation);

/// The operands of a Dot, and its extents: `batch` products of m x k by k x n.
struct DotOperands {
  DotOperands(const isa::Dot& inst, const Preparation& preparation);

  Tile a, b, c, result;
  std::size_t batch, m, n, k;
};

}  // namespace tilevm::sim
