// How the layout of a Dot's operand is made of an instruction's fragments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/dot.h"

namespace tilevm::isa {

/// Tile coordinates, in units of a fragment's extents.
using FragmentTile = std::array<std::int64_t, 2>;

/// For every fragment in a thread its places and its tile coordinates, and for every warp the
/// coordinates at which its fragments begin.
struct Tiling {
  std::vector<Fragment> fragments;
  std::vector<FragmentTile> local_tiles;
  std::vector<FragmentTile> warp_tiles;
};

/// Nothing if the layout is not made of fragments.
[[nodiscard]] std::optional<Tiling> tile_by(const RegisterLayout& layout,
                                            const RegisterLayout& fragment);

/// Whether a shape's extents divide the product's, and all tiles have as many threads.
[[nodiscard]] bool fits_shape(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
                              const RegisterType& c);

/// Says why no plan exists.
[[nodiscard]] DotMismatch explain_mismatch(const RegisterType& a, const RegisterType& b,
                                           const RegisterType& c, const Target& target);

}  // namespace tilevm::isa
