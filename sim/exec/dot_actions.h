// The kinds of Dot (isa/dot/dot.h, DotMethod and MmaMethod); exec_dot.cc chooses among them.
#pragma once

#include "isa/dot/dot.h"
#include "isa/inst/product.h"
#include "isa/numeric/mma_rules.h"
#include "sim/access/product_plan.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {

/// Tensor-core instructions that work in blocks, dense or sparse.
[[nodiscard]] Action prepare_block_dot(const isa::ProductOperands& product,
                                       const isa::DotPlan& plan, const isa::MmaRule& rule,
                                       const Preparation& preparation);

/// Integers of at most 8 bits, bipolar ones among them, dense or sparse. Exact, so that the plan
/// does not matter.
[[nodiscard]] Action prepare_integer_dot(const isa::ProductOperands& product,
                                         const Preparation& preparation);

/// Chains of multiply-adds, which f64 instructions are too.
[[nodiscard]] Action prepare_chain_dot(const isa::Dot& inst, const Preparation& preparation);

/// Sparse tensor-core instructions (exec_dot_sparse.cc): the places of the stored elements, whose
/// codes are in Scratch::codes_places. False after a fault, if a pair does not ascend.
class SparsePlaces {
 public:
  /// In the order in which the stored elements are gathered, rows next to one another.
  SparsePlaces(isa::VarId metadata, const MatrixOrder& order, const Preparation& preparation);
  [[nodiscard]] bool gather(Context& context) const;

 private:
  [[nodiscard]] bool report(Context& context) const;

  Tile tile_;
  isa::RegisterLayout layout_;  // of rank 3
  isa::Shape shape_;            // of the tile
  SharedTables::Table owners_;
  std::size_t rows_;
  std::string_view mnemonic_;
  std::string name_;
  Span span_;
};

/// The tiles of an asynchronous product; those from shared memory are held by one thread.
struct AsyncTiles {
  Tile a, b, c, result;
  isa::RegisterType a_type, b_type, c_type;
};

/// Which operands are negated.
struct Negation {
  bool a = false, b = false;
};

/// The instructions of warp groups, on floats and on integers.
[[nodiscard]] ProductAction async_block_dot(const AsyncTiles& tiles, const isa::MmaShape& shape,
                                            const isa::MmaRule& rule, const Negation& negation,
                                            SharedTables& tables);
[[nodiscard]] ProductAction async_integer_dot(const AsyncTiles& tiles, SharedTables& tables);

/// The operands of a product, and its extents: `batch` products of m x k by k x n.
struct DotOperands {
  DotOperands(const isa::ProductOperands& product, const Preparation& preparation);
  explicit DotOperands(const AsyncTiles& tiles);

  Tile a, b, c, result;
  std::size_t batch, m, n, k;
};

}  // namespace tilevm::sim
