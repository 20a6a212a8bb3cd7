// Tables that several instructions of a plan share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/inst/tensor_type.h"
#include "isa/layout/broadcast.h"
#include "isa/layout/register_layout.h"
#include "isa/type/dtype.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/matrix_tables.h"

namespace tilevm::sim {

/// Each table is built when first requested.
class SharedTables {
 public:
  using Table = std::shared_ptr<const std::vector<std::uint32_t>>;

  std::shared_ptr<const LayoutParts> parts(const isa::RegisterLayout& layout);
  /// The operand's place for each place of a result that it broadcasts to; null: the same places.
  std::shared_ptr<const isa::PlaceMap> places(const isa::RegisterLayout& result,
                                              const isa::RegisterLayout& operand);
  /// The parts of a tile that one thread holds (LayoutParts).
  std::shared_ptr<const LayoutParts> parts(const isa::Shape& shape);
  /// cast_loop (element_loops.h).
  LaneLoop1 cast(const isa::DType& from, const isa::DType& to);
  /// The tables of a tile of matrices (matrix_tables.h).
  Table owners(const isa::RegisterType& type, const MatrixOrder& order);
  Table positions(const isa::RegisterType& type, const MatrixOrder& order);

 private:
  struct OfLayout {
    std::shared_ptr<const LayoutParts> parts;
    std::map<std::pair<unsigned, MatrixOrder>, Table> owners;  // by bits of an element, too
    std::map<MatrixOrder, Table> positions;
    std::unordered_map<isa::RegisterLayout, std::shared_ptr<const isa::PlaceMap>> places;
  };
  std::unordered_map<isa::RegisterLayout, OfLayout> layouts_;
  std::map<isa::Shape, std::shared_ptr<const LayoutParts>> shapes_;
  std::unordered_map<isa::DType, std::unordered_map<isa::DType, LaneLoop1>> casts_;
};

}  // namespace tilevm::sim
