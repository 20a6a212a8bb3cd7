#include "sim/checks/outside_view.h"

#include <optional>

#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

bool is_inside(std::int64_t index, std::int64_t extent) { return index >= 0 && index < extent; }

/// Whether an offset without a colon gives the index along a dimension.
bool is_fixed(const GlobalAccess& access, std::size_t dim) {
  return access.tile_dims[dim] < 0 &&
         (access.indexed == nullptr || dim != access.indexed->tile.dim);
}

void note_fixed(const GlobalAccess& access, const TileInView& cursor, bool stores,
                Context& context) {
  const GlobalView& view = cursor.view();
  for (std::size_t d = 0; d < access.tile_dims.size(); ++d) {
    const std::int64_t index = cursor.origin()[d];
    if (!is_fixed(access, d) || is_inside(index, view.extents[d])) continue;
    if (!stores && access.counts[d] && index >= view.extents[d]) continue;
    add_outside(context.scratch.outside[access.statement].fixed,
                {1, context.state.order, d, index, view.extents[d]});
    return;
  }
}

/// Whether an element is inside the view along all dimensions but that of the index.
bool is_inside_elsewhere(const GlobalAccess& access, const TileInView& cursor, std::size_t t,
                         std::size_t i) {
  const std::int32_t* const thread = access.parts->thread_part(t);
  const std::int32_t* const local = access.parts->local_part(i);
  for (std::size_t d = 0; d < access.tile_dims.size(); ++d) {
    if (d == access.indexed->tile.dim) continue;
    std::int64_t index = cursor.origin()[d];
    if (access.tile_dims[d] >= 0) {
      const auto dim = static_cast<std::size_t>(access.tile_dims[d]);
      index += thread[dim] + local[dim];
    }
    if (!is_inside(index, cursor.view().extents[d])) return false;
  }
  return true;
}

void note_indexed(const GlobalAccess& access, const TileInView& cursor, Context& context) {
  const IndexedTile& tile = access.indexed->tile;
  const std::int64_t extent = cursor.view().extents[tile.dim];
  const auto index_of = [&](std::size_t t, std::size_t i) {
    return static_cast<std::int64_t>(
        static_cast<std::uint64_t>(cursor.origin()[tile.dim]) +
        static_cast<std::uint64_t>(index_value(tile, t, i, context.state.registers)));
  };
  const auto found =
      find_offenders(access.parts->first_threads, access.tile.locals,
                     [&](std::size_t t, std::size_t i) -> std::optional<Offender<std::int64_t>> {
                       const std::int64_t index = index_of(t, i);
                       if (is_inside(index, extent) || !is_inside_elsewhere(access, cursor, t, i))
                         return {};
                       return Offender<std::int64_t>{access.parts->index(t, i), index};
                     });
  if (found.count == 0) return;
  add_outside(context.scratch.outside[access.statement].indexed,
              {found.count, context.state.order, tile.dim, found.detail, extent});
}

}  // namespace

void note_outside(const GlobalAccess& access, const TileInView& cursor, bool stores,
                  Context& context) {
  const Checks& checks = context.settings.checks;
  if (checks.bounds) note_fixed(access, cursor, stores, context);
  if (checks.outside && access.indexed != nullptr) note_indexed(access, cursor, context);
}

}  // namespace tilevm::sim
