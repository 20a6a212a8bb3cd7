#include "isa/access_plan.h"

#include <variant>

#include "isa/alignment.h"
#include "isa/rules.h"

namespace tilevm::isa {
namespace {

AccessForm form_of(const DType& dtype) {
  return dtype.bits < 8 ? AccessForm::bits : AccessForm::element;
}

/// The tensor dimension along which the tile's last one runs, or -1.
int last_dimension(const TilePlacement& place, int tile_rank) {
  for (std::size_t d = 0; d < place.dimensions.size(); ++d) {
    if (tile_rank > 0 && place.dimensions[d].tile_dim == tile_rank - 1) return static_cast<int>(d);
  }
  return -1;
}

/// Whether `count` elements along the last dimension lie together, and aligned, in the view.
bool fits_global(const GlobalType& view, const TilePlacement& place, int tile_rank,
                 std::int64_t count, const Multiples& multiples) {
  const int dim = last_dimension(place, tile_rank);
  if (dim < 0) return false;
  const auto at = static_cast<std::size_t>(dim);
  if (multiples.of(place.dimensions[at].offset) % count != 0) return false;
  // What is left of the last piece must be whole bytes.
  const std::int64_t bits = view.dtype.bits;
  if (bits < 8 && multiples.of(view.extents[at]) * bits % 8 != 0) return false;
  if (const auto* layout = view.layout.memory_layout()) return keeps_together(*layout, dim, count);
  const auto& strides = *view.layout.strides();
  if (count > 1 && strides[at].constant_int() != std::int64_t{1}) return false;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (d != at && multiples.of(strides[d]) % count != 0) return false;
  }
  return true;
}

}  // namespace

AccessPlan plan_access(const RegisterType& tile) {
  return {.form = form_of(tile.dtype), .count = tile.layout.num_locals(), .pieces = {}};
}

AccessPlan plan_access(const CopyAsync& inst, const Kernel& kernel, const KernelInfo& info) {
  const auto& shared = *std::get_if<SharedType>(&kernel.variable(inst.dst.var).type);
  const auto& global = *std::get_if<GlobalType>(&kernel.variable(inst.src.var).type);
  AccessPlan plan{.form = form_of(shared.dtype), .pieces = tile_shape(inst, shared)};
  const int rank = static_cast<int>(plan.pieces.size());
  const auto shared_place = place_tile(inst.shared_offset, shared.layout.rank(), rank);
  const auto global_place = place_tile(inst.offset, global.rank(), rank);
  const int shared_dim = last_dimension(shared_place, rank);
  const Multiples multiples(kernel, info);
  for (const std::int64_t bytes : {16, 8, 4}) {
    const std::int64_t count = bytes * 8 / shared.dtype.bits;
    if (count * shared.dtype.bits != bytes * 8) continue;
    if (shared_dim < 0 || !keeps_together(shared.layout, shared_dim, count)) continue;
    if (!fits_global(global, global_place, rank, count, multiples)) continue;
    plan.form = AccessForm::copy;
    plan.elements = count;
    plan.pieces.back() /= count;
    break;
  }
  plan.count = (element_count(plan.pieces) + info.num_threads - 1) / info.num_threads;
  return plan;
}

}  // namespace tilevm::isa
