// Where the requests of an asynchronous copy go in shared memory.
#pragma once

#include <vector>

#include "isa/verify/verify.h"
#include "sim/counting/warp_access.h"

namespace tilevm::sim {

/// For each of global_requests() of a copy that goes around the L1 cache, its lanes' places in
/// shared memory, for count_copied_sectors; nothing for other statements.
[[nodiscard]] std::vector<WarpAccess> copy_destinations(const isa::VerifiedProgram& program,
                                                        int kernel, const isa::InstStmt& stmt);

}  // namespace tilevm::sim
