// Comparing tensors bit for bit, and saying how far apart they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "vm/data/tensor.h"

namespace tilevm::vm {

/// The code of an element without the bits that mean nothing (the low 13 of a tf32).
[[nodiscard]] std::uint64_t significant_code(const HostTensor& tensor, std::size_t k);

/// The number of representable values from one code to the other: floats by their order on the
/// number line (+0 and -0 are neighbours), integers by their difference. NaN is infinitely far from
/// everything but a NaN of the same bits.
inline constexpr std::uint64_t infinitely_far = std::numeric_limits<std::uint64_t>::max();
[[nodiscard]] std::uint64_t distance(const isa::DType& type, std::uint64_t a, std::uint64_t b);

/// An element that differs.
struct Difference {
  std::size_t index = 0;
  std::uint64_t a = 0, b = 0;
  std::uint64_t ulps = 0;
};

struct Comparison {
  std::size_t elements = 0;
  std::size_t different = 0;
  std::optional<Difference> first;
  std::optional<Difference> worst;  ///< the earliest of the largest distance
};

/// Compares two tensors of one type and shape.
[[nodiscard]] Comparison compare(const HostTensor& a, const HostTensor& b);

/// |a - b| / |b| in the Frobenius norm, in double; tensors of one shape, of any types. 0 where all
/// is equal, infinite where b is zero and a is not; NaN where a number is missing.
[[nodiscard]] double relative_error(const HostTensor& a, const HostTensor& b);

/// "[3, 7]: 0x3c00 (1) against 0x3c01 (1.001), 1 ulp".
[[nodiscard]] std::string format_difference(const HostTensor& tensor, const Difference& difference);

/// Smallest and largest number of a tensor; NaN does not count. Nothing if there is no number.
struct Range {
  std::size_t lowest = 0, highest = 0;  ///< first indices of the least and the greatest
};
/// The range of a tensor, and how many elements are not ordinary numbers.
struct Summary {
  std::optional<Range> range;
  std::size_t nan = 0, inf = 0;
};
[[nodiscard]] Summary summarize(const HostTensor& tensor);

}  // namespace tilevm::vm
