// Runs one case of a .tile test on one engine, and compares with what it expects.
#pragma once

#include <memory>
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
  std::vector<std::pair<std::string, vm::HostTensor>> outputs;
  std::vector<std::string> prints;  ///< lines
  std::vector<std::string> shadow;  ///< likewise
};

/// `engine` is null for kinds of tests that need none.
[[nodiscard]] Outcome run_case(const Case& test, const std::shared_ptr<const SourceFile>& source,
                               vm::Engine* engine);

/// Why a file cannot be tested on an engine; empty if it can. Faults are the simulator's to explain
/// (on a GPU they cost the device's context), and results are those of one architecture.
[[nodiscard]] std::string why_not(const TestFile& file, const vm::Engine& engine);

/// What is not as expected, one line each; empty if all is well.
[[nodiscard]] std::vector<std::string> complaints(const TestFile& file, const Case& test,
                                                  const Outcome& outcome);

/// The text of the file with expectations that its outcomes (one a case) meet.
[[nodiscard]] std::string bless(const TestFile& file, const std::vector<Outcome>& outcomes);

}  // namespace tilevm::filetest
