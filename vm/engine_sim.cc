#include <chrono>

#include "sim/sim.h"
#include "vm/engine.h"

namespace tilevm::vm {

namespace {

/// Data moves into the simulator's memory and back, without copies.
std::vector<sim::Buffer> lend(std::vector<HostTensor>& tensors) {
  std::vector<sim::Buffer> memory;
  for (HostTensor& tensor : tensors) memory.push_back({{}, std::move(tensor.data)});
  return memory;
}

void give_back(std::vector<sim::Buffer>& memory, std::vector<HostTensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = std::move(memory[i].bytes);
}

Failure to_failure(const sim::Fault& fault) {
  Diagnostics diagnostics;
  diagnostics.report(fault.diagnostic);
  return diagnostics;
}

class SimEngine final : public Engine {
 public:
  explicit SimEngine(const EngineOptions& options) {
    options_.threads = options.threads;
    options_.max_steps = options.max_steps.value_or(options_.max_steps);
    options_.checks = {options.races, options.in_flight};
  }

  [[nodiscard]] std::string_view name() const override { return "sim"; }
  [[nodiscard]] std::string device() const override { return "simulator"; }

  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    std::vector<sim::Buffer> memory = lend(tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i) memory[i].name = entry.tensors[i].name;
    const auto start = std::chrono::steady_clock::now();
    std::optional<Failure> failure;
    for (const isa::Launch& launch : entry.launches) {
      failure = run_launch(program, launch, memory, report);
      if (failure) break;
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    report.milliseconds = took.count();
    give_back(memory, tensors);
    return failure;
  }

 private:
  std::optional<Failure> run_launch(const isa::VerifiedProgram& program, const isa::Launch& launch,
                                    std::vector<sim::Buffer>& memory, RunReport& report) const {
    Result<sim::Report> result =
        sim::run_kernel(program, launch.kernel, launch.arguments, memory, options_);
    if (!result) return result.error();
    report.blocks += result->counters.blocks;
    report.steps += result->counters.steps;
    if (!result->prints.empty()) report.prints.push_back(std::move(result->prints));
    if (result->fault) return to_failure(*result->fault);
    return std::nullopt;
  }

  sim::Options options_;
};

}  // namespace

std::unique_ptr<Engine> make_sim_engine(const EngineOptions& options) {
  return std::make_unique<SimEngine>(options);
}

}  // namespace tilevm::vm
