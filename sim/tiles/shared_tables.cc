#include "sim/tiles/shared_tables.h"

#include "isa/dot/dot.h"
#include "isa/dot/dot_tiling.h"

namespace tilevm::sim {

std::shared_ptr<const LayoutParts> SharedTables::parts(const isa::RegisterLayout& layout) {
  auto& entry = layouts_[layout].parts;
  if (!entry) entry = std::make_shared<const LayoutParts>(layout);
  return entry;
}

std::shared_ptr<const isa::PlaceMap> SharedTables::places(const isa::RegisterLayout& result,
                                                          const isa::RegisterLayout& operand) {
  if (result == operand) return nullptr;
  auto& entry = layouts_[result].places[operand];
  if (!entry) {
    entry = std::make_shared<const isa::PlaceMap>(*isa::broadcast_places(result, operand));
  }
  return entry;
}

std::shared_ptr<const LayoutParts> SharedTables::parts(const isa::Shape& shape) {
  auto& entry = shapes_[shape];
  if (!entry) entry = std::make_shared<const LayoutParts>(shape);
  return entry;
}

LaneLoop1 SharedTables::cast(const isa::DType& from, const isa::DType& to) {
  LaneLoop1& loop = casts_[from][to];
  if (!loop) loop = cast_loop(from, to);
  return loop;
}

SharedTables::Table SharedTables::owners(const isa::RegisterType& type, const MatrixOrder& order) {
  Table& entry = layouts_[type.layout].owners[{type.dtype.bits, order}];
  if (!entry) {
    const LayoutParts matrices(isa::as_batch(type.layout));
    entry = std::make_shared<const std::vector<std::uint32_t>>(
        find_owners(matrices, make_tile(type, 0), order));
  }
  return entry;
}

SharedTables::Table SharedTables::positions(const isa::RegisterType& type,
                                            const MatrixOrder& order) {
  Table& entry = layouts_[type.layout].positions[order];
  if (!entry) {
    const LayoutParts matrices(isa::as_batch(type.layout));
    entry = std::make_shared<const std::vector<std::uint32_t>>(find_positions(matrices, order));
  }
  return entry;
}

}  // namespace tilevm::sim
