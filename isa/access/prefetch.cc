#include "isa/access/prefetch.h"

#include <algorithm>

#include "isa/program/tile_move.h"

namespace tilevm::isa {
namespace {

/// Whether neighbours along a dimension of a view are neighbours in memory.
bool is_contiguous(const GlobalType& view, std::size_t dim) {
  if (const auto* strides = view.layout.strides()) return (*strides)[dim].constant_int() == 1;
  const MemoryLayout& layout = *view.layout.memory_layout();
  if (layout.shape()[dim] < 2) return false;
  const Index zero(layout.shape().size(), 0);
  Index next = zero;
  next[dim] = 1;
  return layout.offset(next) - layout.offset(zero) == 1;
}

}  // namespace

PrefetchPlan plan_prefetch(const Prefetch& inst, const GlobalType& view) {
  PrefetchPlan plan;
  plan.pieces = *tile_shape(inst, view);  // the type rule has seen it
  plan.placement = place_tile(inst.offset, view.rank(), static_cast<int>(plan.pieces.size()));
  int stepped = -1;
  for (std::size_t d = 0; d < plan.placement.dimensions.size(); ++d) {
    const int tile_dim = plan.placement.dimensions[d].tile_dim;
    if (tile_dim >= 0 && is_contiguous(view, d)) stepped = tile_dim;
  }
  if (stepped >= 0) {
    plan.elements = std::max<std::int64_t>(1, prefetch_bytes * 8 / view.dtype.bits);
    std::int64_t& extent = plan.pieces[static_cast<std::size_t>(stepped)];
    extent = (extent + plan.elements - 1) / plan.elements;
  }
  std::int64_t divisor = 1;
  for (std::size_t d = plan.pieces.size(); d-- > 0;) {
    const int dim = static_cast<int>(d);
    if (plan.pieces[d] > 1) {
      plan.terms.push_back({dim, divisor, plan.pieces[d], dim == stepped ? plan.elements : 1});
    }
    divisor *= plan.pieces[d];
  }
  std::reverse(plan.terms.begin(), plan.terms.end());
  return plan;
}

}  // namespace tilevm::isa
