// The simulator: runs the thread blocks of a kernel on the host, bit for bit as the GPU would.
//
//   VerifiedProgram --plan.h--> Plan (flat records, index tables) --machine.h--> BlockState per
//   block
//
// Blocks run in parallel on host threads; results, counters and the reported fault do not depend on
// how many there are, as long as no two blocks race for the same global elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/base/result.h"
#include "isa/expr.h"
#include "isa/instruction_set.h"
#include "isa/print.h"
#include "isa/verify.h"

namespace tilevm::sim {

/// A buffer of global memory: a dense little-endian bit stream (isa/type/bits.h). The name is for
/// messages.
struct Buffer {
  std::string name;
  std::vector<std::uint8_t> bytes;
};

/// What a kernel parameter is given: for a pointer an index into the memory, for a scalar its
/// value.
using Argument = std::variant<int, isa::Scalar>;

/// What is looked for beyond the bounds of memory, which are always checked.
struct Checks {
  bool races = true;      ///< threads of a block that race for shared memory
  bool in_flight = true;  ///< accesses to what an asynchronous copy still moves
};

struct Options {
  int threads = 0;                                   ///< host threads; 0: all cores
  std::uint64_t max_steps = std::uint64_t{1} << 32;  ///< statements that one block may execute
  Checks checks{};
};

/// Why a run stopped: an error of the user's program with its place, and who met it.
struct Fault {
  Diagnostic diagnostic;
  std::vector<std::int64_t> block;  ///< block index, one entry a grid extent; empty: no block ran
  std::optional<std::int64_t> thread;  ///< the thread inside the block, where there is one
};

/// What was executed; sums over all blocks. Meaningless after a fault.
struct Counters {
  std::uint64_t blocks = 0;
  std::uint64_t steps = 0;  ///< statements of any kind, loop iterations included
  /// Instructions executed, by their place in isa::Instruction.
  std::array<std::uint64_t, isa::instruction_count> instructions{};

  friend bool operator==(const Counters&, const Counters&) = default;
};

struct Report {
  std::optional<Fault> fault;  ///< of the block that comes first in the grid, x fastest
  Counters counters;
  isa::LaunchPrints prints;  ///< up to the fault
};

/// Runs every block of a kernel. `arguments` has one entry a parameter, `memory` is updated in
/// place (after a fault its contents are unspecified). Workspaces of the kernel are allocated here
/// and start as zeros. Errors: arguments that do not fit the parameters (usage), memory that cannot
/// be had (limit). Everything that the program does wrong is a Fault.
[[nodiscard]] Result<Report> run_kernel(const isa::VerifiedProgram& program, int kernel,
                                        const std::vector<Argument>& arguments,
                                        std::vector<Buffer>& memory, const Options& options = {});

}  // namespace tilevm::sim
