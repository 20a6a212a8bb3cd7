// Shadow values move with their elements between registers and memory. Called after the elements
// have moved, and only while a run keeps shadow values.
#pragma once

#include <cstddef>
#include <vector>

#include "isa/program/program.h"
#include "isa/verify/verify.h"
#include "sim/access/global_access.h"
#include "sim/access/global_place.h"
#include "sim/access/shared_access.h"
#include "sim/api/shadow_memory.h"

namespace tilevm::sim {

/// Where the shadow values of a shared tensor begin, by its number in KernelInfo::shared; of all
/// tensors together if there is no such one.
[[nodiscard]] std::size_t shared_shadow(const isa::Kernel& kernel, const isa::KernelInfo& info,
                                        std::size_t tensor);

void load_shadow(const GlobalAccess& access, Place& place, Context& context);
void store_shadow(const GlobalAccess& access, Place& place, Context& context);
/// For a copy.
[[nodiscard]] std::vector<ShadowSlot> read_shadow(const GlobalAccess& access, Place& place);

void load_shadow(const FoundTable& runs, const SharedAccess& access, Context& context);
void store_shadow(const FoundTable& runs, const SharedAccess& access, Context& context);
/// Of a copy that arrives.
void store_shadow(const FoundTable& runs, const SharedAccess& access,
                  const std::vector<ShadowSlot>& slots, Context& context);

}  // namespace tilevm::sim
