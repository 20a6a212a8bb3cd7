// Instructions that move tiles of which an index tile says where each element is in memory.
#include <utility>
#include <variant>
#include <vector>

#include "isa/program/tile_move.h"
#include "isa/rules/support.h"
#include "sim/access/global_access.h"
#include "sim/access/shared_access.h"
#include "sim/exec/global_moves.h"
#include "sim/exec/semantics.h"
#include "sim/exec/shared_moves.h"

namespace tilevm::sim {
namespace {

std::shared_ptr<const IndexedAccess> index_of(const isa::RegisterMove& move,
                                              const std::vector<int>& tile_dims,
                                              const Preparation& preparation) {
  const isa::VarId index = move.indexed->index;
  return make_indexed_access(indexed_tile(*move.indexed, preparation.register_type(index),
                                          preparation.registers.offset(index),
                                          preparation.register_type(move.tile).layout),
                             tile_dims, preparation.tile(move.tile), preparation.name(index),
                             preparation);
}

GlobalAccess in_view(const isa::RegisterMove& move, const Preparation& preparation) {
  const isa::RegisterLayout& layout = preparation.register_type(move.tile).layout;
  GlobalAccess access =
      make_global_access(move.tensor, layout.shape(), move.offset, preparation.tile(move.tile),
                         preparation.parts(move.tile), preparation, move.indexed->dim);
  access.tile_name = preparation.name(move.tile);
  access.indexed = index_of(move, access.tile_dims, preparation);
  access.combines = move.combines;
  if (move.combines) access.combination = combination(*move.combines, access.dtype);
  return access;
}

SharedAccess in_shared(const isa::RegisterMove& move, const Preparation& preparation) {
  const isa::RegisterLayout& layout = preparation.register_type(move.tile).layout;
  SharedAccess access =
      make_shared_access(move.tensor, layout.shape(), move.offset, preparation.tile(move.tile),
                         preparation.parts(move.tile), preparation, move.indexed->dim);
  access.indexed = index_of(move, access.geometry.tile_dims, preparation);
  access.combines = move.combines;
  if (move.combines) access.combination = combination(*move.combines, access.dtype);
  return access;
}

/// The move of a statement that loads or stores a tile.
Action prepare_move(const Preparation& preparation) {
  const auto moved = isa::tile_move(preparation.stmt);
  const isa::RegisterMove& move = *std::get_if<isa::RegisterMove>(&*moved);
  const bool stores = move.stores;
  if (std::holds_alternative<isa::GlobalType>(preparation.variable(move.tensor).type)) {
    return [access = in_view(move, preparation), stores](Context& context) {
      return stores ? store(access, context) : load(access, context);
    };
  }
  return [access = in_shared(move, preparation), stores](Context& context) {
    return stores ? store_tile(access, context) : load_tile(access, context);
  };
}

}  // namespace

/// Every thread reads its elements.
template <>
Action prepare(const isa::Gather&, const Preparation& preparation) {
  return prepare_move(preparation);
}

/// The first thread that holds an element writes the element.
template <>
Action prepare(const isa::Scatter&, const Preparation& preparation) {
  return prepare_move(preparation);
}

// The actions move the undefined mask along with the elements. All indices must have values.
template <>
UndefinedTransfer undefined_transfer(const isa::Gather& inst, const Preparation& preparation) {
  return use_transfer(tile_operands(inst), preparation);
}

/// A store to global memory needs defined values only for elements inside the view.
template <>
UndefinedTransfer undefined_transfer(const isa::Scatter& inst, const Preparation& preparation) {
  std::vector<TileOperand> operands = tile_operands(inst);
  if (std::holds_alternative<isa::GlobalOperand>(inst.dst.value)) {
    std::erase_if(operands, [](const TileOperand& operand) {
      return operand.slot == isa::position_of(&isa::Scatter::src);
    });
  }
  return use_transfer(operands, preparation);
}

template <>
ShadowFlow shadow_flow(const isa::Gather&, const Preparation&) {
  return {};
}

}  // namespace tilevm::sim
