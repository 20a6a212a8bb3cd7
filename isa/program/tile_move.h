// The tile that an instruction moves, and between what: from this its accesses are planned
// (isa/access/access_plan.h) and counted.
#pragma once

#include <optional>
#include <type_traits>
#include <variant>

#include "isa/inst/instruction_set.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// The dimension of a tensor along which a register tile says where elements are: at the offset
/// along the dimension plus the element of `index`, which broadcasts to the tile that moves.
struct IndexedDim {
  VarId index;
  int dim = 0;
};

/// Between registers and a tensor in shared or global memory.
struct RegisterMove {
  VarId tile, tensor;
  std::optional<OffsetList> offset;        ///< offset in the tensor
  bool stores = false;                     ///< whether it moves from registers to memory
  std::optional<IndexedDim> indexed = {};  ///< none of the tile's own dimensions is along it
  /// How a stored element is combined with the one in memory; it replaces that if there is none.
  std::optional<ReduceOp> combines = {};
  std::optional<CacheHint> cache = {};
};

/// From a view of global memory to a shared tensor; `offset` is that in the tensor, whose extents
/// along the colons are those of the tile.
struct CopyMove {
  VarId view, tensor;
  std::optional<OffsetList> view_offset, offset;
  std::optional<IndexedDim> indexed = {};  ///< indexed dimension of the view
};

using TileMove = std::variant<RegisterMove, CopyMove>;

/// Whether the threads of an instruction move a tile: it transfers, a tensor in memory is an
/// operand of it, and the copy engine does not move it.
template <class Inst>
constexpr bool moves_tile() {
  bool found = false;
  for_each_slot<Inst>([&]<class Slot>(const SlotInfo<Inst, Slot>& info, std::size_t) {
    found = found || info.access != Access::none;
  });
  return found && Inst::schema.description.category == Category::transfer &&
         !Inst::schema.description.by_copy_engine;
}

/// What an instruction that moves a tile moves: a specialisation for each, beside its type rule.
/// The template itself has no definition, so a forgotten one does not link.
template <class Inst>
TileMove tile_move(const Inst& inst, const InstStmt& stmt);

/// What a statement moves, if it does.
[[nodiscard]] std::optional<TileMove> tile_move(const InstStmt& stmt);

/// The extents of the tile that a copy moves to an offset of a tensor of this type.
[[nodiscard]] Shape tile_shape(const std::optional<OffsetList>& offset, const SharedType& tensor);

/// The extents of the tile that a Prefetch fetches; nothing if they are known at run time only.
[[nodiscard]] std::optional<Shape> tile_shape(const Prefetch& inst, const GlobalType& view);

}  // namespace tilevm::isa
