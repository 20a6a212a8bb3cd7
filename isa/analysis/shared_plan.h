// The allocation of a block's shared memory to its shared tensors on a GPU.
//
// The live range of a tensor is that of the statements of the kernel's body that touch it
// (live_ranges.h), up to the first Synchronize of the body after the last one: from there on no
// thread touches the tensor. If copies fill the tensor, a CopyAsyncWaitGroup(0) of the body must
// come between, since a copy in flight still writes. A tensor without accesses is always live, and
// so are those of blocks in clusters, which other blocks access.
// Tensors whose live ranges do not overlap may share memory. The simulator keeps all tensors apart,
// so what it finds does not depend on this plan.
#pragma once

#include <cstdint>

#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Gives each tensor of `info.shared` its offset on a GPU, the lowest that is free in its live
/// range, and `info.shared_footprint` the end of the last; fills `info.reuse_barriers`.
void place_shared_tensors(const Kernel& kernel, KernelInfo& info);

/// Adds room behind all tensors for the largest exchange of a kernel that passed its type rules,
/// twice (KernelInfo::exchange_bytes), or once where only that keeps to the `limit` of a block.
void place_exchanges(const Kernel& kernel, std::int64_t limit, KernelInfo& info);

}  // namespace tilevm::isa
