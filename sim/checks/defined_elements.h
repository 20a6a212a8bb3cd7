// Reports undefined elements of register tiles that an instruction uses.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "isa/base/source.h"
#include "sim/state/context.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// Which elements of a tile a report is about.
using ElementFilter = std::function<bool(std::size_t thread, std::size_t place)>;

/// Reports undefined elements of a register tile for which `matters` holds; without `matters`, all
/// of them. False after a fault.
[[nodiscard]] bool check_defined(std::string_view mnemonic, Span span, std::string_view name,
                                 const Tile& tile, const LayoutParts& parts, Context& context,
                                 const ElementFilter& matters = {});

}  // namespace tilevm::sim
