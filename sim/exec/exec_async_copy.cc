// Asynchronous copies from global to shared memory by all threads, in commit groups.
#include <memory>
#include <optional>
#include <utility>

#include "isa/program/tile_move.h"
#include "sim/access/copy_plan.h"
#include "sim/access/shared_access.h"
#include "sim/exec/async_copy.h"
#include "sim/exec/global_moves.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {
namespace {

/// Where the index of a copy is for each element.
IndexedTile index_tile(const isa::CopyAsync& inst, const isa::Shape& shape,
                       const Preparation& preparation) {
  const isa::VarId index = inst.index->var;
  return indexed_copy({index, inst.dim->dims.front()}, preparation.register_type(index),
                      preparation.registers.offset(index), shape);
}

}  // namespace

/// All copies of the action and of the state share one plan, since pending copies point at the
/// plan.
template <>
Action prepare(const isa::CopyAsync& inst, const Preparation& preparation) {
  const isa::SharedType& type = preparation.shared_type(inst.dst.var);
  const isa::Shape shape = isa::tile_shape(inst.shared_offset, type);
  const auto parts = preparation.tables.parts(shape);
  const Tile tile = data_tile(*parts, type.dtype.bits);
  std::optional<int> indexed_dim;
  if (inst.dim) indexed_dim = inst.dim->dims.front();
  GlobalAccess source =
      make_global_access(inst.src.var, shape, inst.offset, tile, parts, preparation, indexed_dim);
  if (inst.index) {
    const isa::VarId index = inst.index->var;
    source.indexed = make_indexed_access(index_tile(inst, shape, preparation), source.tile_dims,
                                         tile, preparation.name(index), preparation);
  }
  auto plan = std::make_shared<const CopyPlan>(CopyPlan{
      std::move(source),
      make_shared_access(inst.dst.var, shape, inst.shared_offset, tile, parts, preparation)});
  return [plan = std::move(plan)](Context& context) { return issue_copy(*plan, context); };
}

/// All indices must have values.
template <>
UndefinedTransfer undefined_transfer(const isa::CopyAsync& inst, const Preparation& preparation) {
  return use_transfer(tile_operands(inst), preparation);
}

template <>
Action prepare(const isa::CopyAsyncCommitGroup&, const Preparation&) {
  return [](Context& context) {
    commit_copies(context.state.shared);
    return true;
  };
}

template <>
Action prepare(const isa::CopyAsyncWaitGroup& inst, const Preparation& preparation) {
  const auto pending = static_cast<std::uint64_t>(inst.pending.value.constant_int().value_or(0));
  return [pending, span = preparation.span, number = preparation.new_barrier()](Context& context) {
    wait_for_copies(pending, span, number, context);
    return true;
  };
}

}  // namespace tilevm::sim
