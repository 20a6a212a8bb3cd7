// Counts the memory traffic of one instruction of the text, for each execution.
//
// An access is counted thread by thread once for each key. In a strided view the key is the
// origin's offset within a cache line, the strides, and the part of the tile inside the view. The
// counts are cached by key, so that a loop only adds them up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "isa/verify/verify.h"
#include "sim/counting/meter.h"
#include "sim/counting/warp_access.h"
#include "sim/state/state.h"
#include "sim/tiles/register_file.h"
#include "sim/tiles/shared_tables.h"

namespace tilevm::sim {

/// The meter of a statement; empty if the instruction touches no memory. `id` tells the meters of a
/// kernel apart. The program must outlive the meter.
[[nodiscard]] Meter make_meter(const isa::VerifiedProgram& program, int kernel,
                               const isa::InstStmt& stmt, SharedTables& tables,
                               const RegisterFile& registers, std::size_t id);

/// What a warp asks of shared memory at once: `width` bytes for each of its active threads.
struct SharedRequest {
  std::int64_t warp = 0;
  unsigned width = 0;
  bool stores = false;
  WarpAccess lanes;
};

/// The requests of one execution of a statement, as if its tile began at index 0 of the shared
/// tensor; those that a meter counts, in its order. None if it moves no tile to or from shared
/// memory, if an index says where its elements are, or if it moves only by cp.async, whose writes
/// depend on when the data arrives.
[[nodiscard]] std::vector<SharedRequest> shared_requests(const isa::VerifiedProgram& program,
                                                         int kernel, const isa::InstStmt& stmt);

/// What a warp asks of global memory at once. Addresses count from a cache line's begin.
struct GlobalRequest {
  std::int64_t warp = 0;
  bool stores = false;
  WarpAccess lanes;
};

/// The requests of one execution of a statement, as if its tile began at index 0 of the view: those
/// that a meter counts, in its order. None if it moves no tile to or from global memory, if an
/// index says where its elements are, or if the view's extents and strides are known at run time
/// only.
[[nodiscard]] std::vector<GlobalRequest> global_requests(const isa::VerifiedProgram& program,
                                                         int kernel, const isa::InstStmt& stmt);

/// Which warps take part in the accesses of a statement, by warp; empty if it moves no tile. Bounds
/// of views are not looked at.
[[nodiscard]] std::vector<bool> warps_that_move(const isa::VerifiedProgram& program, int kernel,
                                                const isa::InstStmt& stmt);

/// The tensor-core instructions that the warps of a block execute for a statement; none unless it
/// is a Dot.
struct MmaCount {
  std::string name;  ///< "m16n8k16 f32.f16.f16.f32"
  std::uint64_t instructions = 0;
};
[[nodiscard]] MmaCount count_mma(const isa::VerifiedProgram& program, int kernel,
                                 const isa::InstStmt& stmt);

/// The instructions of the special function unit that the warps of a block execute for a statement.
[[nodiscard]] std::uint64_t count_special_functions(const isa::VerifiedProgram& program, int kernel,
                                                    const isa::InstStmt& stmt);

}  // namespace tilevm::sim
