// Runs the cases of a .tile test on one engine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isa/base/source.h"
#include "tests/filetest/expectations.h"
#include "vm/run/vm.h"

namespace tilevm::filetest {

/// An error as it happened. Without a place (line 0) it is one of the environment, and `code` is
/// its kind.
struct SeenError {
  std::string code;
  int line = 0, column = 0;
  std::string message;
};

struct Outcome {
  std::vector<SeenError> errors;
  std::string rendered;  ///< all diagnostics and errors, as the command shows them
  std::vector<std::pair<std::string, vm::HostTensor>> outputs;
  std::vector<std::string> prints;  ///< lines
  std::vector<std::string> shadow;  ///< shadow values, as lines
  /// Warnings of the run; nothing where none are made.
  std::optional<std::vector<std::string>> warnings;
  std::string report;                ///< report of `tilevm compile --explain`, without locations
  std::string code;                  ///< CUDA, without the prelude
  std::vector<std::string> kernels;  ///< names, if `report` and `code` were made
};

/// Runs the cases of a file. Their programs are compiled together, where the engine compiles.
[[nodiscard]] std::vector<Outcome> run_cases(const TestFile& file,
                                             const std::shared_ptr<const SourceFile>& source,
                                             vm::Engine& engine);

/// Why a file cannot be tested on an engine; empty if it can. Faults are the simulator's to explain
/// (on a GPU they cost the device's context), and results are those of one architecture.
[[nodiscard]] std::string why_not(const TestFile& file, const vm::Engine& engine);

}  // namespace tilevm::filetest
