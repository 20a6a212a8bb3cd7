// Reports about elements of an access to global memory: outside of their buffer or view, or without
// a value. What gives a bool gives false after it has set the fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/access/global_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/state/context.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {

/// Reports elements inside the view but outside of the buffer.
bool report_out_of_bounds(const GlobalAccess& access, TileInView& cursor, Context& context);

/// Reports an element that must be inside the view.
bool report_outside_view(const GlobalAccess& access, const GlobalView& view,
                         const Coordinates& index, Context& context);

/// What to do about elements of memory that nothing has written. If blocks wait for one another,
/// the block that writes them may come later.
std::string_view advice_on_unwritten(const Context& context);

/// Reports elements of a copy's source that nothing has written.
bool report_unwritten(const GlobalAccess& access, TileInView& cursor, const std::uint8_t* mask,
                      Context& context);

/// Sets the fault of a store that combines its elements with memory, some of which has no value.
/// `total` elements are stored.
void fail_undefined_target(std::string_view mnemonic, const Span& span, std::string_view tensor,
                           std::size_t total, const Offenders<NoDetail>& found, Context& context);

/// Whether all elements with which a store is to be combined have values; false after a fault.
bool check_memory_defined(const GlobalAccess& access, TileInView& cursor, const std::uint8_t* mask,
                          Context& context);

}  // namespace tilevm::sim
