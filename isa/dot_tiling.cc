#include "isa/dot_tiling.h"

#include <map>
#include <utility>

namespace tilevm::isa {
namespace {

/// Within each warp, threads must be spread as in the fragment, from a multiple of its extents on.
bool tile_threads(const RegisterLayout& layout, const RegisterLayout& fragment, Tiling& tiling) {
  for (std::int64_t warp = 0; warp < layout.num_threads() / warp_size; ++warp) {
    const Index origin = layout.thread_part(warp * warp_size);
    FragmentTile tile{};
    for (std::size_t d = 0; d < 2; ++d) {
      if (origin[d] % fragment.shape()[d] != 0) return false;
      tile[d] = origin[d] / fragment.shape()[d];
    }
    tiling.warp_tiles.push_back(tile);
    for (std::int64_t lane = 0; lane < warp_size; ++lane) {
      const Index here = layout.thread_part(warp * warp_size + lane);
      const Index wanted = fragment.thread_part(lane);
      if (here[0] - origin[0] != wanted[0] || here[1] - origin[1] != wanted[1]) return false;
    }
  }
  return true;
}

/// Within each thread, the places must fall into whole fragments, in any order.
bool tile_places(const RegisterLayout& layout, const RegisterLayout& fragment, Tiling& tiling) {
  std::map<Index, std::int32_t> place_of;
  for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
    place_of[layout.local_part(i)] = static_cast<std::int32_t>(i);
  }
  for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
    const Index origin = layout.local_part(i);
    const FragmentTile tile{origin[0] / fragment.shape()[0], origin[1] / fragment.shape()[1]};
    if (origin[0] % fragment.shape()[0] != 0 || origin[1] % fragment.shape()[1] != 0) continue;
    Fragment places;
    for (std::int64_t e = 0; e < fragment.num_locals(); ++e) {
      const Index part = fragment.local_part(e);
      const auto found = place_of.find({origin[0] + part[0], origin[1] + part[1]});
      if (found == place_of.end()) return false;
      places.push_back(found->second);
    }
    tiling.fragments.push_back(std::move(places));
    tiling.local_tiles.push_back(tile);
  }
  return static_cast<std::int64_t>(tiling.fragments.size()) * fragment.num_locals() ==
         layout.num_locals();
}

}  // namespace

std::optional<Tiling> tile_by(const RegisterLayout& layout, const RegisterLayout& fragment) {
  Tiling tiling;
  if (layout.rank() != 2 || layout.num_threads() % warp_size != 0) return std::nullopt;
  if (!tile_threads(layout, fragment, tiling) || !tile_places(layout, fragment, tiling)) {
    return std::nullopt;
  }
  return tiling;
}

bool fits_shape(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
                const RegisterType& c) {
  return c.shape()[0] % shape.m == 0 && c.shape()[1] % shape.n == 0 &&
         a.shape()[1] % shape.k == 0 && a.layout.num_threads() == c.layout.num_threads() &&
         b.layout.num_threads() == c.layout.num_threads();
}

}  // namespace tilevm::isa
