// Tensors on the host: what a program reads and writes, as dense bits.
//
// Data is a little-endian bit stream (isa/type/bits.h): element k in row-major order occupies bits
// [k * n, (k + 1) * n). Bits after the last element are zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/layout/register_layout.h"
#include "isa/type/dtype.h"

namespace tilevm::vm {

/// The largest tensor that is made, in bytes of data: what a std::size_t counts the bits of, and at
/// most 4 GiB.
inline constexpr std::uint64_t max_tensor_bytes = std::min(
    std::uint64_t{1} << 32, std::uint64_t{std::numeric_limits<std::size_t>::max() >> 4} + 1);

struct HostTensor {
  isa::DType dtype;
  isa::Shape shape;  ///< extents; empty for a single value
  std::vector<std::uint8_t> data;

  /// Elements, the product of the extents.
  [[nodiscard]] std::size_t size() const;
  /// The bits of element k (row-major), k < size().
  [[nodiscard]] std::uint64_t code(std::size_t k) const;
  /// Writes the low dtype.bits bits of `bits` as element k.
  void set_code(std::size_t k, std::uint64_t bits);

  friend bool operator==(const HostTensor&, const HostTensor&) = default;
};

/// Elements of a shape; nothing if an extent is negative or the product does not fit 63 bits.
[[nodiscard]] std::optional<std::uint64_t> checked_count(const isa::Shape& shape);

/// A tensor of zero bits. Error of kind `limit` if it is larger than max_tensor_bytes or memory
/// runs out, of kind `program` if an extent is negative; `name` is for the message.
[[nodiscard]] Result<HostTensor> make_tensor(const isa::DType& dtype, const isa::Shape& shape,
                                             std::string_view name);

/// The index of element k of a shape as "[3, 7]".
[[nodiscard]] std::string format_index(const isa::Shape& shape, std::size_t k);

/// A type with its extents as specifications write it: "f16[64, 64]".
[[nodiscard]] std::string format_type(const isa::DType& dtype, const isa::Shape& shape);

/// The top left corner as aligned text, one line a row, each ended by a line break: at most `rows`
/// rows and `cols` columns of the last two dimensions, all earlier indices 0; `...` is shown for
/// what is left out. A vector is one row.
[[nodiscard]] std::string format_corner(const HostTensor& tensor, std::size_t rows = 4,
                                        std::size_t cols = 6);

}  // namespace tilevm::vm
