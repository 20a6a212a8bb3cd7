#include "sim/access/global_access.h"

#include <utility>

#include "isa/analysis/address_terms.h"
#include "sim/access/access_addresses.h"

namespace tilevm::sim {

TensorInMemory tensor_of(const GlobalView& view, std::size_t indexed_dim) {
  return {static_cast<std::size_t>(view.rank), view.extents[indexed_dim], view.strides,
          view.layout};
}

GlobalAccess make_global_access(isa::VarId view, const isa::Shape& shape,
                                const std::optional<isa::OffsetList>& offset, const Tile& tile,
                                std::shared_ptr<const LayoutParts> parts,
                                const Preparation& preparation, std::optional<int> indexed_dim) {
  const isa::Variable& variable = preparation.variable(view);
  GlobalAccess access;
  access.mnemonic = preparation.mnemonic();
  access.view_name = preparation.name(view);
  access.view_span = variable.span;
  access.span = preparation.span;
  access.statement = preparation.new_memory_statement(access.view_name);
  access.view = static_cast<std::size_t>(view.index);
  access.dtype = preparation.global_type(view).dtype;
  access.tile = tile;
  access.parts = std::move(parts);
  access.table = preparation.new_table(tile);
  TilePosition position(offset, preparation.global_type(view).rank(), shape, indexed_dim,
                        preparation.wrapping);
  access.offsets = std::move(position.offsets);
  access.tile_dims = std::move(position.tile_dims);
  access.extents = std::move(position.extents);
  access.counts.resize(access.tile_dims.size(), false);
  for (std::size_t d = 0; offset && d < access.counts.size(); ++d) {
    const isa::OffsetList::Entry& entry = offset->entries[d];
    if (entry.tile || entry.value.is_constant()) continue;
    const isa::IndexSources sources = isa::index_sources(preparation.kernel, entry.value);
    access.counts[d] = sources.loops && !sources.data;
  }
  return access;
}

}  // namespace tilevm::sim
