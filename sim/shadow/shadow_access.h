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

void load_shadow(const ResolvedAccess& from, Context& context);
void store_shadow(const ResolvedAccess& to, Context& context);
/// For a copy that arrives.
void store_shadow(const ResolvedAccess& to, const std::vector<ShadowSlot>& slots, Context& context);

}  // namespace tilevm::sim
