#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isa/dot_chain.h"
#include "isa/dot_tiling.h"
#include "isa/inst/support.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

using Layout = std::optional<RegisterLayout>;

Layout product(std::initializer_list<Result<RegisterLayout>> factors) {
  RegisterLayout layout;
  for (const auto& factor : factors) {
    if (!factor) return std::nullopt;
    const auto joined = compose(layout, *factor);
    if (!joined) return std::nullopt;
    layout = *joined;
  }
  return layout;
}

/// A layout of c over the given threads: warps side by side, as square as they divide.
Layout default_c(const MmaShape& shape, const Shape& extents, std::int64_t threads) {
  const std::int64_t rows = extents[0] / shape.m, columns = extents[1] / shape.n;
  const std::int64_t warps = threads / warp_size;
  const std::int64_t across = std::gcd(warps, columns), down = std::gcd(warps / across, rows);
  if (across * down != warps) return std::nullopt;
  return product({spatial({down, across}), local({rows / down, columns / across}), shape.c_layout});
}

/// Adds "a would fit as ..", unless it fits already or would be too large for registers.
void suggest(std::string_view name, const RegisterType& type, const Layout& fitting,
             DotMismatch& mismatch) {
  if (!fitting || thread_local_equivalent(type.layout, *fitting)) return;
  if (RegisterType{type.dtype, *fitting}.bits_per_thread() > max_tile_bits_per_thread) return;
  mismatch.suggestions.push_back(fmt::format("{} would fit as {}", name, to_string(*fitting)));
}

/// The operand layouts that go with a layout of c: c's warps with the other dimension replicated,
/// all of k in each.
void suggest_fragments(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
                       const RegisterType& c, DotMismatch& mismatch) {
  Layout c_layout = c.layout;
  if (!tile_by(c.layout, shape.c_layout)) {
    c_layout = default_c(shape, c.shape(), c.layout.num_threads());
    suggest("c", c, c_layout, mismatch);
  }
  if (!c_layout) return;
  const auto outer = divide(*c_layout, shape.c_layout);
  if (!outer) return;
  const std::int64_t k_tiles = a.shape()[1] / shape.k;
  const auto rows = reduce(*outer, {1}, true), columns = reduce(*outer, {0}, true);
  suggest("a", a, product({rows, local({1, k_tiles}), shape.a_layout}), mismatch);
  suggest("b", b, product({columns, local({k_tiles, 1}), shape.b_layout}), mismatch);
}

/// The operand layouts with which each thread computes its elements alone.
void suggest_chain(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                   DotMismatch& mismatch) {
  const auto layouts = chain_layouts(c.layout, a.shape()[1]);
  if (!layouts) return;
  for (const auto& [type, layout] : {std::pair(&a, &layouts->a), std::pair(&b, &layouts->b)}) {
    if (RegisterType{type->dtype, *layout}.bits_per_thread() > max_tile_bits_per_thread) return;
  }
  mismatch.suggestions.push_back(fmt::format(
      "without tensor cores, each thread needs all of k for its part of c: a as {}, b as {}",
      to_string(layouts->a), to_string(layouts->b)));
}

/// "mma.m16n8k16", or "mma.m16n8k32 on i8" for operands of other types.
std::string label(const MmaShape& shape, const DType& operand) {
  const std::string on = shape.a == operand ? "" : " on " + to_string(shape.a);
  return fmt::format("mma.{}{}", shape.name, on);
}

std::string explain(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
                    const RegisterType& c) {
  const std::int64_t m = c.shape()[0], n = c.shape()[1], k = a.shape()[1];
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
int count_tiled(const MmaShape& shape, const RegisterType& a, const RegisterType& b,
                const RegisterType& c) {
  return (tile_by(a.layout, shape.a_layout) ? 1 : 0) + (tile_by(b.layout, shape.b_layout) ? 1 : 0) +
         (tile_by(c.layout, shape.c_layout) ? 1 : 0);
}

/// The shape whose extents divide the product's and of which most operands are made; nothing if
/// none divides.
const MmaShape* nearest_shape(const std::vector<const MmaShape*>& shapes, const RegisterType& a,
                              const RegisterType& b, const RegisterType& c) {
  const MmaShape* nearest = nullptr;
  int most = -1;
  for (const MmaShape* shape : shapes) {
    if (!fits_shape(*shape, a, b, c)) continue;
    const int tiled = count_tiled(*shape, a, b, c);
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

}  // namespace

DotMismatch explain_mismatch(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                             const Target& target) {
  DotMismatch mismatch;
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
    if (chain) suggest_chain(a, b, c, mismatch);
    return mismatch;
  }
  const MmaShape* nearest = nearest_shape(shapes, a, b, c);
  mismatch.reason = explain(nearest != nullptr ? *nearest : *shapes.front(), a, b, c);
  if (nearest != nullptr && c.layout.num_threads() % warp_size == 0) {
    suggest_fragments(*nearest, a, b, c, mismatch);
  } else if (chain) {
    suggest_chain(a, b, c, mismatch);
  }
  return mismatch;
}

}  // namespace tilevm::isa
