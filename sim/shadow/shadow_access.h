// Shadow values move with their elements between registers and memory. Called after the elements
// have moved, and only while a run keeps shadow values.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/access/global_access.h"
#include "sim/access/shared_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/api/shadow_memory.h"

namespace tilevm::sim {

void load_shadow(const GlobalAccess& access, TileInView& cursor, Context& context);
void store_shadow(const GlobalAccess& access, TileInView& cursor, Context& context);
/// Before the elements are combined. What bits become is not a number: its
/// shadow value begins again.
void combine_shadow(const GlobalAccess& access, TileInView& cursor, Context& context);
void combine_shadow(const ResolvedAccess& to, Context& context);
/// For a copy.
[[nodiscard]] std::vector<ShadowSlot> read_shadow(const GlobalAccess& access, TileInView& cursor);

/// For a copy to global memory.
void store_shadow(const GlobalAccess& access, TileInView& cursor,
                  const std::vector<ShadowSlot>& slots);

void load_shadow(const ResolvedAccess& from, Context& context);
/// The slots of a tile that one thread holds.
[[nodiscard]] std::vector<ShadowSlot> read_slots(const ResolvedAccess& from,
                                                 const Context& context);
/// Own and shadow values of a tile that one thread holds, without loading it.
void read_shadow(const ResolvedAccess& from, ShadowPairs& values, Context& context);
void store_shadow(const ResolvedAccess& to, Context& context);
/// For a copy that arrives.
void store_shadow(const ResolvedAccess& to, const std::vector<ShadowSlot>& slots, Context& context);

}  // namespace tilevm::sim
