// What `tilevm layout` is asked to draw: a layout, with or without the type of its elements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/bind/frontend.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/type/dtype.h"

namespace tilevm::vm {

struct TypedLayout {
  std::optional<isa::DType> dtype;
  frontend::AnyLayout layout;
  std::string text;  ///< the layout in canonical form, after the type if there is one

  [[nodiscard]] const isa::RegisterLayout* registers() const {
    return std::get_if<isa::RegisterLayout>(&layout);
  }
  [[nodiscard]] const isa::MemoryLayout* memory() const {
    return std::get_if<isa::MemoryLayout>(&layout);
  }
  [[nodiscard]] int bits() const { return dtype ? dtype->bits : 0; }
};

/// Reads "LAYOUT", "i6 LAYOUT", or what messages say of a tile: "i6[16, 8], LAYOUT". Nothing after
/// a report; spans are those of `source`.
[[nodiscard]] std::optional<TypedLayout> read_typed_layout(const SourceFile& source,
                                                           Diagnostics& diagnostics);

}  // namespace tilevm::vm
