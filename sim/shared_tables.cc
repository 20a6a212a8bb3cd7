#include "sim/shared_tables.h"

namespace tilevm::sim {

std::shared_ptr<const LayoutParts> SharedTables::parts(const isa::RegisterLayout& layout) {
  auto& entry = parts_[layout];
  if (!entry) entry = std::make_shared<const LayoutParts>(layout);
  return entry;
}

UnaryLoop SharedTables::cast(const isa::DType& from, const isa::DType& to) {
  UnaryLoop& loop = casts_[from][to];
  if (!loop) loop = cast_loop(from, to);
  return loop;
}

}  // namespace tilevm::sim
