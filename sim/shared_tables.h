// Tables that several instructions of a plan share.
#pragma once

#include <memory>
#include <unordered_map>

#include "isa/layout/register_layout.h"
#include "isa/type/dtype.h"
#include "sim/elements.h"
#include "sim/layout_parts.h"

namespace tilevm::sim {

/// Each is built when it is first asked for.
class SharedTables {
 public:
  std::shared_ptr<const LayoutParts> parts(const isa::RegisterLayout& layout);
  /// Of types of at most 32 bits (elements.h).
  UnaryLoop cast(const isa::DType& from, const isa::DType& to);

 private:
  std::unordered_map<isa::RegisterLayout, std::shared_ptr<const LayoutParts>> parts_;
  std::unordered_map<isa::DType, std::unordered_map<isa::DType, UnaryLoop>> casts_;
};

}  // namespace tilevm::sim
