// How a block moves a tile: which thread makes which machine accesses, and how wide they are.
//
// The plan does not change what a program computes. It is data that the CUDA backend writes its
// loops from and that the simulator counts sectors and bank conflicts from, so that both speak of
// the same accesses. Wider accesses are a matter of this file.
#pragma once

#include <cstdint>

#include "isa/inst/async_copy.h"
#include "isa/program.h"
#include "isa/verify.h"

namespace tilevm::isa {

/// What one machine access is.
enum class AccessForm : std::uint8_t {
  element,  ///< a load or store of one element of 8 to 64 bits
  /// Of one element narrower than a byte. A load reads its byte, and the next one if the element
  /// reaches into it; a store changes its aligned 32-bit word, and likewise the next one,
  /// atomically.
  bits,
  copy,  ///< an asynchronous copy of 4, 8 or 16 bytes (PTX cp.async)
};

/// A tile in registers: access i of each thread moves its local places [i * elements, (i + 1) *
/// elements). A copy: access i of thread t moves piece t + i * threads of the tile, if there is
/// one; pieces are `elements` neighbours along the last dimension, counted row by row.
///
/// An access to global memory is made by the threads whose element lies inside the view; a copy is
/// made by all, and fills with zeros what lies outside.
struct AccessPlan {
  AccessForm form = AccessForm::element;
  std::int64_t elements = 1;
  std::int64_t count = 0;  ///< accesses of a thread, at most
  Shape pieces;            ///< of a copy: the tile's extents, the last one in pieces
};

/// LoadGlobal, StoreGlobal, LoadShared and StoreShared of this tile.
[[nodiscard]] AccessPlan plan_access(const RegisterType& tile);

/// A CopyAsync of a kernel: cp.async in the widest pieces that layouts and offsets keep together
/// and aligned on both sides; without any, ordinary loads and stores of single elements.
[[nodiscard]] AccessPlan plan_access(const CopyAsync& inst, const Kernel& kernel,
                                     const KernelInfo& info);

}  // namespace tilevm::isa
