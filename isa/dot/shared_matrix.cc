#include "isa/dot/shared_matrix.h"

#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "isa/base/check.h"

namespace tilevm::isa {
namespace {

constexpr std::int64_t unit = 16, rows_of_atom = 8;

/// The layout of a tensor without its swizzle.
MemoryLayout unswizzled(const MemoryLayout& layout) {
  const auto plain = MemoryLayout::make(layout.shape(), layout.mode_shape(), layout.mode_strides());
  TILEVM_CHECK(plain.ok(), "a layout without its swizzle");
  return *plain;
}

/// S of a swizzle that descriptors have, 0 if there is none.
std::optional<std::int64_t> swizzle_bytes(const SharedType& type) {
  const auto& swizzle = type.layout.swizzle();
  if (!swizzle) return 0;
  const int element = std::countr_zero(static_cast<unsigned>(type.dtype.bits / 8));
  if (swizzle->base + element != 4 || swizzle->shift != 3) return std::nullopt;
  if (swizzle->bits < 1 || swizzle->bits > 3) return std::nullopt;
  return unit << swizzle->bits;
}

/// One way in which a descriptor may lay out a matrix of elements of `es` bytes.
struct Form {
  bool mn_major;
  std::int64_t swizzle, es;
  std::int64_t leading = 0, stride = 0;

  /// The rows, or elements along k, after which `leading` and `stride` count.
  [[nodiscard]] std::int64_t row_period() const {
    if (!mn_major) return rows_of_atom;
    return (swizzle == 0 ? unit : swizzle) / es;
  }
  [[nodiscard]] std::int64_t k_period() const { return mn_major ? rows_of_atom : unit / es; }
  /// Whether `stride` counts rows; `leading` counts the other dimension.
  [[nodiscard]] bool stride_of_rows() const { return !mn_major || swizzle == 0; }

  [[nodiscard]] std::int64_t byte(std::int64_t row, std::int64_t k) const {
    const std::int64_t r = row_period(), d = k_period(), pitch = swizzle == 0 ? unit : swizzle;
    if (!mn_major && swizzle > 0) return row / r * stride + row % r * pitch + k * es;
    if (!mn_major) return row / r * stride + row % r * pitch + k / d * leading + k % d * es;
    if (swizzle == 0) return row / r * stride + row % r * es + k / d * leading + k % d * pitch;
    return row / r * leading + row % r * es + k / d * stride + k % d * pitch;
  }
};

/// A matrix in its tensor: the byte of an element, before the swizzle.
class MatrixBytes {
 public:
  MatrixBytes(const SharedPart& part, const MatrixDims& dims, bool k_first)
      : layout_(unswizzled(part.type.layout)),
        es_(part.type.dtype.bits / 8),
        row_dim_(k_first ? dims.second : dims.first),
        k_dim_(k_first ? dims.first : dims.second),
        at_(static_cast<std::size_t>(layout_.rank()), 0) {}

  [[nodiscard]] std::int64_t byte(std::int64_t row, std::int64_t k) {
    at_[row_dim_] = row;
    at_[k_dim_] = k;
    return layout_.offset(at_) * es_;
  }
  /// Fixes an index along a dimension that is none of the matrix.
  void fix(std::size_t dim, std::int64_t index) { at_[dim] = index; }

 private:
  MemoryLayout layout_;
  std::int64_t es_;
  std::size_t row_dim_, k_dim_;
  Index at_;
};

bool agrees(const Form& form, MatrixBytes& bytes, const MatrixFragments& fragments,
            const MatrixTile& tile) {
  const std::int64_t row = tile.row * fragments.rows, k = tile.k * fragments.depth;
  const std::int64_t first = bytes.byte(row, k);
  if (first % unit != 0) return false;
  for (std::int64_t r = 0; r < fragments.rows; ++r) {
    for (std::int64_t d = 0; d < fragments.depth; ++d) {
      if (bytes.byte(row + r, k + d) - first != form.byte(r, d)) return false;
    }
  }
  return true;
}

/// A field of a descriptor: 14 bits that count units of 16 bytes.
bool fits_field(std::int64_t bytes) {
  return bytes >= 0 && bytes % unit == 0 && bytes / unit < (1 << 14);
}

/// Measures the distances of a form on the first fragment; they must hold for all.
bool measure(Form& form, MatrixBytes& bytes, const MatrixFragments& fragments) {
  const std::int64_t first = bytes.byte(0, 0);
  const std::int64_t rows =
      fragments.rows > form.row_period() ? bytes.byte(form.row_period(), 0) - first : 0;
  const std::int64_t depth =
      fragments.depth > form.k_period() ? bytes.byte(0, form.k_period()) - first : 0;
  form.stride = form.stride_of_rows() ? rows : depth;
  form.leading = form.stride_of_rows() ? depth : rows;
  if (!form.mn_major && form.swizzle > 0) form.leading = 0;  // a descriptor does not use it
  return fits_field(form.stride) && fits_field(form.leading);
}

/// The starts of all fragments as a sum of the group's and the fragment's.
bool place(const Form& form, MatrixBytes& bytes, const MatrixFragments& fragments,
           SharedMatrix& plan) {
  const auto start = [&](const MatrixTile& tile) {
    return bytes.byte(tile.row * fragments.rows, tile.k * fragments.depth);
  };
  for (const MatrixTile& group : fragments.groups) plan.group_starts.push_back(start(group));
  for (const MatrixTile& tile : fragments.tiles) {
    const MatrixTile& group = fragments.groups.front();
    plan.starts.push_back(start({group.row + tile.row, group.k + tile.k}) -
                          plan.group_starts.front());
  }
  for (std::size_t g = 0; g < fragments.groups.size(); ++g) {
    bool seen = false;  // another group with the same fragments
    for (std::size_t before = 0; before < g; ++before) {
      seen = seen || (fragments.groups[before].row == fragments.groups[g].row &&
                      fragments.groups[before].k == fragments.groups[g].k);
    }
    if (seen) continue;
    for (std::size_t f = 0; f < fragments.tiles.size(); ++f) {
      const MatrixTile tile{fragments.groups[g].row + fragments.tiles[f].row,
                            fragments.groups[g].k + fragments.tiles[f].k};
      if (start(tile) != plan.group_starts[g] + plan.starts[f]) return false;
      if (!agrees(form, bytes, fragments, tile)) return false;
    }
  }
  return true;
}

/// What the indices of other dimensions add; false if one moves the matrix by what no multiple of
/// the swizzle's period is, or by no fixed stride.
bool place_indices(const SharedPart& part, const MatrixDims& dims, MatrixBytes& bytes,
                   SharedMatrix& plan, std::string& reason) {
  if (!part.offset) return true;
  const MemoryLayout layout = unswizzled(part.type.layout);
  const std::int64_t es = part.type.dtype.bits / 8;
  for (std::size_t d = 0; d < part.offset->entries.size(); ++d) {
    if (d == dims.first || d == dims.second) continue;
    const Expr& value = part.offset->entries[d].value;
    Index at(part.offset->entries.size(), 0);
    const std::int64_t extent = layout.shape()[d];
    std::int64_t stride = 0;
    for (std::int64_t i = 1; i < extent; ++i) {
      at[d] = i;
      const std::int64_t here = layout.offset(at) * es;
      if (i == 1) stride = here;
      if (here % plan.alignment() == 0 && (here == i * stride || value.is_constant())) continue;
      reason = fmt::format(
          "its matrices along dimension {} do not begin at multiples of {} bytes, equally far "
          "apart",
          d, plan.alignment());
      return false;
    }
    if (const auto constant = value.constant_int()) {
      if (*constant >= 0 && *constant < extent) bytes.fix(d, *constant);
    } else {
      plan.indices.push_back({value, stride});
    }
  }
  return true;
}

}  // namespace

std::uint64_t SharedMatrix::descriptor() const {
  const std::uint64_t mode = swizzle == 0 ? 0 : swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  return static_cast<std::uint64_t>(leading_bytes / unit) << 16 |
         static_cast<std::uint64_t>(stride_bytes / unit) << 32 | mode << 62;
}

std::optional<MatrixDims> matrix_dims(const SharedPart& part) {
  const auto rank = static_cast<std::size_t>(part.type.layout.rank());
  if (!part.offset) {
    if (rank < 2) return std::nullopt;
    return part.transposed ? MatrixDims{rank - 1, rank - 2} : MatrixDims{rank - 2, rank - 1};
  }
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < part.offset->entries.size(); ++d) {
    const OffsetList::Entry& entry = part.offset->entries[d];
    if (!entry.tile) continue;
    if (entry.value.constant_int() != std::int64_t{0}) return std::nullopt;
    dims.push_back(d);
  }
  if (dims.size() != 2) return std::nullopt;
  return part.transposed ? MatrixDims{dims[1], dims[0]} : MatrixDims{dims[0], dims[1]};
}

std::optional<Shape> matrix_shape(const SharedPart& part) {
  const auto dims = matrix_dims(part);
  if (!dims) return std::nullopt;
  const Shape& shape = part.type.shape();
  return Shape{shape[dims->first], shape[dims->second]};
}

std::optional<SharedMatrix> plan_shared_matrix(const SharedPart& part,
                                               const MatrixFragments& fragments,
                                               std::string& reason) {
  const auto dims = matrix_dims(part);
  TILEVM_CHECK(dims.has_value(), "a part that is a matrix");
  const auto swizzle = swizzle_bytes(part.type);
  if (!swizzle) {
    reason = fmt::format(
        "its swizzle is none of 32, 64 or 128 bytes, which exchange units of 16 bytes by the "
        "number "
        "of 128 bytes");
    return std::nullopt;
  }
  reason = fmt::format(
      "its elements are not in rows of {} bytes, eight of which follow one another, along k{}",
      *swizzle == 0 ? unit : *swizzle,
      fragments.may_be_mn_major ? fmt::format(" or along {}", fragments.k_first ? "n" : "m") : "");
  for (const bool mn_major : {false, true}) {
    if (mn_major && !fragments.may_be_mn_major) continue;
    Form form{mn_major, *swizzle, part.type.dtype.bits / 8};
    MatrixBytes bytes(part, *dims, fragments.k_first);
    SharedMatrix plan{mn_major, *swizzle};
    std::string misplaced;
    if (!measure(form, bytes, fragments)) continue;
    const bool placed = place_indices(part, *dims, bytes, plan, misplaced);
    if (!place(form, bytes, fragments, plan)) continue;
    if (!placed) {
      reason = misplaced;
      continue;
    }
    plan.leading_bytes = form.leading;
    plan.stride_bytes = form.stride;
    return plan;
  }
  return std::nullopt;
}

std::optional<std::string> suggest_shared_layout(const SharedPart& part, bool k_first) {
  const auto dims = matrix_dims(part);
  if (!dims) return std::nullopt;
  const Shape& shape = part.type.shape();
  const std::size_t row_dim = k_first ? dims->second : dims->first,
                    k_dim = k_first ? dims->first : dims->second;
  const std::int64_t es = part.type.dtype.bits / 8, k = shape[k_dim], rows = shape[row_dim];
  std::int64_t width = 128;
  while (width > 32 && k * es % width != 0) width /= 2;
  if (k * es % width != 0 || rows % rows_of_atom != 0) return std::nullopt;
  const std::int64_t block = width / es;
  std::vector<std::int64_t> mode_shape, mode_strides;
  std::int64_t matrix = rows * k;
  std::vector<std::int64_t> outer(shape.size(), 0);
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (d == row_dim || d == k_dim) continue;
    outer[d] = matrix;
    matrix *= shape[d];
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == row_dim) {
      mode_shape.push_back(rows);
      mode_strides.push_back(block);
    } else if (d == k_dim) {
      mode_shape.insert(mode_shape.end(), {k / block, block});
      mode_strides.insert(mode_strides.end(), {rows * block, 1});
    } else {
      mode_shape.push_back(shape[d]);
      mode_strides.push_back(outer[d]);
    }
  }
  const int element = std::countr_zero(static_cast<unsigned>(es));
  const Swizzle swizzle{4 - element, std::countr_zero(static_cast<unsigned>(width / unit)), 3};
  const auto layout = MemoryLayout::make(shape, mode_shape, mode_strides, swizzle);
  if (!layout) return std::nullopt;
  return to_string(*layout);
}

}  // namespace tilevm::isa
