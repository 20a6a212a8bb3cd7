#include "isa/dot/dot_mismatch.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isa/dot/dot_chain.h"
#include "isa/dot/dot_fragments.h"
#include "isa/dot/dot_tiling.h"
#include "isa/inst/limits.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

using Layout = std::optional<RegisterLayout>;

Layout fitting_product(std::initializer_list<Result<RegisterLayout>> factors) {
  RegisterLayout layout;
  for (const auto& factor : factors) {
    if (!factor) return std::nullopt;
    const auto joined = compose(layout, *factor);
    if (!joined) return std::nullopt;
    layout = *joined;
  }
  return layout;
}

/// The findings about a Dot of these operands.
struct Findings {
  BatchOperands operands;
  DotMismatch mismatch;

  /// Adds "a would fit as ..", in the tile's own shape, unless it fits already or would be too
  /// large for registers.
  void suggest(std::string_view name, const RegisterType& type, const Layout& fitting) {
    if (!fitting || thread_local_equivalent(as_batch(type.layout), *fitting)) return;
    if (RegisterType{type.dtype, *fitting}.bits_per_thread() > max_tile_bits_per_thread) return;
    const auto shaped = reshape(*fitting, type.shape());
    if (!shaped) return;
    mismatch.suggestions.push_back(fmt::format("{} would fit as {}", name, to_string(*shaped)));
  }
};

/// A layout of c over its threads: warps side by side, as square as they divide.
Layout default_c(const MmaShape& shape, const BatchOperands& operands) {
  const std::int64_t rows = operands.m() / shape.m, columns = operands.n() / shape.n;
  const std::int64_t batch = operands.c.shape()[0];
  const std::int64_t warps = operands.c.layout.num_threads() / warp_size;
  const std::int64_t across = std::gcd(warps, columns), down = std::gcd(warps / across, rows);
  const std::int64_t deep = std::gcd(warps / across / down, batch);
  if (deep * across * down != warps) return std::nullopt;
  return fitting_product({spatial({deep, down, across}),
                          local({batch / deep, rows / down, columns / across}), shape.c_layout});
}

/// What an instruction takes besides a, b and c: places of a sparse one, scales of a block-scaled
/// one.
struct OtherOperands {
  const RegisterType* places = nullptr;
  const RegisterType *a_scales = nullptr, *b_scales = nullptr;
};

/// The operand layouts that go with a layout of c: c's warps with the other dimension replicated,
/// all of k in each.
void suggest_fragments(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
                       const RegisterType& c, Findings& findings,
                       const OtherOperands& others = {}) {
  const BatchOperands& operands = findings.operands;
  Layout c_layout = operands.c.layout;
  if (!tile_by(*c_layout, shape.c_layout)) {
    c_layout = default_c(shape, operands);
    findings.suggest("c", c, c_layout);
  }
  if (!c_layout) return;
  const auto quotient = divide(*c_layout, shape.c_layout);
  if (!quotient) return;
  const RegisterLayout outer = as_batch(*quotient);
  const std::int64_t k_tiles = operands.k() / shape.k;
  const auto rows = reduce(outer, {2}, true), columns = reduce(outer, {1}, true);
  findings.suggest("a", a, fitting_product({rows, local({1, 1, k_tiles}), shape.a_layout}));
  findings.suggest("b", b, fitting_product({columns, local({1, k_tiles, 1}), shape.b_layout}));
  if (others.a_scales != nullptr) {
    findings.suggest("the scales of a", *others.a_scales,
                     fitting_product({rows, local({1, 1, k_tiles}), shape.a_scales_layout}));
    findings.suggest("the scales of b", *others.b_scales,
                     fitting_product({columns, local({1, k_tiles, 1}), shape.b_scales_layout}));
  }
  if (others.places == nullptr) return;
  const bool in_pairs = k_tiles % shape.selectors == 0;
  findings.suggest(
      "places", *others.places,
      in_pairs
          ? fitting_product({rows, local({1, 1, k_tiles / shape.selectors}), shape.places_layout})
          : fitting_product({rows, local({1, 1, k_tiles}), single_places_layout(shape)}));
}

/// The operand layouts with which each thread computes its elements alone.
void suggest_chain(const RegisterType& a, const RegisterType& b, Findings& findings) {
  const auto layouts = chain_layouts(findings.operands.c.layout, findings.operands.k());
  if (!layouts) return;
  for (const auto& [type, layout] : {std::pair(&a, &layouts->a), std::pair(&b, &layouts->b)}) {
    if (RegisterType{type->dtype, *layout}.bits_per_thread() > max_tile_bits_per_thread) return;
  }
  const auto for_a = reshape(layouts->a, a.shape()), for_b = reshape(layouts->b, b.shape());
  if (!for_a || !for_b) return;
  findings.mismatch.suggestions.push_back(fmt::format(
      "without tensor cores, each thread needs all of k for its part of c: a as {}, b as {}",
      to_string(*for_a), to_string(*for_b)));
}

/// "mma.m16n8k16", or "mma.m16n8k32 on i8" for operands of other types.
std::string label(const MmaShape& shape, const DType& operand) {
  const std::string on = shape.a == operand ? "" : " on " + to_string(shape.a);
  return fmt::format("mma.{}{}", shape.label(), on);
}

std::string explain(const MmaShape& shape, const BatchOperands& operands) {
  const auto& [a, b, c] = operands;
  const std::int64_t m = operands.m(), n = operands.n(), k = operands.k();
  if (m % shape.m != 0 || n % shape.n != 0 || k % shape.k != 0) {
    return fmt::format("a product of m = {}, n = {}, k = {} is not made of whole {}", m, n, k,
                       label(shape, a.dtype));
  }
  if (a.layout.num_threads() != c.layout.num_threads() ||
      b.layout.num_threads() != c.layout.num_threads()) {
    return fmt::format("a, b and c are spread over {}, {} and {} threads; they must agree",
                       a.layout.num_threads(), b.layout.num_threads(), c.layout.num_threads());
  }
  if (c.layout.num_threads() % warp_size != 0) {
    return fmt::format("tensor cores work in warps of 32 threads, the layouts have {}",
                       c.layout.num_threads());
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
    return "the warps' shares of a, b and c do not match: each warp needs all of k for its part of "
           "c";
  }
  return fmt::format("the layout of {} is not made of fragments of {}", wrong,
                     label(shape, a.dtype));
}

/// How many of the operands are made of a shape's fragments already.
int count_tiled(const MmaShape& shape, const BatchOperands& operands) {
  return (tile_by(operands.a.layout, shape.a_layout) ? 1 : 0) +
         (tile_by(operands.b.layout, shape.b_layout) ? 1 : 0) +
         (tile_by(operands.c.layout, shape.c_layout) ? 1 : 0);
}

/// The shape whose extents divide the product's and of which most operands are made; nothing if
/// none divides.
const MmaShape* nearest_shape(const std::vector<const MmaShape*>& shapes,
                              const BatchOperands& operands) {
  const MmaShape* nearest = nullptr;
  int most = -1;
  for (const MmaShape* shape : shapes) {
    if (!fits_shape(*shape, operands)) continue;
    const int tiled = count_tiled(*shape, operands);
    if (tiled > most) nearest = shape;
    most = std::max(most, tiled);
  }
  return nearest;
}

/// " (sm_89 and later do)", if a later target has an instruction for the types.
std::string later_targets(const DType& a, const DType& b, const DType& accumulator) {
  const auto shapes = dot_shapes(known_targets().back(), a, b, accumulator);
  if (shapes.empty()) return "";
  int first = shapes.front()->min_sm;
  for (const MmaShape* shape : shapes) first = std::min(first, shape->min_sm);
  return fmt::format(" (sm_{} and later do)", first);
}

/// " (sm_89 does)", if a target has a sparse instruction for the types.
std::string target_with_sparse(const DType& a, const DType& b, const DType& accumulator) {
  for (const Target& target : known_targets()) {
    if (sparse_mma_shapes(target, a, b, accumulator).empty()) continue;
    return fmt::format(" ({} does)", to_string(target));
  }
  return "";
}

/// What computes a product with scales of a type where there is no instruction for it.
std::string_view exact_product_words(const DType& scale) {
  if (scale == f7e4m3u) {
    return "elsewhere `Cast` operands and scales to f16 and multiply them before a `Dot`: every "
           "product of an f4e2m1 and an f7e4m3u is an f16";
  }
  return "elsewhere `Cast` operands and scales to bf16 and multiply them before a `Dot`: a scale "
         "is a power of two, so that the product is exact unless it leaves the range of bf16";
}

}  // namespace

DotMismatch explain_mismatch(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                             const Target& target) {
  Findings findings{BatchOperands(a, b, c), {}};
  DotMismatch& mismatch = findings.mismatch;
  const bool chain = chain_takes(a.dtype, b.dtype, c.dtype);
  const auto shapes = dot_shapes(target, a.dtype, b.dtype, c.dtype);
  if (shapes.empty()) {
    mismatch.reason = fmt::format("no tensor-core instruction of {} computes {} x {} + {}{}",
                                  to_string(target), to_string(a.dtype), to_string(b.dtype),
                                  to_string(c.dtype), later_targets(a.dtype, b.dtype, c.dtype));
    mismatch.suggestions = {
        fmt::format("{} computes {}, and bipolar x bipolar + i32; convert with "
                    "`Cast` first",
                    to_string(target), list_mma_types(target))};
    if (chain) suggest_chain(a, b, findings);
    return mismatch;
  }
  const MmaShape* nearest = nearest_shape(shapes, findings.operands);
  mismatch.reason = explain(nearest != nullptr ? *nearest : *shapes.front(), findings.operands);
  if (nearest != nullptr && c.layout.num_threads() % warp_size == 0) {
    suggest_fragments(*nearest, a, b, c, findings);
  } else if (chain) {
    suggest_chain(a, b, findings);
  }
  return mismatch;
}

DotMismatch explain_sparse_mismatch(const RegisterType& a, const RegisterType& places,
                                    const RegisterType& b, const RegisterType& c,
                                    const Target& target) {
  Findings findings{BatchOperands(a, b, c), {}};
  DotMismatch& mismatch = findings.mismatch;
  const auto shapes = sparse_mma_shapes(target, a.dtype, b.dtype, c.dtype);
  if (shapes.empty()) {
    mismatch.reason =
        fmt::format("no sparse tensor-core instruction of {} computes {} x {} + {}{}",
                    to_string(target), to_string(a.dtype), to_string(b.dtype), to_string(c.dtype),
                    target_with_sparse(a.dtype, b.dtype, c.dtype));
    mismatch.suggestions = {
        fmt::format("{} computes {} with `DotSparse`; convert with `Cast` first", to_string(target),
                    list_sparse_mma_types(target))};
    return mismatch;
  }
  const MmaShape& shape = *shapes.front();
  const BatchOperands& operands = findings.operands;
  const bool only_places = plan_fragments(shape, operands).has_value();
  mismatch.reason =
      only_places ? fmt::format("the layout of places is not that of {}", label(shape, a.dtype))
                  : explain(shape, operands);
  if (fits_shape(shape, operands) && operands.c.layout.num_threads() % warp_size == 0) {
    suggest_fragments(shape, a, b, c, findings, {.places = &places});
  }
  return mismatch;
}

DotMismatch explain_scaled_mismatch(const ScaledOperands& scaled, const Target& target) {
  const auto& [a, a_scales, b, b_scales, c] = scaled;
  Findings findings{BatchOperands(a, b, c), {}};
  DotMismatch& mismatch = findings.mismatch;
  const auto shapes = scaled_mma_shapes(target, a.dtype, b.dtype, a_scales.dtype, c.dtype);
  if (shapes.empty()) {
    mismatch.reason = fmt::format(
        "no block-scaled tensor-core instruction of {} computes {} x {} + {} with scales of {}",
        to_string(target), to_string(a.dtype), to_string(b.dtype), to_string(c.dtype),
        to_string(a_scales.dtype));
    mismatch.suggestions = {fmt::format("sm_120a, sm_121a and their family sm_120f compute {}",
                                        list_scaled_mma_types()),
                            std::string(exact_product_words(a_scales.dtype))};
    return mismatch;
  }
  const BatchOperands& operands = findings.operands;
  const MmaShape* nearest = nearest_shape(shapes, operands);
  const MmaShape& shape = nearest != nullptr ? *nearest : *shapes.front();
  const bool only_scales = plan_fragments(shape, operands).has_value();
  mismatch.reason = only_scales ? fmt::format("the layouts of the scales are not those of {}",
                                              label(shape, a.dtype))
                                : explain(shape, operands);
  if (fits_shape(shape, operands) && operands.c.layout.num_threads() % warp_size == 0) {
    suggest_fragments(shape, a, b, c, findings, {.a_scales = &a_scales, .b_scales = &b_scales});
  }
  return mismatch;
}

}  // namespace tilevm::isa
