#include "isa/dot/dot_tiling.h"

#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "isa/base/check.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

/// The tile of a fragment that contains an index, if the index is the tile's first element.
std::optional<FragmentTile> tile_at(const Index& index, const RegisterLayout& fragment) {
  const std::int64_t rows = fragment.shape()[0], columns = fragment.shape()[1];
  if (index[1] % rows != 0 || index[2] % columns != 0) return std::nullopt;
  return FragmentTile{index[0], index[1] / rows, index[2] / columns};
}

/// Within each warp, or each group of warps that a fragment is spread over, threads must be spread
/// as in the fragment, from a multiple of its extents on.
bool tile_threads(const RegisterLayout& layout, const RegisterLayout& fragment, Tiling& tiling) {
  const std::int64_t threads = fragment.num_threads();
  for (std::int64_t group = 0; group < layout.num_threads() / threads; ++group) {
    const Index origin = layout.thread_part(group * threads);
    const auto tile = tile_at(origin, fragment);
    if (!tile) return false;
    tiling.warp_tiles.push_back(*tile);
    for (std::int64_t lane = 0; lane < threads; ++lane) {
      const Index here = layout.thread_part(group * threads + lane);
      const Index wanted = fragment.thread_part(lane);
      if (here != Index{origin[0], origin[1] + wanted[0], origin[2] + wanted[1]}) return false;
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
    const auto tile = tile_at(origin, fragment);
    if (!tile) continue;
    Fragment places;
    for (std::int64_t e = 0; e < fragment.num_locals(); ++e) {
      const Index part = fragment.local_part(e);
      const auto found = place_of.find({origin[0], origin[1] + part[0], origin[2] + part[1]});
      if (found == place_of.end()) return false;
      places.push_back(found->second);
    }
    tiling.fragments.push_back(std::move(places));
    tiling.local_tiles.push_back(*tile);
  }
  return static_cast<std::int64_t>(tiling.fragments.size()) * fragment.num_locals() ==
         layout.num_locals();
}

RegisterType as_batch(const RegisterType& type) { return {type.dtype, as_batch(type.layout)}; }

}  // namespace

RegisterLayout as_batch(const RegisterLayout& layout) {
  const Shape& shape = layout.shape();
  TILEVM_CHECK(shape.size() >= 2, "a matrix has two dimensions");
  const auto matrices = shape.end() - 2;
  const std::int64_t batch =
      std::accumulate(shape.begin(), matrices, std::int64_t{1}, std::multiplies<>());
  const auto result = reshape(layout, {batch, matrices[0], matrices[1]});
  TILEVM_CHECK(static_cast<bool>(result), "leading dimensions always merge");
  return *result;
}

RegisterType transposed_batch(const RegisterType& type) {
  const auto result = permute(as_batch(type.layout), {0, 2, 1});
  TILEVM_CHECK(static_cast<bool>(result), "three dimensions in another order");
  return {type.dtype, *result};
}

BatchOperands::BatchOperands(const RegisterType& a_type, const RegisterType& b_type,
                             const RegisterType& c_type)
    : a(as_batch(a_type)), b(as_batch(b_type)), c(as_batch(c_type)) {}

std::optional<Tiling> tile_by(const RegisterLayout& layout, const RegisterLayout& fragment) {
  Tiling tiling;
  if (layout.num_threads() % fragment.num_threads() != 0) return std::nullopt;
  if (!tile_threads(layout, fragment, tiling) || !tile_places(layout, fragment, tiling)) {
    return std::nullopt;
  }
  return tiling;
}

bool fits_shape(const MmaShape& shape, const BatchOperands& operands) {
  const std::int64_t threads = operands.c.layout.num_threads();
  return operands.m() % shape.m == 0 && operands.n() % shape.n == 0 &&
         operands.k() % shape.k == 0 && operands.a.layout.num_threads() == threads &&
         operands.b.layout.num_threads() == threads;
}

}  // namespace tilevm::isa
