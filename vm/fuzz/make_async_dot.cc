// Asynchronous products of warp groups: matrices that threads store, a proxy fence, products in one
// or two groups, and their waits.
#include <bit>
#include <utility>
#include <vector>

#include "isa/base/check.h"
#include "isa/dot/wgmma_shapes.h"
#include "isa/layout/layout_ops.h"
#include "vm/fuzz/random_layout.h"
#include "vm/fuzz/scenarios.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::MmaShape;
using isa::RegisterLayout;
using isa::Shape;

constexpr std::int64_t most_columns = 48;

RegisterLayout made_layout(const Result<RegisterLayout>& layout) {
  TILEVM_CHECK(layout.ok(), "a layout of an asynchronous product");
  return *layout;
}

RegisterLayout composed(const RegisterLayout& a, const RegisterLayout& b) {
  return made_layout(isa::compose(a, b));
}

/// A matrix of `rows` along m or n and `k`, in this order or the other.
struct SharedOperandMatrix {
  isa::DType dtype;
  std::int64_t rows, k;
  bool k_first;

  [[nodiscard]] Shape shape() const { return k_first ? Shape{k, rows} : Shape{rows, k}; }
};

/// Modes of the two dimensions, outer ones first, with their strides.
struct Modes {
  std::vector<std::int64_t> row_sizes, row_strides, k_sizes, k_strides;
};

/// Rows of `width` bytes along one dimension, blocks of them along the other.
Modes swizzled_modes(const SharedOperandMatrix& matrix, bool mn_major, std::int64_t width) {
  const std::int64_t block = width * 8 / matrix.dtype.bits;
  if (mn_major) {
    return {{matrix.rows / block, block}, {matrix.k * block, 1}, {matrix.k}, {block}};
  }
  return {{matrix.rows}, {block}, {matrix.k / block, block}, {matrix.rows * block, 1}};
}

/// Units of 16 bytes, eight of which follow one another.
Modes plain_modes(const SharedOperandMatrix& matrix, bool mn_major) {
  const std::int64_t unit = 128 / matrix.dtype.bits, eight = 8 * unit;
  if (mn_major) {
    return {{matrix.rows / unit, unit}, {eight, 1}, {matrix.k / 8, 8}, {matrix.rows * 8, unit}};
  }
  return {{matrix.rows / 8, 8}, {matrix.k * 8, unit}, {matrix.k / unit, unit}, {eight, 1}};
}

isa::MemoryLayout matrix_layout(Draw& draw, const SharedOperandMatrix& matrix) {
  std::vector<std::pair<bool, std::int64_t>> forms;  // MN-major, bytes of the swizzle
  for (const bool mn_major : {false, true}) {
    if (mn_major && !isa::may_be_mn_major(matrix.dtype)) continue;
    const std::int64_t extent = mn_major ? matrix.rows : matrix.k;
    for (const std::int64_t width : {0, 32, 64, 128}) {
      const std::int64_t block = (width == 0 ? 16 : width) * 8 / matrix.dtype.bits;
      if (extent % block == 0) forms.emplace_back(mn_major, width);
    }
  }
  const auto [mn_major, width] = draw.pick(forms);
  Modes modes =
      width == 0 ? plain_modes(matrix, mn_major) : swizzled_modes(matrix, mn_major, width);
  std::vector<std::int64_t> sizes = modes.row_sizes, strides = modes.row_strides;
  if (matrix.k_first) {
    sizes.swap(modes.k_sizes);
    strides.swap(modes.k_strides);
  }
  sizes.insert(sizes.end(), modes.k_sizes.begin(), modes.k_sizes.end());
  strides.insert(strides.end(), modes.k_strides.begin(), modes.k_strides.end());
  std::optional<isa::Swizzle> swizzle;
  if (width > 0) {
    const int element = std::countr_zero(static_cast<unsigned>(matrix.dtype.bits / 8));
    swizzle = isa::Swizzle{4 - element, std::countr_zero(static_cast<unsigned>(width / 16)), 3};
  }
  const auto layout = isa::MemoryLayout::make(matrix.shape(), sizes, strides, swizzle);
  TILEVM_CHECK(layout.ok(), "a matrix in shared memory");
  return *layout;
}

/// A new shared tensor whose elements threads store.
isa::VarId stored_matrix(KernelBuilder& builder, const SharedOperandMatrix& matrix) {
  Draw& draw = builder.draw();
  const isa::VarId tensor = builder.add_first(isa::AllocateShared{
      matrix.dtype,
      {matrix.shape()},
      isa::ViewLayout{isa::ViewLayout::Form::memory, {}, matrix_layout(draw, matrix)}});
  const Tile tile =
      builder.tile(matrix.dtype, random_layout(draw, builder.threads(), matrix.shape()));
  if (!tensor.valid() || !tile.var.valid()) return {};
  builder.add(isa::StoreShared{{tile.var}, {tensor}, {}});
  return tensor;
}

std::optional<isa::ScalarOperand> some_flag(Draw& draw, bool allowed) {
  if (!allowed || draw.chance(60)) return std::nullopt;
  return isa::ScalarOperand{isa::Expr::constant(isa::Scalar::of(draw.chance(60)))};
}

void multiply_later(KernelBuilder& builder, const MmaShape& shape) {
  Draw& draw = builder.draw();
  const std::int64_t groups = builder.threads() / isa::warp_group_size;
  const std::int64_t down = draw.chance(50) ? groups : 1, across = groups / down;
  const std::int64_t steps = draw.between(1, 2), fragments = draw.between(1, 2);
  const std::int64_t m = shape.m * down * fragments, n = shape.n * across, k = shape.k * steps;
  const RegisterLayout grid = made_layout(isa::spatial({down, across}));
  const RegisterLayout c_layout =
      composed(composed(grid, made_layout(isa::local({fragments, 1}))), shape.c_layout);
  const bool a_in_registers = draw.chance(50);
  isa::DotAsync dot;
  if (a_in_registers) {
    const RegisterLayout rows = made_layout(isa::reduce(grid, {1}, true));
    const Tile a = builder.tile(
        shape.a,
        composed(composed(rows, made_layout(isa::local({fragments, steps}))), shape.a_layout));
    if (!a.var.valid()) return;
    dot.a = {isa::RegisterOperand{a.var}};
  } else {
    const isa::VarId a = stored_matrix(builder, {shape.a, m, k, false});
    if (!a.valid()) return;
    dot.a = {isa::SharedOperand{a}};
  }
  const isa::VarId b = stored_matrix(builder, {shape.b, n, k, true});
  const Tile c = builder.tile(shape.accumulator, c_layout);
  if (!b.valid() || !c.var.valid()) return;
  dot.b = {b};
  dot.c = {c.var};
  dot.negate_a = some_flag(draw, shape.a.is_float());
  dot.negate_b = some_flag(draw, shape.a.is_float());
  if (draw.chance(40)) {
    dot.accumulate =
        isa::ScalarOperand{draw.chance(50) ? isa::Expr::constant(isa::Scalar::of(draw.chance(50)))
                                           : builder.condition()};
  }
  builder.add(isa::FenceProxy{});
  builder.synchronize();
  const bool in_place = draw.chance(50);
  const isa::VarId result = in_place ? builder.add(dot, c.var) : builder.add(dot);
  if (!result.valid()) return;
  const bool again = draw.chance(40);
  if (again) {
    if (draw.chance(50)) builder.add(isa::DotAsyncCommitGroup{});
    dot.c = {result};
    builder.add(dot, result);
  }
  builder.add(isa::DotAsyncCommitGroup{});
  builder.add(isa::DotAsyncWaitGroup{{isa::Expr::constant(std::int64_t{0})}});
  if (!in_place) builder.add_tile(result);
  // In a loop the next iteration stores the matrices again.
  if (builder.loops() > 0) builder.synchronize();
}

}  // namespace

void make_dot_async(KernelBuilder& builder) {
  if (builder.has_groups) return;
  builder.has_products = true;
  if (builder.threads() % isa::warp_group_size != 0) return;
  std::vector<const MmaShape*> shapes;
  for (const MmaShape& shape : isa::wgmma_shapes()) {
    if (shape.n <= most_columns && isa::mma_rule(builder.target(), shape)) shapes.push_back(&shape);
  }
  if (!shapes.empty()) multiply_later(builder, *builder.draw().pick(shapes));
}

}  // namespace tilevm::vm::fuzz
