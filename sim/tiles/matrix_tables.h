// Which places of a register tile hold which elements of its matrices, in the order that a
// tensor-core kernel wants them. The tile has rank 3: [batch, row, column] (isa::as_batch).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/dot/dot_tiling.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// The order of matrices cut into tiles of rows x columns. The position of element (y, x) of matrix
/// i is the sum of the shares of its matrix, its tile and the element in the tile,
/// i * matrix + (y / rows) * row_tile + (y % rows) * row + ... .
struct MatrixOrder {
  std::size_t matrix;
  std::size_t rows, columns;
  std::size_t row_tile, row, column_tile, column;

  [[nodiscard]] std::size_t position(std::size_t i, std::size_t y, std::size_t x) const {
    return i * matrix + y / rows * row_tile + y % rows * row + x / columns * column_tile +
           x % columns * column;
  }
  friend auto operator<=>(const MatrixOrder&, const MatrixOrder&) = default;
};

/// By position: the first bit of the element in the tile, in the first thread that owns it.
[[nodiscard]] std::vector<std::uint32_t> find_owners(const LayoutParts& parts, const Tile& tile,
                                                     const MatrixOrder& order);

/// By thread and place, replicas included: the position of the element held there.
[[nodiscard]] std::vector<std::uint32_t> find_positions(const LayoutParts& parts,
                                                        const MatrixOrder& order);

}  // namespace tilevm::sim
