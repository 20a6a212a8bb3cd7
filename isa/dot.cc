#include "isa/dot.h"

#include <array>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

constexpr std::int64_t warp_size = 32;
using Tile = std::array<std::int64_t, 2>;  // tile coordinates in units of a fragment's extents

RegisterLayout product(std::initializer_list<Result<RegisterLayout>> factors) {
  RegisterLayout layout;
  for (const auto& factor : factors) {
    TILEVM_CHECK(factor.ok(), "fragment factor");
    layout = *compose(layout, *factor);
  }
  return layout;
}

/// Fragments of 16-bit operands and 32-bit accumulators (PTX ISA, "Matrix Fragments for
/// mma.m16n8k16" and
/// "... k8").
std::vector<MmaShape> make_shapes() {
  const auto c = product({local({2, 1}), spatial({8, 4}), local({1, 2})});
  const auto a16 = product({column_local({2, 2}), spatial({8, 4}), local({1, 2})});
  const auto b16 = product({local({2, 1}), column_spatial({4, 8}), local({2, 1})});
  const auto a8 = product({local({2, 1}), spatial({8, 4}), local({1, 2})});
  const auto b8 = product({column_spatial({4, 8}), local({2, 1})});
  std::vector<MmaShape> shapes;
  for (const DType& type : {f16, bf16}) {
    shapes.push_back({"m16n8k16", 16, 8, 16, type, type, f32, a16, b16, c, 80});
    shapes.push_back({"m16n8k8", 16, 8, 8, type, type, f32, a8, b8, c, 80});
  }
  return shapes;
}

/// How a tile's layout is made of fragments: for every fragment in a thread its places and its tile
/// coordinates, and for every warp the coordinates at which its fragments begin.
struct Tiling {
  std::vector<Fragment> fragments;
  std::vector<Tile> local_tiles;
  std::vector<Tile> warp_tiles;
};

/// Within each warp, threads must be spread as in the fragment, from a multiple of its extents on.
bool tile_threads(const RegisterLayout& layout, const RegisterLayout& fragment, Tiling& tiling) {
  for (std::int64_t warp = 0; warp < layout.num_threads() / warp_size; ++warp) {
    const Index origin = layout.thread_part(warp * warp_size);
    Tile tile{};
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
    const Tile tile{origin[0] / fragment.shape()[0], origin[1] / fragment.shape()[1]};
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

std::optional<Tiling> tile_by(const RegisterLayout& layout, const RegisterLayout& fragment) {
  Tiling tiling;
  if (layout.rank() != 2 || layout.num_threads() % warp_size != 0) return std::nullopt;
  if (!tile_threads(layout, fragment, tiling) || !tile_places(layout, fragment, tiling)) {
    return std::nullopt;
  }
  return tiling;
}

/// Every warp's tiles of an operand begin where c's do along the shared dimension, and at zero
/// along k.
bool warps_agree(const Tiling& operand, std::size_t shared_dim, const Tiling& c,
                 std::size_t c_dim) {
  for (std::size_t w = 0; w < c.warp_tiles.size(); ++w) {
    if (operand.warp_tiles[w][shared_dim] != c.warp_tiles[w][c_dim]) return false;
    if (operand.warp_tiles[w][1 - shared_dim] != 0) return false;
  }
  return true;
}

std::map<Tile, std::int32_t> by_tile(const Tiling& tiling) {
  std::map<Tile, std::int32_t> result;
  for (std::size_t i = 0; i < tiling.local_tiles.size(); ++i) {
    result[tiling.local_tiles[i]] = static_cast<std::int32_t>(i);
  }
  return result;
}

/// For every c fragment, all k in ascending order; nothing if a thread lacks an operand.
std::optional<std::vector<DotPlan::Step>> make_steps(const Tiling& a, const Tiling& b,
                                                     const Tiling& c, std::int64_t k_tiles) {
  const auto a_tiles = by_tile(a), b_tiles = by_tile(b);
  std::vector<DotPlan::Step> steps;
  for (std::size_t i = 0; i < c.local_tiles.size(); ++i) {
    for (std::int64_t k = 0; k < k_tiles; ++k) {
      const auto in_a = a_tiles.find({c.local_tiles[i][0], k});
      const auto in_b = b_tiles.find({k, c.local_tiles[i][1]});
      if (in_a == a_tiles.end() || in_b == b_tiles.end()) return std::nullopt;
      steps.push_back({in_a->second, in_b->second, static_cast<std::int32_t>(i)});
    }
  }
  return steps;
}

std::string list_types(const Target& target) {
  std::string list;
  for (const MmaShape& shape : mma_shapes()) {
    if (shape.min_sm > target.sm) continue;
    const std::string one = fmt::format("{} x {} + {}", to_string(shape.a), to_string(shape.b),
                                        to_string(shape.accumulator));
    if (list.find(one) == std::string::npos) list += (list.empty() ? "" : ", ") + one;
  }
  return list;
}

/// A layout of c over the given threads: warps side by side, as square as they divide.
std::optional<RegisterLayout> default_c(const MmaShape& shape, const Shape& extents,
                                        std::int64_t threads) {
  const std::int64_t rows = extents[0] / shape.m, columns = extents[1] / shape.n;
  const std::int64_t warps = threads / warp_size;
  const std::int64_t across = std::gcd(warps, columns), down = std::gcd(warps / across, rows);
  if (across * down != warps) return std::nullopt;
  return product({spatial({down, across}), local({rows / down, columns / across}), shape.c_layout});
}

/// The operand layouts that go with a layout of c: c's warps with the other dimension replicated,
/// all of k in each.
void suggest(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
             const RegisterType& c, DotMismatch& mismatch) {
  std::optional<RegisterLayout> c_layout;
  if (tile_by(c.layout, shape.c_layout)) c_layout = c.layout;
  if (!c_layout) {
    c_layout = default_c(shape, c.shape(), c.layout.num_threads());
    if (!c_layout) return;
    mismatch.suggestions.push_back(fmt::format("c would fit as {}", to_string(*c_layout)));
  }
  const auto outer = divide(*c_layout, shape.c_layout);
  if (!outer) return;
  const std::int64_t k_tiles = a.shape()[1] / shape.k;
  const auto rows = reduce(*outer, {1}, true), columns = reduce(*outer, {0}, true);
  if (!rows || !columns) return;
  const auto a_layout = product({*rows, local({1, k_tiles}), shape.a_layout});
  const auto b_layout = product({*columns, local({k_tiles, 1}), shape.b_layout});
  if (!thread_local_equivalent(a.layout, a_layout)) {
    mismatch.suggestions.push_back(fmt::format("a would fit as {}", to_string(a_layout)));
  }
  if (!thread_local_equivalent(b.layout, b_layout)) {
    mismatch.suggestions.push_back(fmt::format("b would fit as {}", to_string(b_layout)));
  }
}

std::string explain(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
                    const RegisterType& c) {
  const std::int64_t m = c.shape()[0], n = c.shape()[1], k = a.shape()[1];
  if (m % shape.m != 0 || n % shape.n != 0 || k % shape.k != 0) {
    return fmt::format("a product of m = {}, n = {}, k = {} is not made of whole mma.{}", m, n, k,
                       shape.name);
  }
  if (c.layout.num_threads() % warp_size != 0) {
    return fmt::format("tensor cores work in warps of 32 threads, the layouts have {}",
                       c.layout.num_threads());
  }
  if (a.layout.num_threads() != c.layout.num_threads() ||
      b.layout.num_threads() != c.layout.num_threads()) {
    return fmt::format("a, b and c are spread over {}, {} and {} threads; they must agree",
                       a.layout.num_threads(), b.layout.num_threads(), c.layout.num_threads());
  }
  std::string wrong;
  const auto check = [&](std::string_view name, const RegisterLayout& layout,
                         const RegisterLayout& fragment) {
    if (!tile_by(layout, fragment)) wrong += (wrong.empty() ? "" : " and ") + std::string(name);
  };
  check("a", a.layout, shape.a_layout);
  check("b", b.layout, shape.b_layout);
  check("c", c.layout, shape.c_layout);
  if (wrong.empty()) {
    return fmt::format(
        "the warps' shares of a, b and c do not match: each warp needs all of k for its part of c");
  }
  return fmt::format("the layout of {} is not made of fragments of mma.{}", wrong, shape.name);
}

bool fits_shape(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
                const RegisterType& c) {
  return c.shape()[0] % shape.m == 0 && c.shape()[1] % shape.n == 0 &&
         a.shape()[1] % shape.k == 0 && a.layout.num_threads() == c.layout.num_threads() &&
         b.layout.num_threads() == c.layout.num_threads();
}

std::optional<DotPlan> plan_with(const MmaShape& shape, const RegisterType& a,
                                 const RegisterType& b, const RegisterType& c) {
  if (!fits_shape(shape, a, b, c)) return std::nullopt;
  auto a_tiling = tile_by(a.layout, shape.a_layout);
  auto b_tiling = tile_by(b.layout, shape.b_layout);
  auto c_tiling = tile_by(c.layout, shape.c_layout);
  if (!a_tiling || !b_tiling || !c_tiling) return std::nullopt;
  if (!warps_agree(*a_tiling, 0, *c_tiling, 0) || !warps_agree(*b_tiling, 1, *c_tiling, 1)) {
    return std::nullopt;
  }
  auto steps = make_steps(*a_tiling, *b_tiling, *c_tiling, a.shape()[1] / shape.k);
  if (!steps) return std::nullopt;
  return DotPlan{&shape, std::move(a_tiling->fragments), std::move(b_tiling->fragments),
                 std::move(c_tiling->fragments), std::move(*steps)};
}

}  // namespace

const std::vector<MmaShape>& mma_shapes() {
  static const std::vector<MmaShape> shapes = make_shapes();
  return shapes;
}

std::optional<DotPlan> plan_dot(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                                const Target& target, DotMismatch* mismatch) {
  const MmaShape* first = nullptr;
  const MmaShape* whole = nullptr;  // the first whose extents divide the product's
  for (const MmaShape& shape : mma_shapes()) {
    if (shape.min_sm > target.sm || shape.a != a.dtype || shape.b != b.dtype ||
        shape.accumulator != c.dtype) {
      continue;
    }
    if (auto plan = plan_with(shape, a, b, c)) return plan;
    if (first == nullptr) first = &shape;
    if (whole == nullptr && fits_shape(shape, a, b, c)) whole = &shape;
  }
  if (mismatch == nullptr) return std::nullopt;
  if (first == nullptr) {
    mismatch->reason =
        fmt::format("no tensor-core instruction of {} computes {} x {} + {}", to_string(target),
                    to_string(a.dtype), to_string(b.dtype), to_string(c.dtype));
    mismatch->suggestions = {"it computes " + list_types(target) + "; convert with `Cast` first"};
    return std::nullopt;
  }
  const MmaShape& nearest = whole != nullptr ? *whole : *first;
  mismatch->reason = explain(nearest, a, b, c);
  if (whole != nullptr && c.layout.num_threads() % warp_size == 0) {
    suggest(nearest, a, b, c, *mismatch);
  }
  return std::nullopt;
}

}  // namespace tilevm::isa
