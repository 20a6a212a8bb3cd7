// Dots of every class: tensor-core instructions as they are, transposed, in batches, of sparse, of
// block-scaled and of bipolar operands; chains of multiply-adds.
#include <vector>

#include "isa/base/check.h"
#include "isa/dot/dot_chain.h"
#include "isa/dot/mma_shapes.h"
#include "isa/layout/layout_ops.h"
#include "vm/fuzz/random_layout.h"
#include "vm/fuzz/scenarios.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::DType;
using isa::RegisterLayout;

struct DotTypes {
  isa::RegisterType a, b, c;
};

RegisterLayout sure(const Result<RegisterLayout>& layout) {
  TILEVM_CHECK(layout.ok(), "a layout of a Dot");
  return *layout;
}

RegisterLayout product(const RegisterLayout& a, const RegisterLayout& b) {
  return sure(isa::compose(a, b));
}

/// The warps and the fragments of each warp, in one order or the other.
RegisterLayout arranged(bool warps_inside, const RegisterLayout& fragments,
                        const RegisterLayout& warps) {
  return warps_inside ? product(fragments, warps) : product(warps, fragments);
}

void transpose(DotTypes& types) {
  const auto turned = [](const isa::RegisterType& type) {
    return isa::RegisterType{type.dtype, sure(isa::permute(type.layout, {1, 0}))};
  };
  types = {turned(types.b), turned(types.a), turned(types.c)};
}

void make_batch(DotTypes& types, std::int64_t count) {
  const RegisterLayout batch = sure(isa::local({count, 1, 1}));
  for (isa::RegisterType* type : {&types.a, &types.b, &types.c}) {
    type->layout = product(batch, type->layout);
  }
}

/// `most_k`: steps along k at most. Two steps of a small instruction may be one of a larger.
DotTypes tensor_core_types(KernelBuilder& builder, const isa::MmaShape& shape,
                           std::int64_t most_k = 2) {
  Draw& draw = builder.draw();
  const std::int64_t warps = builder.threads() / isa::warp_size;
  std::vector<std::int64_t> divisors;
  for (std::int64_t n = 1; n <= warps; ++n) {
    if (warps % n == 0) divisors.push_back(n);
  }
  const std::int64_t rows = draw.pick(divisors);
  const RegisterLayout grid = sure(isa::spatial({rows, warps / rows}));
  const std::int64_t m = draw.between(1, 2), n = draw.between(1, 2), k = draw.between(1, most_k);
  const bool inside = draw.chance(50);
  const RegisterLayout a =
      arranged(inside, sure(isa::local({m, k})), sure(isa::reduce(grid, {1}, true)));
  const RegisterLayout b =
      arranged(inside, sure(isa::local({k, n})), sure(isa::reduce(grid, {0}, true)));
  const RegisterLayout c = arranged(inside, sure(isa::local({m, n})), grid);
  return {{shape.a, product(a, shape.a_layout)},
          {shape.b, product(b, shape.b_layout)},
          {shape.accumulator, product(c, shape.c_layout)}};
}

/// Places of random pairs, each ascending, in an order that repeats.
isa::ElementValues random_places(Draw& draw) {
  isa::ElementValues places;
  const std::int64_t pairs = draw.between(1, 8);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const std::int64_t first = draw.between(0, 2);
    places.values.push_back(isa::Expr::constant(first));
    places.values.push_back(isa::Expr::constant(draw.between(first + 1, 3)));
  }
  return places;
}

/// The layout of places that goes with one of a: for pairs of steps or for single ones.
RegisterLayout places_layout(const isa::MmaShape& shape, const RegisterLayout& a) {
  const RegisterLayout outer = sure(isa::divide(a, shape.a_layout));
  const std::int64_t steps = outer.shape()[1];
  if (shape.selectors == 1 || steps % 2 != 0) {
    return product(outer, isa::single_places_layout(shape));
  }
  // The steps along k are digits of the places in a thread.
  const RegisterLayout rows = sure(isa::reduce(outer, {1}, true));
  return product(product(rows, sure(isa::local({1, steps / 2}))), shape.places_layout);
}

void add_sparse(KernelBuilder& builder, const isa::MmaShape& shape) {
  const DotTypes types = tensor_core_types(builder, shape);
  const Tile a = builder.tile(types.a.dtype, types.a.layout);
  const Tile b = builder.tile(types.b.dtype, types.b.layout);
  const Tile c = builder.tile(types.c.dtype, types.c.layout);
  if (!a.var.valid() || !b.var.valid() || !c.var.valid()) return;
  const isa::VarId places = builder.add(isa::AllocateRegister{isa::unsigned_int(2),
                                                              {},
                                                              places_layout(shape, types.a.layout),
                                                              random_places(builder.draw())});
  if (!places.valid()) return;
  const isa::DotSparse dot{{a.var}, {places}, {b.var}, {c.var}};
  if (builder.draw().chance(40)) {
    builder.add(dot, c.var);
  } else {
    builder.compute(dot);
  }
}

/// The layout of scales that goes with one of a matrix: a fragment of scales for each of its own.
RegisterLayout scales_layout(const RegisterLayout& matrix, const RegisterLayout& fragment,
                             const RegisterLayout& scales) {
  return product(sure(isa::divide(matrix, fragment)), scales);
}

void add_scaled(KernelBuilder& builder, const isa::MmaShape& shape) {
  const DotTypes types = tensor_core_types(builder, shape);
  const Tile a = builder.tile(types.a.dtype, types.a.layout);
  const Tile b = builder.tile(types.b.dtype, types.b.layout);
  const Tile c = builder.tile(types.c.dtype, types.c.layout);
  const Tile a_scales = builder.tile(
      shape.scale, scales_layout(types.a.layout, shape.a_layout, shape.a_scales_layout));
  const Tile b_scales = builder.tile(
      shape.scale, scales_layout(types.b.layout, shape.b_layout, shape.b_scales_layout));
  for (const Tile* tile : {&a, &b, &c, &a_scales, &b_scales}) {
    if (!tile->var.valid()) return;
  }
  const isa::DotScaled dot{{a.var}, {a_scales.var}, {b.var}, {b_scales.var}, {c.var}};
  if (builder.draw().chance(40)) {
    builder.add(dot, c.var);
  } else {
    builder.compute(dot);
  }
}

std::vector<const isa::MmaShape*> scaled_shapes_of(const isa::Target& target) {
  std::vector<const isa::MmaShape*> shapes;
  for (const isa::MmaShape& shape : isa::scaled_mma_shapes()) {
    if (isa::mma_rule(target, shape)) shapes.push_back(&shape);
  }
  return shapes;
}

std::vector<const isa::MmaShape*> sparse_shapes_of(const isa::Target& target) {
  std::vector<const isa::MmaShape*> shapes;
  for (const isa::MmaShape& shape : isa::sparse_mma_shapes()) {
    // Some types have an instruction in code of a family alone.
    const auto there = isa::sparse_mma_shapes(target, shape.a, shape.b, shape.accumulator);
    if (shape.min_sm <= target.sm && !there.empty()) shapes.push_back(&shape);
  }
  return shapes;
}

std::vector<const isa::MmaShape*> shapes_of(const isa::Target& target) {
  std::vector<const isa::MmaShape*> shapes;
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    if (shape.min_sm <= target.sm) shapes.push_back(&shape);
  }
  return shapes;
}

DotTypes mma_types(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const std::vector<const isa::MmaShape*> shapes = shapes_of(builder.target());
  DotTypes types = tensor_core_types(builder, *draw.pick(shapes));
  if (draw.chance(45)) transpose(types);
  if (draw.chance(15)) make_batch(types, 2);
  return types;
}

DotTypes bipolar_types(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const std::vector<const isa::MmaShape*> shapes =
      isa::dot_shapes(builder.target(), isa::bipolar(1), isa::bipolar(1), isa::i32);
  DotTypes types = tensor_core_types(builder, *draw.pick(shapes));
  types.a.dtype = isa::bipolar(static_cast<int>(draw.between(1, 8)));
  types.b.dtype = isa::bipolar(static_cast<int>(draw.between(1, 8)));
  if (draw.chance(15)) make_batch(types, 2);
  return types;
}

DotTypes chain_types(KernelBuilder& builder) {
  static const std::vector<DType> accumulators = {isa::f32, isa::f32, isa::f64, isa::f16, isa::bf16,
                                                  isa::i32, isa::u32, isa::i64, isa::u64};
  Draw& draw = builder.draw();
  const DType accumulator = draw.pick(accumulators);
  std::vector<DType> operands;
  for (const DType& type : isa::all_dtypes()) {
    if (isa::chain_takes(type, type, accumulator)) operands.push_back(type);
  }
  const isa::Shape shape = random_shape(draw, 2, 64);
  const RegisterLayout c = random_layout(draw, builder.threads(), shape);
  const std::int64_t k = draw.between(1, 6);
  return {{draw.pick(operands), product(sure(isa::reduce(c, {1}, true)), sure(isa::local({1, k})))},
          {draw.pick(operands), product(sure(isa::reduce(c, {0}, true)), sure(isa::local({k, 1})))},
          {accumulator, c}};
}

void add_dot(KernelBuilder& builder, const DotTypes& types) {
  Draw& draw = builder.draw();
  const Tile a = builder.tile(types.a.dtype, types.a.layout);
  const Tile b = builder.tile(types.b.dtype, types.b.layout);
  const Tile c = builder.tile(types.c.dtype, types.c.layout);
  if (!a.var.valid() || !b.var.valid() || !c.var.valid()) return;
  const isa::Dot dot{{a.var}, {b.var}, {c.var}};
  if (draw.chance(40)) {
    builder.add(dot, c.var);
  } else {
    builder.compute(dot);
  }
}

}  // namespace

void make_dot(KernelBuilder& builder) {
  const bool warps = builder.threads() % isa::warp_size == 0;
  const std::int64_t choice = warps ? builder.draw().below(100) : 99;
  add_dot(builder, choice < 60   ? mma_types(builder)
                   : choice < 75 ? bipolar_types(builder)
                                 : chain_types(builder));
}

void make_dot_sparse(KernelBuilder& builder) {
  if (builder.threads() % isa::warp_size != 0) return;
  add_sparse(builder, *builder.draw().pick(sparse_shapes_of(builder.target())));
}

void make_dot_scaled(KernelBuilder& builder) {
  const std::vector<const isa::MmaShape*> shapes = scaled_shapes_of(builder.target());
  if (shapes.empty() || builder.threads() % isa::warp_size != 0) return;
  add_scaled(builder, *builder.draw().pick(shapes));
}

void make_dot_form(KernelBuilder& builder, std::uint64_t number) {
  const std::vector<const isa::MmaShape*> shapes = shapes_of(builder.target());
  DotTypes types = tensor_core_types(builder, *shapes[number / 2 % shapes.size()], 1);
  if (number % 2 == 1) transpose(types);
  add_dot(builder, types);
  const std::vector<const isa::MmaShape*> sparse = sparse_shapes_of(builder.target());
  add_sparse(builder, *sparse[number % sparse.size()]);
  const std::vector<const isa::MmaShape*> scaled = scaled_shapes_of(builder.target());
  if (!scaled.empty()) add_scaled(builder, *scaled[number % scaled.size()]);
}

}  // namespace tilevm::vm::fuzz
