// Reduce and Scan of the naive interpreter: by the words of docs/reference/tiles.md, thread by
// thread, without the plan that the other engines share.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/layout/register_layout.h"
#include "isa/type/reduce_op.h"
#include "vm/naive/naive_tile.h"

namespace tilevm::vm::naive {

/// An element, and for argmax and argmin its number along the dimensions.
struct NaiveValue {
  std::uint64_t code = 0, number = 0;
};

/// The elements of the result, which has this layout, in row-major order.
[[nodiscard]] std::vector<NaiveValue> reduce_tile(const NaiveTile& source, isa::ReduceOp op,
                                                  const std::vector<int>& dims,
                                                  const isa::RegisterLayout& result);

/// The elements of a Scan, in row-major order.
[[nodiscard]] std::vector<std::uint64_t> scan_tile(const NaiveTile& source, isa::ReduceOp op,
                                                   int dim, bool exclusive);

/// The formulas of a Reduce's results, whose codes are given: sums and products of residues, and of
/// a maximum or minimum the residue of the first element that has its code.
[[nodiscard]] std::vector<Residue> reduce_residues(const NaiveTile& source, isa::ReduceOp op,
                                                   const std::vector<int>& dims,
                                                   const isa::RegisterType& result,
                                                   const std::vector<NaiveValue>& values,
                                                   const ElementArithmetic& arithmetic);

/// The formulas of a Scan's results, whose codes are given.
[[nodiscard]] std::vector<Residue> scan_residues(const NaiveTile& source, isa::ReduceOp op, int dim,
                                                 bool exclusive,
                                                 const std::vector<std::uint64_t>& codes,
                                                 const ElementArithmetic& arithmetic);

}  // namespace tilevm::vm::naive
