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

  std::int64_t stages = 0;  ///< how many such matrices the tensor holds; 0: one, without stages

  [[nodiscard]] Shape shape() const { return k_first ? Shape{k, rows} : Shape{rows, k}; }
  [[nodiscard]] Shape tensor_shape() const {
    Shape all = shape();
    if (stages > 0) all.insert(all.begin(), stages);
    return all;
  }
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
  if (matrix.stages > 0) {
    sizes.insert(sizes.begin(), matrix.stages);
    strides.insert(strides.begin(), matrix.rows * matrix.k);
  }
  std::optional<isa::Swizzle> swizzle;
  if (width > 0) {
    const int element = std::countr_zero(static_cast<unsigned>(matrix.dtype.bits / 8));
    swizzle = isa::Swizzle{4 - element, std::countr_zero(static_cast<unsigned>(width / 16)), 3};
  }
  const auto layout = isa::MemoryLayout::make(matrix.tensor_shape(), sizes, strides, swizzle);
  TILEVM_CHECK(layout.ok(), "a matrix in shared memory");
  return *layout;
}

isa::VarId shared_matrix(KernelBuilder& builder, const SharedOperandMatrix& matrix) {
  return builder.add_first(isa::AllocateShared{
      matrix.dtype,
      {matrix.tensor_shape()},
      isa::ViewLayout{isa::ViewLayout::Form::memory, {}, matrix_layout(builder.draw(), matrix)}});
}

/// A new shared tensor whose elements threads store.
isa::VarId stored_matrix(KernelBuilder& builder, const SharedOperandMatrix& matrix) {
  Draw& draw = builder.draw();
  const isa::VarId tensor = shared_matrix(builder, matrix);
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

bool is_set(const std::optional<isa::ScalarOperand>& flag) {
  return flag && flag->value.constant_value()->as_bool();
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
    dot.transpose_a = some_flag(draw, true);
    const isa::VarId a = stored_matrix(builder, {shape.a, m, k, is_set(dot.transpose_a)});
    if (!a.valid()) return;
    dot.a = {isa::SharedOperand{a}};
  }
  dot.transpose_b = some_flag(draw, true);
  const isa::VarId b = stored_matrix(builder, {shape.b, n, k, !is_set(dot.transpose_b)});
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

/// A group of warps stores the matrices of each step into a stage, another one multiplies by them.
class ProductRing {
 public:
  ProductRing(KernelBuilder& builder, const MmaShape& shape)
      : builder_(builder),
        draw_(builder.draw()),
        shape_(shape),
        stages_(draw_.between(1, 2)),
        steps_(draw_.between(1, 4)),
        warps_(builder.threads() / isa::warp_size),
        first_(draw_.chance(50) ? 0 : (warps_ - 1) / 4 * 4),
        a_in_registers_(draw_.chance(40)),
        one_arrives_(draw_.chance(50)) {
    if (first_ + 4 > warps_) first_ = 0;
    producer_ = first_ == 0 ? 4 : 0;
    producers_ = first_ == 0 ? warps_ - 4 : first_;
  }

  void make() {
    const std::int64_t k = shape_.k * draw_.between(1, 2);
    a_ = {shape_.a, shape_.m, k, false, stages_};
    b_ = {shape_.b, shape_.n, k, true, stages_};
    if (!a_in_registers_) sa_ = shared_matrix(builder_, a_);
    sb_ = shared_matrix(builder_, b_);
    full_ = builder_.add_first(
        isa::AllocateBarrier{integer(producers_ * isa::warp_size), integer(stages_)});
    empty_ = builder_.add_first(
        isa::AllocateBarrier{integer(one_arrives_ ? 1 : isa::warp_group_size), integer(stages_)});
    output_ = builder_.output_view(shape_.accumulator, {shape_.m, shape_.n});
    const bool is_made = (a_in_registers_ || sa_.valid()) && sb_.valid() && full_.valid() &&
                         empty_.valid() && output_.valid();
    if (!is_made) return;
    builder_.add(isa::Synchronize{});
    builder_.note_barrier();
    isa::ForkStmt fork;
    fork.groups.push_back(
        group(producer_, producers_, [&] { loop([&](const isa::Expr& k_now) { fill(k_now); }); }));
    fork.groups.push_back(group(first_, 4, [&] { multiply(); }));
    builder_.add_statement(std::move(fork));
    builder_.add(isa::Synchronize{});
    builder_.note_barrier();
  }

 private:
  static isa::ScalarOperand integer(std::int64_t value) { return {isa::Expr::constant(value)}; }

  template <class Body>
  isa::WarpGroup group(std::int64_t first, std::int64_t warps, Body&& body) {
    isa::WarpGroup made;
    made.first_warp = first;
    made.warps = warps;
    builder_.open();
    body();
    made.body = builder_.close();
    return made;
  }

  template <class Body>
  void loop(Body&& body) {
    isa::ForStmt loop;
    loop.var = builder_.new_variable('k', isa::ScalarType{isa::ScalarKind::i32});
    loop.end = isa::Expr::constant(steps_);
    loop.step = isa::Expr::constant(std::int64_t{1});
    builder_.open();
    body(builder_.use({loop.var, isa::ScalarKind::i32}));
    loop.body = builder_.close();
    builder_.add_statement(std::move(loop));
  }

  [[nodiscard]] isa::Expr stage(const isa::Expr& k) const {
    return isa::Expr::binary(isa::ScalarBinary::mod, k, isa::Expr::constant(stages_));
  }
  [[nodiscard]] isa::OffsetList place(const isa::Expr& k) const {
    isa::OffsetList offset;
    offset.entries.push_back({stage(k), false});
    for (int d = 0; d < 2; ++d) {
      offset.entries.push_back({isa::Expr::constant(std::int64_t{0}), true});
    }
    return offset;
  }
  void wait(isa::VarId barrier, const isa::Expr& k, std::int64_t first_parity) {
    const isa::Expr round =
        isa::Expr::binary(isa::ScalarBinary::div, k, isa::Expr::constant(stages_));
    const isa::Expr parity = isa::Expr::binary(
        isa::ScalarBinary::mod,
        isa::Expr::binary(isa::ScalarBinary::add, round, isa::Expr::constant(first_parity)),
        isa::Expr::constant(std::int64_t{2}));
    builder_.add(isa::WaitBarrier{{barrier}, {parity}, isa::ScalarOperand{stage(k)}});
  }

  void put(isa::VarId tensor, const SharedOperandMatrix& matrix, const isa::Expr& k) {
    const Tile tile = builder_.load(
        matrix.dtype, random_layout(draw_, producers_ * isa::warp_size, matrix.shape()));
    if (tile.var.valid()) builder_.add(isa::StoreShared{{tile.var}, {tensor}, place(k)});
  }
  void fill(const isa::Expr& k) {
    wait(empty_, k, 1);
    if (!a_in_registers_) put(sa_, a_, k);
    put(sb_, b_, k);
    builder_.add(isa::FenceProxy{});
    builder_.add(isa::Arrive{{full_}, isa::ScalarOperand{stage(k)}, {}});
  }

  void multiply() {
    const isa::VarId sum =
        builder_.constant(shape_.accumulator, shape_.c_layout, isa::Expr::constant(std::int64_t{1}))
            .var;
    if (!sum.valid()) return;
    loop([&](const isa::Expr& k) {
      isa::DotAsync dot;
      if (a_in_registers_) {
        const RegisterLayout layout =
            composed(made_layout(isa::local({1, a_.k / shape_.k})), shape_.a_layout);
        const Tile left = builder_.load(shape_.a, layout);
        if (!left.var.valid()) return;
        dot.a = {isa::RegisterOperand{left.var}};
      } else {
        dot.a = {isa::SharedOperand{sa_}};
        dot.a_offset = place(k);
      }
      dot.b = {sb_};
      dot.b_offset = place(k);
      dot.c = {sum};
      wait(full_, k, 0);
      builder_.add(dot, sum);
      builder_.add(isa::DotAsyncCommitGroup{});
      builder_.add(isa::DotAsyncWaitGroup{{isa::Expr::constant(std::int64_t{0})}});
      give_back(k);
    });
    isa::OffsetList offset{builder_.own_part()};
    for (int d = 0; d < 2; ++d) {
      offset.entries.push_back({isa::Expr::constant(std::int64_t{0}), true});
    }
    builder_.add(isa::StoreGlobal{{sum}, {output_}, offset});
  }

  void give_back(const isa::Expr& k) {
    const isa::Arrive arrive{{empty_}, isa::ScalarOperand{stage(k)}, {}};
    if (!one_arrives_) {
      builder_.add(arrive);
      return;
    }
    builder_.add(isa::Synchronize{});
    builder_.open();
    builder_.add(arrive);
    isa::WarpGroup one;
    one.elects = true;
    one.body = builder_.close();
    isa::ForkStmt fork;
    fork.groups.push_back(std::move(one));
    builder_.add_statement(std::move(fork));
  }

  KernelBuilder& builder_;
  Draw& draw_;
  const MmaShape& shape_;
  std::int64_t stages_, steps_, warps_, first_;
  std::int64_t producer_ = 0, producers_ = 1;
  bool a_in_registers_, one_arrives_;
  SharedOperandMatrix a_{}, b_{};
  isa::VarId sa_, sb_, full_, empty_, output_;
};

}  // namespace

void make_dot_async(KernelBuilder& builder) {
  std::vector<const MmaShape*> shapes;
  for (const MmaShape& shape : isa::wgmma_shapes()) {
    if (shape.n <= most_columns && isa::mma_rule(builder.target(), shape)) shapes.push_back(&shape);
  }
  if (shapes.empty()) return;
  const bool in_groups = can_have_groups(builder) && builder.threads() > isa::warp_group_size &&
                         builder.draw().chance(60);
  if (in_groups) return ProductRing(builder, *builder.draw().pick(shapes)).make();
  if (builder.threads() % isa::warp_group_size != 0) return;
  multiply_later(builder, *builder.draw().pick(shapes));
}

}  // namespace tilevm::vm::fuzz
