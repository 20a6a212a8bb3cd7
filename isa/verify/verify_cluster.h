// Clusters of a kernel's blocks: whether their shape, the grid and the instructions fit together.
#pragma once

#include "isa/base/diagnostic.h"
#include "isa/numeric/target.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Checks the cluster of a kernel whose groups are known:
///   - the target has clusters, and a cluster has 1 to 8 blocks along the grid's extents
///   - an extent that is a constant is a multiple of the cluster's; launches check the others
///   - the barrier of the cluster is for whole blocks
///   - no instruction orders blocks by semaphores or counters: blocks of a cluster run together
void check_cluster(const Kernel& kernel, const Target& target, const KernelInfo& info,
                   Diagnostics& diagnostics);

}  // namespace tilevm::isa
