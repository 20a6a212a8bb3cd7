#include "sim/counting/metered_access.h"

#include <variant>

#include "isa/program/tile_move.h"

namespace tilevm::sim {
namespace {

/// What the meters of the instructions are made from.
struct MeterInputs {
  const isa::VerifiedProgram& program;
  const isa::Kernel& kernel;
  const isa::KernelInfo& info;
  const isa::InstStmt& stmt;
  SharedTables& tables;
  const RegisterFile* registers;  ///< null if no state will be looked at
  std::int64_t id;

  template <class T>
  [[nodiscard]] const T& type(isa::VarId var) const {
    return *std::get_if<T>(&kernel.variable(var).type);
  }
  /// In the register slab.
  [[nodiscard]] std::size_t offset_of(isa::VarId tile) const {
    return registers != nullptr ? registers->offset(tile) : 0;
  }
  /// The grid of a tile in registers.
  [[nodiscard]] AccessGrid grid(const isa::RegisterType& tile) const {
    return {info.access_plan(stmt), info.threads_at(stmt.id), tables.parts(tile.layout)};
  }
  [[nodiscard]] IndexedTile indexed(const isa::IndexedDim& by,
                                    const isa::RegisterLayout& tile) const {
    return indexed_tile(by, type<isa::RegisterType>(by.index), offset_of(by.index), tile);
  }
  [[nodiscard]] GlobalSide global(isa::VarId var, const std::optional<isa::OffsetList>& offset,
                                  const isa::Shape& shape,
                                  std::optional<int> indexed_dim = {}) const {
    const auto& view = type<isa::GlobalType>(var);
    return {TilePosition(offset, view.rank(), shape, indexed_dim),
            static_cast<std::size_t>(var.index), view.dtype.bits};
  }
  [[nodiscard]] SharedSide shared(isa::VarId var, const std::optional<isa::OffsetList>& offset,
                                  const isa::Shape& shape,
                                  std::optional<int> indexed_dim = {}) const {
    const auto& tensor = type<isa::SharedType>(var);
    return {TilePosition(offset, tensor.layout.rank(), shape, indexed_dim), &tensor.layout,
            tensor.dtype.bits, static_cast<std::uint64_t>(info.shared_tile(var).offset) * 8};
  }
};

MeteredAccess access_of(const isa::RegisterMove& move, const MeterInputs& making) {
  const auto& tile = making.type<isa::RegisterType>(move.tile);
  MeteredAccess access{making.id, making.grid(tile), move.stores, std::nullopt, std::nullopt};
  std::optional<int> dim;
  if (move.indexed) {
    dim = move.indexed->dim;
    access.indexed = making.indexed(*move.indexed, tile.layout);
  }
  if (std::holds_alternative<isa::GlobalType>(making.kernel.variable(move.tensor).type)) {
    access.global = making.global(move.tensor, move.offset, tile.shape(), dim);
  } else {
    access.shared = making.shared(move.tensor, move.offset, tile.shape(), dim);
  }
  return access;
}

MeteredAccess access_of(const isa::CopyMove& move, const MeterInputs& making) {
  const isa::Shape shape = isa::tile_shape(move.offset, making.type<isa::SharedType>(move.tensor));
  MeteredAccess access{making.id,
                       AccessGrid(making.info.access_plan(making.stmt),
                                  making.info.threads_at(making.stmt.id), nullptr),
                       false, std::nullopt, making.shared(move.tensor, move.offset, shape)};
  std::optional<int> dim;
  if (move.indexed) {
    dim = move.indexed->dim;
    const isa::VarId index = move.indexed->index;
    access.indexed = indexed_copy(*move.indexed, making.type<isa::RegisterType>(index),
                                  making.offset_of(index), shape);
    access.shape = shape;
    access.index_numbers = index_numbers(making.type<isa::RegisterType>(index).shape(), shape);
  }
  access.global = making.global(move.view, move.view_offset, shape, dim);
  return access;
}

}  // namespace

std::optional<MeteredAccess> find_access(const isa::VerifiedProgram& program, int kernel,
                                         const isa::InstStmt& stmt, SharedTables& tables,
                                         const RegisterFile* registers, std::int64_t id) {
  const MeterInputs making{
      program, program.kernel(kernel), program.info(kernel), stmt, tables, registers, id};
  const std::optional<isa::TileMove> move = isa::tile_move(stmt);
  if (!move) return std::nullopt;
  return std::visit([&](const auto& each) { return access_of(each, making); }, *move);
}

}  // namespace tilevm::sim
