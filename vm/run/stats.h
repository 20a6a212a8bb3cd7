// Counters of a run, for people and as JSON (docs/reference/counters.md).
#pragma once

#include <string>
#include <vector>

#include "isa/verify/verify.h"
#include "vm/run/engine.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// Adds a launch to the counters of its kernel.
void add_launch(std::vector<KernelStats>& kernels, int kernel, const sim::Counters& counters);

/// Tables of a kernel's accesses line by line, its tensor-core instructions, its instructions, and
/// where the most is wasted; many lines, each with its line break.
[[nodiscard]] std::string stats_table(const isa::VerifiedProgram& program,
                                      const KernelStats& stats);

/// The counters as an object; sums of all accesses are in "totals".
[[nodiscard]] Json stats_json(const isa::VerifiedProgram& program, const KernelStats& stats);

/// A run as an object: device, compiler, prepare_ms, blocks, steps, and the kernels.
[[nodiscard]] Json run_stats_json(const isa::VerifiedProgram& program, const Engine& engine,
                                  const RunReport& report);

/// The sums over all statements.
[[nodiscard]] sim::AccessCounts total_accesses(const sim::Counters& counters);

}  // namespace tilevm::vm
