#include "isa/dot/dot_fragments.h"

#include <utility>

namespace tilevm::isa {
namespace {

/// Every warp's tiles of a and b begin where c's do, and at zero along k.
bool warps_agree(const Tiling& a, const Tiling& b, const Tiling& c) {
  for (std::size_t w = 0; w < c.warp_tiles.size(); ++w) {
    const FragmentTile& tile = c.warp_tiles[w];
    if (a.warp_tiles[w] != FragmentTile{tile.batch, tile.row, 0}) return false;
    if (b.warp_tiles[w] != FragmentTile{tile.batch, 0, tile.column}) return false;
  }
  return true;
}

/// For every c fragment, all k in ascending order; nothing if an operand is missing in a thread.
std::optional<std::vector<DotPlan::Step>> make_steps(const Tiling& a, const Tiling& b,
                                                     const Tiling& c, std::int64_t k_tiles) {
  const auto a_tiles = by_tile(a), b_tiles = by_tile(b);
  std::vector<DotPlan::Step> steps;
  for (std::size_t i = 0; i < c.local_tiles.size(); ++i) {
    const FragmentTile& tile = c.local_tiles[i];
    for (std::int64_t k = 0; k < k_tiles; ++k) {
      const auto in_a = a_tiles.find({tile.batch, tile.row, k});
      const auto in_b = b_tiles.find({tile.batch, k, tile.column});
      if (in_a == a_tiles.end() || in_b == b_tiles.end()) return std::nullopt;
      steps.push_back({.a = in_a->second, .b = in_b->second, .c = static_cast<std::int32_t>(i)});
    }
  }
  return steps;
}

/// For every c fragment, its row in units of a fragment's, and its batch.
FragmentTile row_of(const Tiling& c, const DotPlan::Step& step) {
  const FragmentTile& tile = c.local_tiles[static_cast<std::size_t>(step.c)];
  return {tile.batch, tile.row, 0};
}

bool add_places(const Tiling& places, const Tiling& c, std::int64_t k_tiles, int selectors,
                DotPlan& plan) {
  for (std::size_t w = 0; w < c.warp_tiles.size(); ++w) {
    const FragmentTile& tile = c.warp_tiles[w];
    if (places.warp_tiles[w] != FragmentTile{tile.batch, tile.row, 0}) return false;
  }
  const auto tiles = by_tile(places);
  std::int64_t k = 0;
  for (DotPlan::Step& step : plan.steps) {
    FragmentTile wanted = row_of(c, step);
    wanted.column = k / selectors;
    const auto found = tiles.find(wanted);
    if (found == tiles.end()) return false;
    step.places = found->second;
    step.selector = static_cast<std::int32_t>(k % selectors);
    k = (k + 1) % k_tiles;
  }
  plan.places = places.fragments;
  return true;
}

/// The tiles of scales of a step: those of a's rows and of b's columns at the step's place along k.
struct ScaleTiles {
  FragmentTile a, b;
};

ScaleTiles scales_of(const FragmentTile& c, std::int64_t k) {
  return {{c.batch, c.row, k}, {c.batch, k, c.column}};
}

}  // namespace

std::map<FragmentTile, std::int32_t> by_tile(const Tiling& tiling) {
  std::map<FragmentTile, std::int32_t> result;
  for (std::size_t i = 0; i < tiling.local_tiles.size(); ++i) {
    result[tiling.local_tiles[i]] = static_cast<std::int32_t>(i);
  }
  return result;
}

std::optional<DotPlan> plan_fragments(const MmaShape& shape, const BatchOperands& operands) {
  if (!fits_shape(shape, operands)) return std::nullopt;
  auto a = tile_by(operands.a.layout, shape.a_layout);
  auto b = tile_by(operands.b.layout, shape.b_layout);
  auto c = tile_by(operands.c.layout, shape.c_layout);
  if (!a || !b || !c || !warps_agree(*a, *b, *c)) return std::nullopt;
  auto steps = make_steps(*a, *b, *c, operands.k() / shape.k);
  if (!steps) return std::nullopt;
  DotPlan plan;
  plan.shape = &shape;
  plan.a = std::move(a->fragments);
  plan.b = std::move(b->fragments);
  plan.c = std::move(c->fragments);
  plan.steps = std::move(*steps);
  return plan;
}

bool plan_places(const RegisterLayout& places, const BatchOperands& operands, DotPlan& plan) {
  if (places.num_threads() != operands.c.layout.num_threads()) return false;
  const auto c = tile_by(operands.c.layout, plan.shape->c_layout);
  const std::int64_t k_tiles = operands.k() / plan.shape->k;
  const auto by_pairs = tile_by(places, plan.shape->places_layout);
  if (by_pairs && add_places(*by_pairs, *c, k_tiles, plan.shape->selectors, plan)) return true;
  const auto one_by_one = tile_by(places, single_places_layout(*plan.shape));
  return one_by_one && add_places(*one_by_one, *c, k_tiles, 1, plan);
}

bool plan_scales(const RegisterLayout& a_scales, const RegisterLayout& b_scales,
                 const BatchOperands& operands, DotPlan& plan) {
  const std::int64_t threads = operands.c.layout.num_threads();
  if (a_scales.num_threads() != threads || b_scales.num_threads() != threads) return false;
  auto a = tile_by(a_scales, plan.shape->a_scales_layout);
  auto b = tile_by(b_scales, plan.shape->b_scales_layout);
  const auto c = tile_by(operands.c.layout, plan.shape->c_layout);
  if (!a || !b || !warps_agree(*a, *b, *c)) return false;
  const auto a_tiles = by_tile(*a), b_tiles = by_tile(*b);
  const std::int64_t k_tiles = operands.k() / plan.shape->k;
  std::int64_t k = 0;
  for (DotPlan::Step& step : plan.steps) {
    const ScaleTiles wanted = scales_of(c->local_tiles[static_cast<std::size_t>(step.c)], k);
    const auto in_a = a_tiles.find(wanted.a), in_b = b_tiles.find(wanted.b);
    if (in_a == a_tiles.end() || in_b == b_tiles.end()) return false;
    step.a_scales = in_a->second;
    step.b_scales = in_b->second;
    k = (k + 1) % k_tiles;
  }
  plan.a_scales = std::move(a->fragments);
  plan.b_scales = std::move(b->fragments);
  return true;
}

}  // namespace tilevm::isa
