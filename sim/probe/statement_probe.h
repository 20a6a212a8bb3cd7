// The probe of one statement: what it adds to the records of a block after it ran.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "isa/verify/verify.h"
#include "sim/probe/probe_sink.h"
#include "sim/state/state.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/register_file.h"
#include "sim/tiles/shared_tables.h"

namespace tilevm::sim {

/// A variable whose value a statement writes or reads: a register tile or a scalar.
struct ProbedVariable {
  bool is_tile = false;
  Tile tile;
  std::uint64_t significant = ~std::uint64_t{0};  ///< bits of a code that mean something
  std::size_t slot = 0;                           ///< slot of a scalar
};

/// Adds what a statement wrote to memory.
using MemoryProbe = std::function<void(BlockState&, const Memory&, const ProbeSink&)>;

struct StatementProbe {
  isa::ProbeMode mode = isa::ProbeMode::none;
  std::uint32_t statement = 0;
  std::vector<ProbedVariable> results, operands;
  MemoryProbe memory{};
};

/// The probe of an instruction, without its results.
[[nodiscard]] MemoryProbe make_memory_probe(const isa::VerifiedProgram& program, int kernel,
                                            const isa::InstStmt& stmt,
                                            const RegisterFile& registers, SharedTables& tables);

/// Keeps what a statement is about to read, if its record is the target.
void keep_operands(const StatementProbe& probe, const BlockState& state, const ProbeSink& sink);

/// Adds the statement's values to the record of the block, and ends the record if it does.
void run_probe(const StatementProbe& probe, BlockState& state, const Memory& memory,
               const ProbeSink& sink);

}  // namespace tilevm::sim
