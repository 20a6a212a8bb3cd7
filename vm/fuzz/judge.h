// The oracles of a run: the simulator in every mode, the naive engine and other engines must give
// the same bits, the same prints and no fault.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vm/diff/differ.h"
#include "vm/fuzz/fuzz_case.h"

namespace tilevm::vm::fuzz {

/// The engines that a case is run on.
class Judge {
 public:
  /// Names as `--engines` takes them: `sim`, which always runs, `naive`, and those of make_engine,
  /// which get the options.
  [[nodiscard]] static Result<Judge> make(const std::vector<std::string>& backends,
                                          const EngineOptions& options = {});

  void add(std::unique_ptr<Engine> engine) { engines_.push_back(std::move(engine)); }

  /// Judges a batch, in the order of the cases; nothing where all agree. Engines that compile get
  /// the batch as a whole first. Error (unavailable): an engine cannot run.
  [[nodiscard]] Result<std::vector<std::optional<Finding>>> judge(
      const std::vector<const ReadyCase*>& batch);

  /// Judges one case by the runs alone that led to a finding.
  [[nodiscard]] std::optional<Finding> judge_again(const ReadyCase& each, const Finding& finding);

 private:
  Result<std::optional<Finding>> judge_on(const ReadyCase& each, std::size_t engine,
                                          const Outcome& checked);

  Engines engines_;  ///< the simulator with all checks, then the others
};

/// Runs a case on an engine.
[[nodiscard]] Outcome run_on(Engine& engine, const ReadyCase& each);

/// What the simulator reports with all checks; nothing if the case runs without a fault.
[[nodiscard]] Outcome run_checked(const ReadyCase& each);

/// What is wrong with a planted case: it does not report its mistake, and nothing else, or it
/// faults without the mistake.
[[nodiscard]] std::optional<Finding> judge_planted(const ReadyCase& each,
                                                   const PlantedFault& planted);

}  // namespace tilevm::vm::fuzz
