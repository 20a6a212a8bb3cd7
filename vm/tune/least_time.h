// The least time in which a GPU can read what a program's asynchronous copies read. It is known
// before the program is compiled, so a search need not time a point with too few bytes in flight.
#pragma once

#include <string>

#include "backend/emit/cuda_source.h"
#include "isa/verify/verify.h"
#include "vm/run/entry.h"

namespace tilevm::vm::tuning {

/// Microseconds of an entry's launches (only those of `kernel`, unless it is empty) on so many
/// multiprocessors. Each multiprocessor has at most the shared memory in flight that copies of its
/// resident blocks fill, and a read of memory takes at least `memory_latency_ns`. Only tensors
/// count of which a launch does nothing but copy; 0 where there are none.
[[nodiscard]] double least_time(const isa::VerifiedProgram& program,
                                const backend::CudaSource& source, const Entry& entry,
                                const std::string& kernel, int multiprocessors);

/// Less than GPUs with HBM take, of which an H200 takes about 800 under load.
inline constexpr double memory_latency_ns = 400;

}  // namespace tilevm::vm::tuning
