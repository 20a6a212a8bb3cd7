#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "sim/sim.h"
#include "vm/engine.h"
#include "vm/stats.h"

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

/// Whether a tensor has no defined contents when the run begins and a kernel reads it, so that it
/// matters. What is only written is not tracked, which would cost time.
bool begins_undefined(const isa::VerifiedProgram& program, const Entry& entry, std::size_t tensor) {
  if (entry.tensors[tensor].input) return false;
  return std::any_of(entry.launches.begin(), entry.launches.end(), [&](const auto& launch) {
    std::size_t pointer = 0;
    for (const auto& argument : launch.arguments) {
      const auto* index = std::get_if<int>(&argument);
      if (index == nullptr) continue;
      const isa::PointerUse& use = program.pointer_uses(launch.kernel)[pointer++];
      if (static_cast<std::size_t>(*index) == tensor && use.read) return true;
    }
    return false;
  });
}

Failure to_failure(const sim::Fault& fault) {
  Diagnostics diagnostics;
  diagnostics.report(fault.diagnostic);
  return diagnostics;
}

/// By where they stand in the text; a kernel may be launched several times.
using Barriers = std::map<std::size_t, sim::BarrierUse>;

void note_redundant(const Barriers& barriers, Diagnostics& notes) {
  for (const auto& [place, barrier] : barriers) {
    if (barrier.executed && barrier.needed) continue;
    Diagnostic note{.code = Code::redundant_barrier,
                    .severity = Severity::note,
                    .span = barrier.span,
                    .message = {},
                    .fix = {},
                    .notes = {}};
    note.message =
        fmt::format("{} this `{}`: for these sizes it is redundant",
                    barrier.executed ? "no access in this run needs" : "this run never reaches",
                    barrier.mnemonic);
    notes.report(std::move(note));
  }
}

class SimEngine final : public Engine {
 public:
  explicit SimEngine(const EngineOptions& options) {
    options_.threads = options.threads;
    options_.max_steps = options.max_steps.value_or(options_.max_steps);
    options_.checks = options.checks;
    options_.completion = options.completion;
    options_.block_order = options.block_order;
    options_.count_accesses = options.count_accesses;
    options_.trace.block = options.traced_block;
    trace_ = options.trace;
  }

  [[nodiscard]] std::string_view name() const override { return "sim"; }
  [[nodiscard]] std::string device() const override { return "simulator"; }

  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    std::vector<sim::Buffer> memory = lend(tensors);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      memory[i].name = entry.tensors[i].name;
      if (begins_undefined(program, entry, i)) {
        memory[i].undefined.assign(memory[i].bytes.size(), 0xff);
      }
    }
    const auto start = std::chrono::steady_clock::now();
    std::optional<Failure> failure;
    Barriers barriers;
    for (const isa::Launch& launch : entry.launches) {
      failure = run_launch(program, launch, memory, report, barriers);
      if (failure) break;
    }
    if (!failure) note_redundant(barriers, report.notes);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    report.milliseconds = took.count();
    give_back(memory, tensors);
    return failure;
  }

 private:
  std::optional<Failure> run_launch(const isa::VerifiedProgram& program, const isa::Launch& launch,
                                    std::vector<sim::Buffer>& memory, RunReport& report,
                                    Barriers& barriers) const {
    sim::Options options = options_;
    if (trace_) {
      options.trace.tell = [&](const sim::TraceEvent& event) {
        return trace_(launch.kernel, event);
      };
    }
    Result<sim::Report> result =
        sim::run_kernel(program, launch.kernel, launch.arguments, memory, options);
    if (!result) return result.error();
    report.blocks += result->counters.blocks;
    report.steps += result->counters.steps;
    if (!result->prints.empty()) report.prints.push_back(std::move(result->prints));
    if (result->fault) return to_failure(*result->fault);
    for (const sim::BarrierUse& use : result->barriers) {
      sim::BarrierUse& known = barriers.try_emplace(use.span.begin, use).first->second;
      known.executed = known.executed || use.executed;
      known.needed = known.needed || (use.executed && use.needed);
    }
    if (options_.count_accesses) add_launch(report.kernels, launch.kernel, result->counters);
    return std::nullopt;
  }

  sim::Options options_;
  std::function<bool(int, const sim::TraceEvent&)> trace_;
};

}  // namespace

std::unique_ptr<Engine> make_sim_engine(const EngineOptions& options) {
  return std::make_unique<SimEngine>(options);
}

}  // namespace tilevm::vm
