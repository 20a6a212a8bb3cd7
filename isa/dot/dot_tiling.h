// How the layout of a Dot's operand is made of an instruction's fragments.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/dot/dot_plan.h"
#include "isa/inst/tensor_type.h"

namespace tilevm::isa {

/// The matrix of the batch, and its tile coordinates in units of a fragment's extents.
struct FragmentTile {
  std::int64_t batch = 0, row = 0, column = 0;

  friend auto operator<=>(const FragmentTile&, const FragmentTile&) = default;
};

/// The layout of a batch of matrices, with all leading dimensions in one: [batch, rows, columns].
/// A layout of rank 2 becomes a batch of one. The elements stay where they are.
[[nodiscard]] RegisterLayout as_batch(const RegisterLayout& layout);

/// The type with rows and columns exchanged: [batch, columns, rows].
[[nodiscard]] RegisterType transposed_batch(const RegisterType& type);

/// The operands of a Dot with layouts of rank 3 (as_batch).
struct BatchOperands {
  BatchOperands(const RegisterType& a, const RegisterType& b, const RegisterType& c);

  RegisterType a, b, c;
  [[nodiscard]] std::int64_t m() const { return c.shape()[1]; }
  [[nodiscard]] std::int64_t n() const { return c.shape()[2]; }
  [[nodiscard]] std::int64_t k() const { return b.shape()[1]; }
};

/// For every fragment in a thread its places and its tile coordinates, and for every warp the
/// coordinates at which its fragments begin. A fragment's coordinates in a warp are the sums.
struct Tiling {
  std::vector<Fragment> fragments;
  std::vector<FragmentTile> local_tiles;
  std::vector<FragmentTile> warp_tiles;
};

/// Nothing if the layout, of rank 3, is not made of fragments.
[[nodiscard]] std::optional<Tiling> tile_by(const RegisterLayout& layout,
                                            const RegisterLayout& fragment);

/// Whether a shape's extents divide the product's, and all tiles have as many threads.
[[nodiscard]] bool fits_shape(const MmaShape& shape, const BatchOperands& operands);

}  // namespace tilevm::isa
