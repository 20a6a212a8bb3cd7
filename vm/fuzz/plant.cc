#include "vm/fuzz/plant.h"

#include <fmt/format.h>

#include "isa/dot/mma_shapes.h"
#include "isa/layout/layout_ops.h"
#include "vm/fuzz/random_layout.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;
using isa::RegisterLayout;
using isa::VarId;
using Report = std::optional<ExpectedReport>;

/// An element for each thread, side by side.
RegisterLayout side_by_side(const KernelBuilder& builder) {
  return *isa::spatial({builder.threads()});
}

/// A layout of all elements in every thread: a load in this layout crosses threads.
RegisterLayout all_in_each(const KernelBuilder& builder) {
  const RegisterLayout places = *isa::local({builder.threads()});
  return *isa::compose(*isa::replicated(builder.threads()), places);
}

isa::OffsetList at(std::int64_t offset) { return {{{Expr::constant(offset), true}}}; }

/// The name that a statement's text begins with.
ExpectedReport reported(Code code, VarId result) {
  return {code, fmt::format("t{} = ", result.index)};
}

VarId shared_tensor(KernelBuilder& builder) {
  return builder.add_first(isa::AllocateShared{isa::i32, {{builder.threads()}}, {}});
}

VarId load_all(KernelBuilder& builder, VarId shared) {
  return builder.add(isa::LoadShared{{shared}, all_in_each(builder), at(0), {}});
}

Tile numbers(KernelBuilder& builder) {
  isa::ElementValues values;
  for (std::int64_t i = 0; i < builder.threads(); ++i)
    values.values.push_back(Expr::constant(i + 1));
  const RegisterLayout layout = side_by_side(builder);
  const VarId var = builder.add(isa::AllocateRegister{isa::i32, {}, layout, values});
  return {var, {isa::i32, layout}};
}

Report no_barrier(KernelBuilder& builder, bool faulty) {
  if (builder.threads() < 2) return std::nullopt;
  const VarId shared = shared_tensor(builder);
  const Tile tile = numbers(builder);
  builder.add(isa::StoreShared{{tile.var}, {shared}, at(0)});
  if (!faulty) builder.add(isa::Synchronize{});
  return reported(Code::race, load_all(builder, shared));
}

Report copies(KernelBuilder& builder, bool waits, bool synchronizes) {
  if (builder.threads() < 2) return std::nullopt;
  const VarId shared = shared_tensor(builder);
  const InputView view = builder.input_view(isa::i32, {builder.threads()});
  const isa::OffsetList offset = builder.edge_offset(view.extents, {builder.threads()});
  builder.synchronize();
  builder.add(isa::CopyAsync{{shared}, {view.var}, offset, {}, {}, {}});
  builder.add(isa::CopyAsyncCommitGroup{});
  if (waits) builder.add(isa::CopyAsyncWaitGroup{{Expr::constant(0)}});
  if (synchronizes) builder.add(isa::Synchronize{});
  return reported(Code::in_flight_access, load_all(builder, shared));
}

Report shared_offset(KernelBuilder& builder, bool faulty) {
  const VarId shared = shared_tensor(builder);
  const Tile tile = numbers(builder);
  builder.add(isa::StoreShared{{tile.var}, {shared}, at(0)});
  builder.synchronize();
  return reported(
      Code::out_of_bounds,
      builder.add(isa::LoadShared{{shared}, side_by_side(builder), at(faulty ? 1 : 0), {}}));
}

/// Stores a tile where the block alone stores.
ExpectedReport store_undefined(KernelBuilder& builder, VarId tile) {
  const VarId view = builder.output_view(isa::i32, {builder.threads()});
  isa::OffsetList offset{builder.own_part()};
  offset.entries.push_back({Expr::constant(0), true});
  builder.add(isa::StoreGlobal{{tile}, {view}, offset});
  return {Code::uninitialized_read, fmt::format("StoreGlobal(t{},", tile.index)};
}

Report undefined_tile(KernelBuilder& builder, bool faulty) {
  isa::AllocateRegister inst{isa::i32, {}, side_by_side(builder), {}};
  if (!faulty) inst.init = isa::ElementValues{{Expr::constant(7)}};
  const VarId tile = builder.add(inst);
  return store_undefined(builder, tile);
}

Report undefined_shared(KernelBuilder& builder, bool faulty) {
  const VarId shared = shared_tensor(builder);
  const Tile tile = numbers(builder);
  if (!faulty) builder.add(isa::StoreShared{{tile.var}, {shared}, at(0)});
  builder.synchronize();
  const VarId loaded = builder.add(isa::LoadShared{{shared}, side_by_side(builder), at(0), {}});
  return store_undefined(builder, loaded);
}

Report blocks_race(KernelBuilder& builder, bool faulty) {
  if (builder.blocks() < 2 || builder.depth() > 0) return std::nullopt;
  const VarId workspace = builder.add_first(
      isa::AllocateGlobal{isa::i32, {{builder.blocks(), builder.threads()}}, {}, {}});
  const Tile tile = numbers(builder);
  isa::OffsetList offset = at(0);
  const Expr part = faulty ? Expr::constant(0) : builder.block_number();
  offset.entries.insert(offset.entries.begin(), {part, false});
  builder.add(isa::StoreGlobal{{tile.var}, {workspace}, offset});
  return ExpectedReport{Code::race,
                        fmt::format("StoreGlobal(t{}, g{},", tile.var.index, workspace.index)};
}

Report zero_divisor(KernelBuilder& builder, bool faulty) {
  const Tile tile = numbers(builder);
  const VarId divisor = builder.add(isa::AllocateRegister{
      isa::i32, {}, side_by_side(builder), isa::ElementValues{{Expr::constant(faulty ? 0 : 3)}}});
  return reported(Code::run_division_by_zero, builder.add(isa::Div{{tile.var}, {divisor}}));
}

Report zero_scalar(KernelBuilder& builder, bool faulty) {
  const Expr index = builder.block_index(0);
  Expr divisor = Expr::binary(isa::ScalarBinary::sub, index, index);
  if (!faulty) divisor = Expr::binary(isa::ScalarBinary::bit_or, divisor, Expr::constant(1));
  const VarId result = builder.declare_scalar(
      Expr::binary(isa::ScalarBinary::div, Expr::constant(5), divisor), false);
  return ExpectedReport{Code::run_division_by_zero, fmt::format("n{} = ", result.index)};
}

Report replicas(KernelBuilder& builder, bool faulty) {
  if (builder.threads() < 2) return std::nullopt;
  const Tile tile = numbers(builder);
  const RegisterLayout one = *isa::compose(*isa::replicated(builder.threads()), *isa::local({1}));
  const RegisterLayout layout = faulty ? one : side_by_side(builder);
  return reported(Code::replicas_differ, builder.add(isa::View{{tile.var}, {}, layout}));
}

Report deadlock(KernelBuilder& builder, bool faulty) {
  if (builder.depth() > 0 || builder.may_have_ended) return std::nullopt;
  const VarId semaphore = builder.add_first(
      isa::AllocateGlobal{isa::i32, {{1}}, {}, isa::ScalarOperand{Expr::constant(0)}});
  const isa::OffsetList element{{{Expr::constant(0), false}}};
  builder.add(isa::LockSemaphore{{semaphore}, {Expr::constant(faulty ? 1 : 0)}, element});
  builder.note_barrier();
  return ExpectedReport{Code::deadlock, fmt::format("LockSemaphore(g{},", semaphore.index)};
}

/// A product in every warp, of replicas.
Report unordered_places(KernelBuilder& builder, bool faulty) {
  if (builder.threads() % isa::warp_size != 0) return std::nullopt;
  const isa::MmaShape& shape = isa::sparse_mma_shapes().front();
  const RegisterLayout warps = *isa::replicated(builder.threads() / isa::warp_size);
  const auto filled = [&](const isa::DType& type, const RegisterLayout& fragment,
                          isa::ElementValues values) {
    return builder.add(isa::AllocateRegister{type, {}, *isa::compose(warps, fragment), values});
  };
  const isa::ElementValues ones{{Expr::constant(1)}};
  const VarId a = filled(shape.a, shape.a_layout, ones), b = filled(shape.b, shape.b_layout, ones),
              c = filled(shape.accumulator, shape.c_layout, ones);
  const VarId places = filled(
      isa::unsigned_int(2), isa::single_places_layout(shape),
      {{Expr::constant(0), Expr::constant(2), Expr::constant(1), Expr::constant(faulty ? 1 : 3)}});
  return reported(Code::unordered_places, builder.add(isa::DotSparse{{a}, {places}, {b}, {c}}));
}

Report assertion(KernelBuilder& builder, bool faulty) {
  const Tile tile = numbers(builder);
  const std::int64_t limit = builder.threads() + (faulty ? 0 : 1);
  const VarId least = builder.add(isa::AllocateRegister{
      isa::i32, {}, side_by_side(builder), isa::ElementValues{{Expr::constant(limit)}}});
  const VarId holds = builder.add(isa::Lt{{tile.var}, {least}});
  builder.add(isa::Assert{{isa::RegisterOperand{holds}}, {}});
  return ExpectedReport{Code::assertion_failed, fmt::format("Assert(t{})", holds.index)};
}

/// All threads add to one element.
Report combined(KernelBuilder& builder, bool faulty) {
  if (builder.threads() < 2) return std::nullopt;
  const VarId shared = shared_tensor(builder);
  const Tile tile = numbers(builder);
  builder.add(isa::StoreShared{{tile.var}, {shared}, at(0)});
  builder.synchronize();
  const VarId index = builder.add(isa::AllocateRegister{
      isa::i32, {}, side_by_side(builder), isa::ElementValues{{Expr::constant(0)}}});
  builder.add(isa::Scatter{
      {tile.var}, {isa::SharedOperand{shared}}, {index}, {{0}}, {}, isa::ReduceOp::add});
  if (!faulty) builder.synchronize();
  return reported(Code::race, load_all(builder, shared));
}

}  // namespace

std::optional<ExpectedReport> plant(KernelBuilder& builder, Planted planted, bool faulty) {
  switch (planted) {
    case Planted::no_barrier:
      return no_barrier(builder, faulty);
    case Planted::no_wait:
      return copies(builder, !faulty, true);
    case Planted::no_barrier_after_wait:
      return copies(builder, true, !faulty);
    case Planted::shared_offset:
      return shared_offset(builder, faulty);
    case Planted::undefined_tile:
      return undefined_tile(builder, faulty);
    case Planted::undefined_shared:
      return undefined_shared(builder, faulty);
    case Planted::blocks_race:
      return blocks_race(builder, faulty);
    case Planted::zero_divisor:
      return zero_divisor(builder, faulty);
    case Planted::zero_scalar:
      return zero_scalar(builder, faulty);
    case Planted::replicas:
      return replicas(builder, faulty);
    case Planted::deadlock:
      return deadlock(builder, faulty);
    case Planted::unordered_places:
      return unordered_places(builder, faulty);
    case Planted::assertion:
      return assertion(builder, faulty);
    case Planted::no_barrier_after_add:
      return combined(builder, faulty);
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::vm::fuzz
