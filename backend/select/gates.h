// Barriers at which only warps that copy need to wait, in kernels that ask for it (@drift).
//
// Two stages of shared memory want a barrier for each step: behind it, what the last step has read
// is overwritten. But the warps that read would not mind to go on to data that have come, and
// where they do, none of the multiprocessor's units is idle while the last warp ends its step.
//
// Let every warp wait for the copies itself. A Synchronize is a gate if on every way from it to
// the next Synchronize, or to the end, warps do nothing with memory but copy in bulk, and read
// shared tensors that nothing but bulk copies fill. A warp that only reads may pass a gate before
// the others have come: what it reads does not change, since the warps that copy wait for all. So
// does what was written before: between it and its next reader stands a Synchronize that is not a
// gate, or a reader that copies.
#pragma once

#include <set>

#include "backend/select/bulk_copies.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// Every Synchronize of the kernel that is a gate; none in a kernel that does not drift.
[[nodiscard]] std::set<const isa::InstStmt*> find_gates(const isa::Kernel& kernel,
                                                        const BulkCopies& copies);

}  // namespace tilevm::backend
