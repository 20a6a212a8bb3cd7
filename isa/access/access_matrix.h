// Accesses of a warp to matrices of eight rows of 16 bytes in shared memory (PTX ldmatrix,
// stmatrix).
//
// Thread t of a warp has one word of each matrix, and thread i says where row i lies:
//   plain        word t is bytes [4 (t % 4), 4 (t % 4) + 4) of row t / 4
//   transposed   word t is element t / 4, of 16 bits, of the rows 2 (t % 4) and 2 (t % 4) + 1
// So a layout fits if bytes that lie together for fixed t / 4 (or, transposed, elements for fixed
// t % 4) are 16 aligned bytes. Where the rows lie does not matter.
#pragma once

#include "isa/access/access_plan.h"

namespace tilevm::isa {

/// Turns a plan of narrower accesses to a shared tensor, by whole warps, into matrices where the
/// layouts fit.
void plan_matrices(AccessPlan& plan, const RegisterLayout& tile);

}  // namespace tilevm::isa
