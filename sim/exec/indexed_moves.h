// Tiles of which an index says where each element is, moved from memory to registers.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/access/global_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/state/context.h"
#include "sim/tiles/intervals.h"

namespace tilevm::sim {

/// Fills a tile, or its undefined mask, from the memory of a buffer; elements outside of the view
/// become zero. False, with nothing moved, if an element might lie outside of the buffer or outside
/// of the view along another dimension than the index's.
[[nodiscard]] bool move_in_indexed(const GlobalAccess& access, const TileInView& cursor,
                                   const std::uint8_t* memory, std::uint8_t* registers,
                                   Context& context);

/// Writes a tile of whole bytes, or its undefined mask, where the index says; the first thread that
/// holds an element writes it. False, with nothing moved, as above, for narrower elements, and for
/// elements that are combined with those of memory.
[[nodiscard]] bool move_out_indexed(const GlobalAccess& access, const TileInView& cursor,
                                    const std::uint8_t* registers, std::uint8_t* memory,
                                    Context& context);

/// The bits that such a store touches; nothing where it moves nothing.
[[nodiscard]] std::optional<TouchedIntervals> indexed_pieces(const GlobalAccess& access,
                                                             const TileInView& cursor,
                                                             Context& context);

}  // namespace tilevm::sim
