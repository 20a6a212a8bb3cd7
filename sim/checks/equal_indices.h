// Reports two elements of one store whose indices are equal.
#pragma once

#include <cstddef>
#include <string_view>

#include "sim/access/indexed_places.h"
#include "sim/state/context.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// An element of a tile: a thread that holds it, and which of the thread's elements it is.
struct ElementPlace {
  std::size_t thread = 0, local = 0;
};

/// A Scatter that replaces elements.
struct IndexedStore {
  std::string_view mnemonic;
  Span span{};
  const IndexedAccess& index;
  const LayoutParts& parts;
  isa::DType dtype;
};

/// Reports that two elements are stored in the element `at` of the tensor; false.
bool report_equal_indices(const IndexedStore& store, std::string_view tensor, const isa::Index& at,
                          const ElementPlace& first, const ElementPlace& second, Context& context);

}  // namespace tilevm::sim
