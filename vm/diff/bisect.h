// The first statement that two engines execute differently, from one run of each with probes
// (isa/program/probe.h), and what it wrote, from a second run that keeps the values of this one
// statement. Where the records of all blocks do not fit the memory, the first run has one sum for
// each block, and a run with the records of blocks whose sums differ follows.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vm/diff/differ.h"
#include "vm/diff/statement_difference.h"

namespace tilevm::vm {

struct BisectResult {
  std::size_t a = 0, b = 0;  ///< engines, by position
  std::optional<BisectedStatement> found;
  std::uint64_t compared = 0;         ///< records
  std::vector<std::string> left_out;  ///< what no sum covers, in words
};

struct BisectOptions {
  /// Bytes of records for each engine, over all launches.
  std::uint64_t memory = std::uint64_t{1} << 28;
  /// After which no further run begins that looks at other blocks.
  std::chrono::milliseconds time{120'000};
  int threads = 0;  ///< number of threads of the simulator that shows operands
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
