// The first statement that two engines execute differently, from one run of each with probes
// (isa/program/probe.h), and what it wrote, from a second run that keeps the values of this one
// statement.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/program/probe.h"
#include "vm/diff/differ.h"
#include "vm/diff/statement_difference.h"

namespace tilevm::vm {

/// A loop around the statement.
struct LoopTrip {
  isa::StmtId loop;
  std::uint64_t iteration = 0;       ///< from 1 on
  std::optional<isa::Scalar> value;  ///< of its variable, where the simulator ran
};

/// The first difference.
struct BisectedStatement {
  std::size_t launch = 0;
  int kernel = 0;
  std::uint64_t block = 0;                    ///< linear, x fastest
  std::array<std::int64_t, 3> block_index{};  ///< x, y, z
  isa::StmtId statement;                      ///< as engine a executes it
  std::uint32_t record = 0;                   ///< its number in the block
  std::vector<LoopTrip> loops;                ///< outer before inner
  StatementDifference what = UnknownDifference{};
  isa::ProbeDump before;  ///< what the simulator read, if it ran
};

struct BisectResult {
  std::size_t a = 0, b = 0;  ///< engines, by position
  std::optional<BisectedStatement> found;
  std::uint64_t compared = 0;         ///< records
  std::vector<std::string> left_out;  ///< what no sum covers, in words
};

struct BisectOptions {
  /// Bytes of records for each engine, over all launches.
  std::uint64_t memory = std::uint64_t{1} << 28;
  int threads = 0;  ///< of the simulator that tells operands
};

/// Finds the first difference between two engines on these inputs. Error: a run that failed.
[[nodiscard]] Result<BisectResult> bisect(const DiffCase& what, const Engines& engines,
                                          std::size_t a, std::size_t b,
                                          const std::vector<HostTensor>& inputs,
                                          const BisectOptions& options = {});

/// The engines of a verdict that is not exact: the first two that differ. Nothing if all agree.
[[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> differing_pair(
    const SeedVerdict& verdict);

}  // namespace tilevm::vm
