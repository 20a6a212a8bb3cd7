#include "isa/dot/dot.h"

#include <map>
#include <utility>

#include "isa/dot/dot_chain.h"
#include "isa/dot/dot_tiling.h"

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

std::map<FragmentTile, std::int32_t> by_tile(const Tiling& tiling) {
  std::map<FragmentTile, std::int32_t> result;
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
    const FragmentTile& tile = c.local_tiles[i];
    for (std::int64_t k = 0; k < k_tiles; ++k) {
      const auto in_a = a_tiles.find({tile.batch, tile.row, k});
      const auto in_b = b_tiles.find({tile.batch, k, tile.column});
      if (in_a == a_tiles.end() || in_b == b_tiles.end()) return std::nullopt;
      steps.push_back({in_a->second, in_b->second, static_cast<std::int32_t>(i)});
    }
  }
  return steps;
}

std::optional<DotPlan> plan_with(const MmaShape& shape, const BatchOperands& operands) {
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

bool are_bipolar(const DType& a, const DType& b) { return a.is_bipolar() && b.is_bipolar(); }

/// A code u of n bits stands for 2 u - (2^n - 1).
OperandForm bipolar_form(const DType& type, const DType& instruction_type) {
  if (instruction_type == u1) return {type.bits, 2, 1 - (1 << type.bits)};
  return type.bits < 8 ? OperandForm{} : OperandForm{1, 2, 1};
}

std::optional<DotPlan> plan_mma(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                                const Target& target) {
  const BatchOperands operands(a, b, c);
  for (const MmaShape* shape : dot_shapes(target, a.dtype, b.dtype, c.dtype)) {
    if (auto plan = plan_with(*shape, operands)) return plan;
  }
  return std::nullopt;
}

std::optional<DotPlan> plan_transposed(const RegisterType& a, const RegisterType& b,
                                       const RegisterType& c, const Target& target) {
  auto plan = plan_mma(transposed_batch(b), transposed_batch(a), transposed_batch(c), target);
  if (plan) plan->transposed = true;
  return plan;
}

std::optional<DotPlan> plan_bipolar(const RegisterType& a, const RegisterType& b,
                                    const RegisterType& c, const Target& target) {
  auto plan = plan_mma(a, b, c, target);
  if (!plan) return std::nullopt;
  plan->method = DotMethod::bipolar;
  plan->a_form = bipolar_form(a.dtype, plan->shape->a);
  plan->b_form = bipolar_form(b.dtype, plan->shape->b);
  return plan;
}

std::optional<DotPlan> plan_chain(const BatchOperands& operands) {
  const auto& [a, b, c] = operands;
  if (!chain_takes(a.dtype, b.dtype, c.dtype)) return std::nullopt;
  auto places = chain_places(a.layout, b.layout, c.layout);
  if (!places) return std::nullopt;
  DotPlan plan;
  plan.method = DotMethod::chain;
  plan.chain = std::move(*places);
  return plan;
}

}  // namespace

std::optional<DotPlan> plan_dot(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                                const Target& target, DotMismatch* mismatch) {
  if (are_bipolar(a.dtype, b.dtype)) {
    if (auto plan = plan_bipolar(a, b, c, target)) return plan;
  } else {
    if (auto plan = plan_mma(a, b, c, target)) return plan;
    if (auto plan = plan_transposed(a, b, c, target)) return plan;
  }
  if (auto plan = plan_chain(BatchOperands(a, b, c))) return plan;
  if (mismatch != nullptr) *mismatch = explain_mismatch(a, b, c, target);
  return std::nullopt;
}

}  // namespace tilevm::isa
