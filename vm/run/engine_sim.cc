#include "vm/run/engine_sim.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "sim/api/sim.h"
#include "sim/state/shadow_values.h"
#include "vm/run/modelled.h"
#include "vm/run/shadow.h"
#include "vm/run/stats.h"
#include "vm/run/unwritten.h"

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

/// Makes a tensor's memory ready: its name; which elements are undefined, where it matters since a
/// kernel reads it; shadow values, if they are asked for and a kernel writes it.
Status prepare_buffer(const Entry::Tensor& tensor, const isa::PointerUse& use, bool keep_shadow,
                      sim::Buffer& buffer) {
  buffer.name = tensor.name;
  if (!tensor.input && use.read) buffer.undefined.assign(buffer.bytes.size(), 0xff);
  if (!keep_shadow || !use.written) return Done{};
  Result<sim::ShadowMemory> shadow =
      sim::make_shadow(tensor.name, tensor.dtype, buffer.bytes.size());
  if (!shadow) return shadow.error();
  buffer.shadow = *std::move(shadow);
  return Done{};
}

/// The errors of a tensor against its shadow values.
OutputErrors compare_with_shadow(const Entry::Tensor& tensor, const HostTensor& data,
                                 const sim::ShadowMemory& shadow) {
  OutputErrors result{tensor.name, tensor.dtype, tensor.shape, {}};
  const sim::ErrorMeter meter(tensor.dtype);
  const auto shadow_of = [&](std::size_t k) {
    return shadow.load(tensor.dtype, k * tensor.dtype.bits).value();
  };
  for (std::size_t k = 0; k < data.size(); ++k) {
    const std::optional<double> reference = shadow_of(k);
    if (!reference) continue;
    const double value = sim::value_of(tensor.dtype, data.code(k));
    meter.add(value, *reference, {{}, k}, result.errors);
  }
  const std::size_t worst = result.errors.ulp.worst.element;
  if (result.errors.ulp.max > 0) {
    result.worst = sim::value_of(tensor.dtype, data.code(worst));
    result.worst_shadow = *shadow_of(worst);
  }
  return result;
}

Failure to_failure(const sim::Fault& fault) {
  Diagnostics diagnostics;
  diagnostics.report(fault.diagnostic);
  return diagnostics;
}

/// By their offset in the text; a kernel may be launched several times.
using Barriers = std::map<std::size_t, sim::BarrierUse>;

void note_redundant(const Barriers& barriers, Diagnostics& notes) {
  for (const auto& [offset, barrier] : barriers) {
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
    options_.resident_blocks = options.resident_blocks.value_or(options_.resident_blocks);
    options_.explored_orders = options.explored_orders.value_or(options_.explored_orders);
    options_.count_accesses = options.count_accesses;
    options_.keep_shadow = options.keep_shadow;
    require_written_ = options.require_written;
    options_.progress = options.progress;
    options_.plans = options.plans;
    options_.trace.block = options.traced_block;
    options_.trace.first_blocks = options.traced_blocks;
    options_.trace.values = options.trace_values;
    trace_ = options.trace;
  }

  [[nodiscard]] std::string_view name() const override { return "sim"; }
  [[nodiscard]] std::string device() const override { return "simulator"; }
  [[nodiscard]] bool repeats_itself() const override { return true; }

  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    return run_all(program, entry, tensors, report, nullptr);
  }
  [[nodiscard]] std::optional<Failure> run_probed(const isa::VerifiedProgram& program,
                                                  const Entry& entry,
                                                  std::vector<HostTensor>& tensors,
                                                  ProbeRun& probes) override {
    RunReport report;
    return run_all(program, entry, tensors, report, &probes);
  }

 private:
  std::optional<Failure> run_all(const isa::VerifiedProgram& program, const Entry& entry,
                                 std::vector<HostTensor>& tensors, RunReport& report,
                                 ProbeRun* probes) const {
    std::vector<sim::Buffer> memory = lend(tensors);
    std::optional<Failure> failure;
    for (std::size_t i = 0; i < tensors.size() && !failure; ++i) {
      const Status status = prepare_buffer(entry.tensors[i], use_of(program, entry, i),
                                           options_.keep_shadow, memory[i]);
      if (!status) failure = status.error();
    }
    const auto start = std::chrono::steady_clock::now();
    Barriers barriers;
    StoreLog stores(tensors.size());
    for (std::size_t i = 0; i < entry.launches.size() && !failure; ++i) {
      if (options_.progress != nullptr) options_.progress->launch = i;
      sim::Probes probe;
      if (probes != nullptr) {
        const auto kernel = static_cast<std::size_t>(entry.launches[i].kernel);
        probe = {&probes->plans[kernel], &probes->launches[i]};
      }
      failure = run_launch(program, entry.launches[i], memory, report, barriers, stores, probe);
    }
    if (!failure) {
      note_redundant(barriers, report.notes);
      note_modelled(program, entry, report.notes);
      failure = report_stores(program, entry, stores, report);
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    report.milliseconds = took.count();
    give_back(memory, tensors);
    for (std::size_t i = 0; i < tensors.size() && !failure; ++i) {
      if (!entry.tensors[i].output || !memory[i].shadow) continue;
      report.output_errors.push_back(
          compare_with_shadow(entry.tensors[i], tensors[i], *memory[i].shadow));
    }
    return failure;
  }

  /// A failure if elements of outputs must be written, and some are not.
  std::optional<Failure> report_stores(const isa::VerifiedProgram& program, const Entry& entry,
                                       const StoreLog& stores, RunReport& report) const {
    stores.report_outside(report.notes);
    if (!options_.checks.unwritten) return std::nullopt;
    for (std::size_t t = 0; t < entry.tensors.size(); ++t) {
      const std::optional<Uncovered> left = stores.unwritten(entry, t);
      report.unwritten.push_back(left ? std::optional(left->count) : std::nullopt);
    }
    Diagnostics found;
    stores.report_unwritten(program, entry, require_written_, found);
    if (found.has_errors()) return found;
    for (const Diagnostic& each : found.sorted()) report.notes.report(each);
    return std::nullopt;
  }

  std::optional<Failure> run_launch(const isa::VerifiedProgram& program, const isa::Launch& launch,
                                    std::vector<sim::Buffer>& memory, RunReport& report,
                                    Barriers& barriers, StoreLog& stores,
                                    const sim::Probes& probes) const {
    sim::Options options = options_;
    options.probes = probes;
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
    report.grids.push_back(result->grid);
    report.orders = std::max(report.orders, result->orders);
    stores.add(launch, *result);
    for (const sim::BarrierUse& use : result->barriers) {
      sim::BarrierUse& known = barriers.try_emplace(use.span.begin, use).first->second;
      known.executed = known.executed || use.executed;
      known.needed = known.needed || (use.executed && use.needed);
    }
    if (options_.keep_shadow) {
      add_launch(report.kernel_errors, launch.kernel, std::move(result->errors));
    }
    if (options_.count_accesses) add_launch(report.kernels, launch.kernel, result->counters);
    return std::nullopt;
  }

  sim::Options options_;
  bool require_written_ = false;
  std::function<bool(int, const sim::TraceEvent&)> trace_;
};

}  // namespace

isa::PointerUse use_of(const isa::VerifiedProgram& program, const Entry& entry,
                       std::size_t tensor) {
  isa::PointerUse all;
  for (const isa::Launch& launch : entry.launches) {
    std::size_t pointer = 0;
    for (const auto& argument : launch.arguments) {
      const auto* index = std::get_if<int>(&argument);
      if (index == nullptr) continue;
      const isa::PointerUse& use = program.pointer_uses(launch.kernel)[pointer++];
      if (static_cast<std::size_t>(*index) != tensor) continue;
      all.read = all.read || use.read;
      all.written = all.written || use.written;
    }
  }
  return all;
}

std::unique_ptr<Engine> make_sim_engine(const EngineOptions& options) {
  return std::make_unique<SimEngine>(options);
}

}  // namespace tilevm::vm
