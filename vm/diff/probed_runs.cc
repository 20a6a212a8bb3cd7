#include "vm/diff/probed_runs.h"

#include <utility>

#include <fmt/format.h>

#include "backend/select/select.h"

namespace tilevm::vm {

ProbedRuns::ProbedRuns(const DiffCase& what, const std::vector<HostTensor>& inputs)
    : what_(what), inputs_(inputs) {
  backend::SelectedProgram selected = backend::select(what.program, {.probes = true});
  for (backend::SelectedKernel& kernel : selected.kernels) {
    plans_.push_back(std::move(kernel.probes));
  }
}

std::optional<Error> ProbedRuns::run(Engine& engine, ProbeLogs& logs) {
  ProbeRun probes{plans_, std::move(logs)};
  std::vector<HostTensor> tensors = inputs_;
  const auto failure = engine.run_probed(what_.program, what_.entry, tensors, probes);
  logs = std::move(probes.launches);
  if (!failure) return std::nullopt;
  if (const auto* error = std::get_if<Error>(&*failure)) return *error;
  const auto sorted = std::get<Diagnostics>(*failure).sorted();
  if (!fault_) {
    fault_ = fmt::format("what comes after a fault in {}: {}", engine.name(),
                         sorted.empty() ? "" : sorted.front().message);
  }
  return std::nullopt;
}

}  // namespace tilevm::vm
