// Instructions that move tiles between registers and global memory.
#include <utility>

#include "isa/rules/rules.h"
#include "sim/access/access_places.h"
#include "sim/access/global_access.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {
namespace {

/// The access of a tile in registers.
GlobalAccess of_registers(std::string_view mnemonic, isa::VarId view, isa::VarId tile,
                          const std::optional<isa::OffsetList>& offset,
                          const Preparation& preparation) {
  GlobalAccess access =
      make_global_access(mnemonic, view, preparation.register_type(tile).shape(), offset,
                         preparation.tile(tile), preparation.parts(tile), preparation);
  access.tile_name = preparation.name(tile);
  return access;
}

}  // namespace

GlobalAccess make_global_access(std::string_view mnemonic, isa::VarId view, const isa::Shape& shape,
                                const std::optional<isa::OffsetList>& offset, const Tile& tile,
                                std::shared_ptr<const LayoutParts> parts,
                                const Preparation& preparation) {
  const isa::Variable& variable = preparation.variable(view);
  GlobalAccess access;
  access.mnemonic = mnemonic;
  access.view_name = preparation.name(view);
  access.view_span = variable.span;
  access.span = preparation.span;
  access.statement = preparation.new_memory_statement(mnemonic);
  access.view = static_cast<std::size_t>(view.index);
  access.dtype = preparation.global_type(view).dtype;
  access.tile = tile;
  access.parts = std::move(parts);
  access.table = preparation.new_table(tile);
  TilePosition position(offset, preparation.global_type(view).rank(), shape);
  access.offsets = std::move(position.offsets);
  access.tile_dims = std::move(position.tile_dims);
  access.extents = std::move(position.extents);
  return access;
}

/// Every thread reads its elements; outside the view they are zero.
template <>
Action prepare(const isa::LoadGlobal& inst, const Preparation& preparation) {
  return [access = of_registers("LoadGlobal", inst.src.var, preparation.result(), inst.offset,
                                preparation)](Context& context) { return load(access, context); };
}

/// The first thread that holds an element writes it; outside the view nothing is written.
template <>
Action prepare(const isa::StoreGlobal& inst, const Preparation& preparation) {
  return [access = of_registers("StoreGlobal", inst.dst.var, inst.src.var, inst.offset,
                                preparation)](Context& context) { return store(access, context); };
}

}  // namespace tilevm::sim
