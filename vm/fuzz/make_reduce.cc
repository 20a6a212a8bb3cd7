// Instructions between elements of a tile, and scalars of elements.
#include <algorithm>
#include <numeric>

#include "isa/base/enumerators.h"
#include "isa/layout/layout_ops.h"
#include "vm/fuzz/random_layout.h"
#include "vm/fuzz/scenarios.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;
using isa::ReduceOp;

ReduceOp some_operation(Draw& draw) {
  constexpr auto count = static_cast<std::int64_t>(enumerator_count<ReduceOp>());
  // Sums are the operation whose order counts.
  return draw.chance(35) ? ReduceOp::add : static_cast<ReduceOp>(draw.below(count));
}

/// Some dimensions of a tile, in any order.
isa::DimList some_dims(Draw& draw, int rank) {
  isa::DimList list{std::vector<int>(static_cast<std::size_t>(rank))};
  std::iota(list.dims.begin(), list.dims.end(), 0);
  draw.shuffle(list.dims);
  list.dims.resize(static_cast<std::size_t>(rank > 0 ? draw.between(1, rank) : 0));
  return list;
}

/// A tile on whose type the operation is defined.
Tile tile_for(KernelBuilder& builder, ReduceOp op) {
  Draw& draw = builder.draw();
  Tile source = builder.any_tile();
  if (!source.var.valid() || isa::is_defined(isa::combination(op), source.type.dtype)) {
    return source;
  }
  const bool floats = draw.chance(50) && !isa::is_bitwise(isa::combination(op));
  return builder.tile(floats ? isa::f16 : isa::i32, source.type.layout);
}

bool has_scalar(const isa::DType& type) { return type.is_integer() || type == isa::f32; }

/// The kind of scalar that LoadScalar gives for elements of a type.
void add_scalar(KernelBuilder& builder, isa::TensorOperand from, const isa::DType& type,
                std::optional<isa::OffsetList> offset) {
  const isa::VarId var = builder.add(isa::LoadScalar{std::move(from), std::move(offset)});
  if (!var.valid()) return;
  isa::ScalarKind kind = isa::ScalarKind::f32;
  if (type.is_integer()) {
    const bool wide = type.bits > 32;
    kind = type.is_signed_int() ? (wide ? isa::ScalarKind::i64 : isa::ScalarKind::i32)
                                : (wide ? isa::ScalarKind::u64 : isa::ScalarKind::u32);
  }
  builder.add_scalar({var, kind, true});
}

/// A tile of one element, made of a larger one.
void load_from_tile(KernelBuilder& builder) {
  const Tile source = builder.any_tile();
  if (!source.var.valid() || !has_scalar(source.type.dtype)) return;
  isa::DimList all{std::vector<int>(source.type.shape().size())};
  std::iota(all.dims.begin(), all.dims.end(), 0);
  const ReduceOp op = builder.draw().chance(50) ? ReduceOp::max : ReduceOp::add;
  const isa::VarId one = builder.add(isa::Reduce{{source.var}, op, all, {}});
  if (!one.valid()) return;
  add_scalar(builder, {isa::RegisterOperand{one}}, source.type.dtype, {});
}

/// Memory of the block's own; what it wrote there comes before a barrier.
bool load_from_own(KernelBuilder& builder) {
  std::vector<OwnMemory*> found;
  for (OwnMemory& memory : builder.memories()) {
    if (memory.shared && memory.defined && has_scalar(memory.dtype)) found.push_back(&memory);
  }
  if (found.empty()) return false;
  OwnMemory& memory = *builder.draw().pick(found);
  builder.before_read(memory);
  add_scalar(builder, {isa::SharedOperand{memory.var}}, memory.dtype,
             builder.inner_offset(memory.shape, {}));
  return true;
}

void load_from_input(KernelBuilder& builder) {
  isa::DType type = builder.some_type();
  if (!has_scalar(type)) type = isa::i32;
  const InputView view = builder.input_view(type, {builder.draw().between(1, 9)});
  if (!view.var.valid()) return;
  std::optional<isa::OffsetList> offset = builder.inner_offset(view.extents, {});
  if (builder.draw().chance(15)) offset.reset();
  add_scalar(builder, {isa::GlobalOperand{view.var}}, type, offset);
}

}  // namespace

void make_reduce(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const ReduceOp op = some_operation(draw);
  const Tile source = tile_for(builder, op);
  if (!source.var.valid()) return;
  isa::Reduce inst{{source.var}, op, some_dims(draw, source.type.layout.rank()), {}};
  if (draw.chance(50)) {
    inst.keep_dims = isa::ScalarOperand{Expr::constant(isa::Scalar::of(draw.chance(70)))};
  }
  if (!isa::gives_index(op)) return builder.compute(inst);
  for (const isa::VarId result : builder.add_all(inst)) builder.add_tile(result);
}

void make_scan(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const ReduceOp op = some_operation(draw);
  Tile source = tile_for(builder, op);
  if (!source.var.valid() || source.type.layout.rank() == 0 || isa::gives_index(op)) return;
  const auto dim = static_cast<int>(draw.below(source.type.layout.rank()));
  isa::Scan inst{{source.var}, op, {{dim}}, {}};
  if (draw.chance(50)) {
    inst.exclusive = isa::ScalarOperand{Expr::constant(isa::Scalar::of(draw.chance(70)))};
  }
  builder.compute(inst);
}

void make_load_scalar(KernelBuilder& builder) {
  const std::int64_t from = builder.draw().below(3);
  if (from == 0) return load_from_tile(builder);
  if (from == 1 && load_from_own(builder)) return;
  load_from_input(builder);
}

}  // namespace tilevm::vm::fuzz
