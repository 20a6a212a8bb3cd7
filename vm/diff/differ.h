// Runs a program on several engines and compares every bit of what they give.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/diff/verdict.h"
#include "vm/run/engine.h"
#include "vm/run/entry_tensors.h"

namespace tilevm::vm {

/// Engines in the order in which the user names them. The first is what the others are compared
/// with.
using Engines = std::vector<std::unique_ptr<Engine>>;

/// "sim,emu,cuda:O0": two engines or more. Errors: usage (a name, or only one), unavailable.
[[nodiscard]] Result<Engines> make_engines(const std::string& backends,
                                           const EngineOptions& options);

/// The engine whose target decides what a program is compiled for: the first that has only one.
[[nodiscard]] const Engine& deciding_engine(const Engines& engines);

/// What is compared.
struct DiffCase {
  isa::VerifiedProgram program;
  Entry entry;
};

/// What one engine gave for one seed.
struct EngineRun {
  std::vector<HostTensor> tensors;  ///< unspecified after a failure
  RunReport report;
  std::optional<Failure> failure;
};

/// Everything that is known of one seed.
struct SeedRun {
  std::vector<HostTensor> inputs;  ///< all tensors before the run
  std::vector<EngineRun> runs;     ///< runs by engine
  SeedVerdict verdict;

  /// The failure, if no engine gave a result: then the program is at fault, and nothing was
  /// compared.
  [[nodiscard]] const Failure* common_failure() const;
};

/// Runs one seed on every engine. Where results differ, engines that may be different from run to
/// run run once more. Error: the environment's, of kinds usage and unavailable, with which nothing
/// can be compared.
[[nodiscard]] Result<SeedRun> run_seed(const DiffCase& what, const Engines& engines,
                                       const Seeding& seeding, DataReader& reader);
/// Runs a seed where no input is standard input and no note is wanted.
[[nodiscard]] Result<SeedRun> run_seed(const DiffCase& what, const Engines& engines,
                                       const Seeding& seeding);
/// Runs on given tensors, one for each of the entry's.
[[nodiscard]] Result<SeedRun> run_on(const DiffCase& what, const Engines& engines,
                                     std::vector<HostTensor> inputs, std::uint64_t seed);

}  // namespace tilevm::vm
