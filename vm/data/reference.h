// A matrix product in double precision on the host: what a result is measured against.
#pragma once

#include <cstddef>

#include "isa/base/result.h"
#include "vm/data/tensor.h"

namespace tilevm::vm {

/// How far a rounded product C of A [m, k] and B [k, n] is from the exact one.
struct ProductError {
  std::size_t elements = 0;
  std::size_t within = 0;    ///< elements inside the bound of rounding, see below
  std::size_t nearest = 0;   ///< elements that are the exact product rounded once
  double largest_error = 0;  ///< |c - exact|
  double largest_value = 0;  ///< |exact|
};

/// Compares `c` with the product in double precision. The bound of an element: one rounding to C's
/// type, and k roundings of the sum of magnitudes to f32 (truncation counted as rounding): 2^-p
/// |exact| + k 2^-23 sum |a b|, p the precision of C's type; at least its smallest subnormal.
/// Tensors of rank 2 whose extents fit, C a float of at most 32 bits.
[[nodiscard]] ProductError compare_product(const HostTensor& a, const HostTensor& b,
                                           const HostTensor& c);

}  // namespace tilevm::vm
