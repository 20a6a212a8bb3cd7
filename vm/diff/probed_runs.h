// Runs of engines with probes, on the same inputs each time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isa/program/probe.h"
#include "vm/diff/differ.h"
#include "vm/diff/probe_windows.h"

namespace tilevm::vm {

class ProbedRuns {
 public:
  ProbedRuns(const DiffCase& what, const std::vector<HostTensor>& inputs);

  /// Runs an engine; fills the logs, whose windows are set. A fault of the program is not an error:
  /// it leaves what was recorded before it.
  [[nodiscard]] std::optional<Error> run(Engine& engine, ProbeLogs& logs);

  /// Whether an engine met a fault, so that records may end early; and which, in words.
  [[nodiscard]] bool cut() const { return fault_.has_value(); }
  [[nodiscard]] const std::optional<std::string>& fault() const { return fault_; }

  [[nodiscard]] const DiffCase& what() const { return what_; }
  [[nodiscard]] const isa::ProbePlan& plan(int kernel) const {
    return plans_[static_cast<std::size_t>(kernel)];
  }

 private:
  const DiffCase& what_;
  const std::vector<HostTensor>& inputs_;
  std::vector<isa::ProbePlan> plans_;  ///< plans by kernel
  std::optional<std::string> fault_;
};

}  // namespace tilevm::vm
