// The oracles of a run: the simulator in every mode, the naive engine and other engines must give
// the same bits, the same prints and no fault.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vm/fuzz/fuzz_case.h"

namespace tilevm::vm::fuzz {

/// The engines that a case is run on besides the simulator.
class Judge {
 public:
  /// Names as `--backends` takes them: `sim`, which always runs, `naive`, and those of make_engine.
  [[nodiscard]] static Result<Judge> make(const std::vector<std::string>& backends);

  /// Judges a batch, in the order of the cases; nothing where all agree. Engines that compile get
  /// the batch as a whole first.
  [[nodiscard]] Result<std::vector<std::optional<Finding>>> judge(
      const std::vector<const ReadyCase*>& batch, std::uint64_t seed);

 private:
  std::vector<std::unique_ptr<Engine>> others_;
};

/// Runs a case on an engine.
[[nodiscard]] Outcome run_on(Engine& engine, const ReadyCase& each);

/// What the simulator reports with all checks; nothing if the case runs without a fault.
[[nodiscard]] Outcome run_checked(const ReadyCase& each);

}  // namespace tilevm::vm::fuzz
