#include "vm/data/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <new>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

/// The part of a tensor that is printed: a matrix, and whether rows or columns are left out.
struct Corner {
  std::size_t rows = 1, cols = 1, stride = 1;
  bool more_rows = false, more_cols = false;
};

Corner corner_of(const isa::Shape& shape, std::size_t max_rows, std::size_t max_cols) {
  Corner corner;
  const std::size_t rank = shape.size();
  if (rank >= 1) corner.cols = corner.stride = static_cast<std::size_t>(shape[rank - 1]);
  if (rank >= 2) corner.rows = static_cast<std::size_t>(shape[rank - 2]);
  max_rows = std::max<std::size_t>(max_rows, 1);
  max_cols = std::max<std::size_t>(max_cols, 1);
  corner.more_rows = corner.rows > max_rows;
  corner.more_cols = corner.cols > max_cols;
  corner.rows = std::min(corner.rows, max_rows);
  corner.cols = std::min(corner.cols, max_cols);
  return corner;
}

}  // namespace

std::size_t HostTensor::size() const {
  const std::optional<std::uint64_t> count = checked_count(shape);
  TILEVM_CHECK(count.has_value(), "a tensor whose shape has no size");
  return static_cast<std::size_t>(*count);
}

std::uint64_t HostTensor::code(std::size_t k) const {
  return isa::get_bits(data.data(), k * dtype.bits, dtype.bits);
}

void HostTensor::set_code(std::size_t k, std::uint64_t bits) {
  isa::put_bits(data.data(), k * dtype.bits, dtype.bits, bits);
}

std::optional<std::uint64_t> checked_count(const isa::Shape& shape) {
  // A zero anywhere makes the product zero, however large the rest is.
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; })) return {};
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) {
    const auto n = static_cast<std::uint64_t>(extent);
    if (count > std::numeric_limits<std::int64_t>::max() / n) return {};
    count *= n;
  }
  return count;
}

Result<HostTensor> make_tensor(const isa::DType& dtype, const isa::Shape& shape,
                               std::string_view name) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; })) {
    return data_error(Code::wrong_data_shape, fmt::format("`{}` has a negative extent: {}", name,
                                                          format_type(dtype, shape)));
  }
  const std::optional<std::uint64_t> count = checked_count(shape);
  const auto too_large = [&] {
    return Error{ErrorKind::limit,
                 fmt::format("`{}` is too large: {} takes more than {} MiB of "
                             "memory, or more than this machine has",
                             name, format_type(dtype, shape), max_tensor_bytes >> 20)};
  };
  if (!count || *count > max_tensor_bytes * 8 / dtype.bits) return too_large();
  try {
    const auto bits = static_cast<std::size_t>(*count * dtype.bits);
    return HostTensor{dtype, shape, std::vector<std::uint8_t>(isa::bytes_for_bits(bits))};
  } catch (const std::bad_alloc&) {
    return too_large();
  }
}

std::string format_index(const isa::Shape& shape, std::size_t k) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto extent = static_cast<std::size_t>(std::max<std::int64_t>(shape[i], 1));
    index[i] = k % extent;
    k /= extent;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string format_type(const isa::DType& dtype, const isa::Shape& shape) {
  return fmt::format("{}[{}]", isa::to_string(dtype), fmt::join(shape, ", "));
}

std::string format_corner(const HostTensor& tensor, std::size_t rows, std::size_t cols) {
  if (tensor.size() == 0) return "(empty)\n";
  const Corner corner = corner_of(tensor.shape, rows, cols);
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < corner.rows * corner.cols; ++i) {
    const std::size_t k = i / corner.cols * corner.stride + i % corner.cols;
    cells.push_back(isa::format_value(tensor.dtype, tensor.code(k)));
  }
  std::size_t width = 0;
  for (const std::string& cell : cells) width = std::max(width, cell.size());
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool last = (i + 1) % corner.cols == 0;
    text += fmt::format("{:>{}}{}", cells[i], width, last ? "" : "  ");
    if (last) text += corner.more_cols ? "  ...\n" : "\n";
  }
  if (corner.more_rows) text += fmt::format("{:>{}}\n", "...", std::max<std::size_t>(width, 3));
  return text;
}

}  // namespace tilevm::vm
