#include "isa/program/tile_move.h"

namespace tilevm::isa {

std::optional<TileMove> tile_move(const InstStmt& stmt) {
  return std::visit(
      [&]<class Inst>(const Inst& inst) -> std::optional<TileMove> {
        if constexpr (moves_tile<Inst>()) {
          return tile_move(inst, stmt);
        } else {
          return std::nullopt;
        }
      },
      stmt.inst);
}

Shape tile_shape(const std::optional<OffsetList>& offset, const SharedType& tensor) {
  if (!offset) return tensor.shape();
  Shape shape;
  for (std::size_t d = 0; d < offset->entries.size(); ++d) {
    if (offset->entries[d].tile) shape.push_back(tensor.shape()[d]);
  }
  return shape;
}

std::optional<Shape> tile_shape(const Prefetch& inst, const GlobalType& view) {
  return inst.shape ? inst.shape->extents : view.static_shape();
}

}  // namespace tilevm::isa
