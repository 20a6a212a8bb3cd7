// Reports elements of register tiles that have no defined value where a value matters.
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

/// Reports that undefined elements of a register tile matter to an instruction, if `matters` holds
/// for one of them (all matter without it); false after a fault.
[[nodiscard]] bool check_defined(std::string_view mnemonic, Span span, std::string_view name,
                                 const Tile& tile, const LayoutParts& parts, Context& context,
                                 const ElementFilter& matters = {});

}  // namespace tilevm::sim
