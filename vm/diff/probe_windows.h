// Which blocks of a launch are recorded in one run, and with how many records each, so that the
// records fit the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/program/probe.h"
#include "vm/diff/differ.h"

namespace tilevm::vm {

/// One log a launch of the entry.
using ProbeLogs = std::vector<isa::ProbeLog>;

/// Blocks of a launch.
[[nodiscard]] std::uint64_t blocks_of(const isa::ProbeLog& log);

/// The logs of a run with empty windows.
[[nodiscard]] ProbeLogs make_logs(const DiffCase& what);

/// Windows over all blocks of all launches, with as many records of each block as there is room
/// for. Where there is hardly any room, a block has no records but one sum. Where even those do not
/// fit, the windows begin with block `turn` times the blocks that fit.
void cover_all_blocks(ProbeLogs& logs, std::uint64_t memory, std::uint64_t turn);

/// A window from `block` on for blocks that make about so many records each.
[[nodiscard]] isa::ProbeWindow window_from(const isa::ProbeLog& log, std::uint64_t block,
                                           std::uint64_t records, std::uint64_t memory);

}  // namespace tilevm::vm
