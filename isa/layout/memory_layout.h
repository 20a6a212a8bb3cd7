// Memory layouts of shared and global tensors: logical index -> offset in elements.
//
// A dimension is split into modes as in a register layout; each mode has a stride in elements, 0
// allowed (broadcast): offset = sum digit * stride. An optional swizzle then XORs high bits of the
// offset into low ones, which spreads rows over shared-memory banks:
//   o ^ ((o & (((1 << bits) - 1) << (base + shift))) >> shift)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isa/layout/register_layout.h"

namespace tilevm::isa {

struct Swizzle {
  int base = 0, bits = 0, shift = 0;
  [[nodiscard]] std::int64_t apply(std::int64_t offset) const;
  friend bool operator==(const Swizzle&, const Swizzle&) = default;
};

/// Always canonical: no mode of size 1, neighbours of one dimension merged where stride_i ==
/// stride_j * size_j, a swizzle of 0 bits dropped; so two layouts without swizzle are equal if and
/// only if they have the same shape and the same offsets.
class MemoryLayout {
 public:
  MemoryLayout() = default;

  /// Bounds: rank as for registers; elements and offsets at most 2^48.
  static constexpr std::int64_t max_size = std::int64_t{1} << 48;

  /// Checks: sizes positive, modes factor the shape, strides not negative, swizzle fields in 0..30,
  /// shift >= bits where bits > 0 (otherwise the swizzle would change its source bits), base +
  /// shift
  /// + bits <= 48, offsets and element count below 2^48.
  static Result<MemoryLayout> make(Shape shape, const std::vector<std::int64_t>& mode_shape,
                                   const std::vector<std::int64_t>& mode_strides,
                                   std::optional<Swizzle> swizzle = {});

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const std::vector<std::int64_t>& mode_shape() const { return mode_shape_; }
  [[nodiscard]] const std::vector<std::int64_t>& mode_strides() const { return mode_strides_; }
  [[nodiscard]] const std::optional<Swizzle>& swizzle() const { return swizzle_; }
  [[nodiscard]] int rank() const { return static_cast<int>(shape_.size()); }

  /// Offset in elements of a logical index.
  [[nodiscard]] std::int64_t offset(const Index& index) const;
  /// Elements of storage: one more than the largest offset. A swizzle that acts on these offsets
  /// permutes aligned blocks of 2^(base + bits) elements, so it rounds the size up to whole blocks.
  [[nodiscard]] std::int64_t storage_size() const;

  friend bool operator==(const MemoryLayout&, const MemoryLayout&) = default;

 private:
  Shape shape_;
  std::vector<std::int64_t> mode_shape_, mode_strides_;
  std::optional<Swizzle> swizzle_;
};

[[nodiscard]] Result<MemoryLayout> row_major(const Shape& shape);
[[nodiscard]] Result<MemoryLayout> column_major(const Shape& shape);
/// One stride per dimension.
[[nodiscard]] Result<MemoryLayout> strided(const Shape& shape,
                                           const std::vector<std::int64_t>& strides);
/// The layout with another swizzle.
[[nodiscard]] Result<MemoryLayout> swizzled(const MemoryLayout& layout, Swizzle swizzle);
/// Outer strides times the inner storage; the smaller rank is padded with leading ones. An inner
/// swizzle is kept. The inner storage must then be a multiple of 2^(base + shift + bits), so that
/// the outer offset does not reach the bits that the swizzle reads. An outer swizzle is an error.
/// Law: offset(outer_i * inner_shape + inner_i) == outer.offset(outer_i) * inner.storage_size() +
/// inner.offset(inner_i).
[[nodiscard]] Result<MemoryLayout> compose(const MemoryLayout& outer, const MemoryLayout& inner);
/// New dimension j is old dimension dims[j]. Law: offset'(x) == offset(y) with y[dims[j]] == x[j].
[[nodiscard]] Result<MemoryLayout> permute(const MemoryLayout& layout,
                                           const std::vector<int>& dims);
/// Row-major re-view. Law: the element with row-major linear index x keeps its offset.
[[nodiscard]] Result<MemoryLayout> reshape(const MemoryLayout& layout, const Shape& shape);

/// "row_major(16, 8)", "column_major(16, 8)", "strides([1, 16])" (one a dimension; the shape is
/// in the tensor's type), "memory_layout([shape], [mode shape], [mode strides])", followed by
/// ".swizzle(base, bits, shift)" if there is one.
[[nodiscard]] std::string to_string(const MemoryLayout& layout);

}  // namespace tilevm::isa

template <>
struct std::hash<tilevm::isa::MemoryLayout> {
  std::size_t operator()(const tilevm::isa::MemoryLayout& layout) const noexcept;
};
