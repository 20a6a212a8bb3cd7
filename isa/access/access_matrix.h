// Accesses of a warp to matrices of eight rows of 16 bytes in shared memory (PTX ldmatrix,
// stmatrix).
//
// Thread t of a warp has one word of each matrix, and thread i gives the address of row i:
//   plain        word t is bytes [4 (t % 4), 4 (t % 4) + 4) of row t / 4
//   transposed   word t is element t / 4, of 16 bits, of the rows 2 (t % 4) and 2 (t % 4) + 1
// So a layout fits if the bytes with the same t / 4 (transposed: the elements with the same t % 4)
// are 16 contiguous, aligned bytes. The rows may be at any aligned addresses.
#pragma once

#include "isa/access/access_plan.h"

namespace tilevm::isa {

/// Turns a plan of narrower accesses to a shared tensor, by whole warps, into matrices where the
/// layouts fit.
void plan_matrices(AccessPlan& plan, const RegisterLayout& tile);

}  // namespace tilevm::isa
