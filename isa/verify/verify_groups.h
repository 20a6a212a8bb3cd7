// Groups of warps of a kernel: which threads run which statements, and whether they fit together.
#pragma once

#include "isa/base/diagnostic.h"
#include "isa/numeric/target.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Finds the groups of a kernel whose statements are numbered, and its thread count. Groups of a
/// fork are disjoint and lie within the group around.
void find_groups(const Kernel& kernel, Diagnostics& diagnostics, KernelInfo& info);

/// Checks what groups do, once the instructions have the types that their rules give, and fills the
/// named barriers and the registers of `info`:
///   - every register tile of a group is spread over the group's threads
///   - what a group writes it declares; what orders blocks or ends the block stands outside
///   - asynchronous products are those of whole warp groups of four warps
///   - groups that synchronize need at most 16 named barriers, with those that the program names
///   - the registers of groups that run at the same time fit what the launch allocates
void check_groups(const Kernel& kernel, const Target& target, Diagnostics& diagnostics,
                  KernelInfo& info);

}  // namespace tilevm::isa
