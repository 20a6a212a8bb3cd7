#include "vm/run/engine_emu.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "backend/emu/emu_engine.h"
#include "vm/run/mma_models.h"
#include "vm/run/modelled.h"

namespace tilevm::vm {
namespace {

using backend::EmuFault;
using backend::EmuOptions;

EmuOptions::Landing landing_of(sim::Completion::Time time) {
  switch (time) {
    case sim::Completion::Time::latest:
      return EmuOptions::Landing::at_wait;
    case sim::Completion::Time::earliest:
      return EmuOptions::Landing::at_once;
    case sim::Completion::Time::random:
      return EmuOptions::Landing::seeded;
  }
  return EmuOptions::Landing::at_wait;
}

EmuOptions::Order order_of(sim::BlockOrder::Kind kind) {
  switch (kind) {
    case sim::BlockOrder::Kind::ascending:
      return EmuOptions::Order::forward;
    case sim::BlockOrder::Kind::descending:
      return EmuOptions::Order::backward;
    case sim::BlockOrder::Kind::random:
      return EmuOptions::Order::seeded;
  }
  return EmuOptions::Order::forward;
}

EmuOptions emu_options(const EngineOptions& options) {
  EmuOptions result;
  result.threads = options.threads;
  result.optimisation = options.level.value_or(result.optimisation);
  result.lanes = order_of(options.thread_order.kind);
  result.blocks = order_of(options.block_order.kind);
  result.copies = landing_of(options.completion.time);
  result.seed = options.completion.seed ^ options.block_order.seed ^ options.thread_order.seed;
  result.max_steps = options.max_steps.value_or(result.max_steps);
  result.resident_blocks = options.resident_blocks.value_or(result.resident_blocks);
  if (options.progress != nullptr) result.stop = &options.progress->stop;
  return result;
}

Code code_of(EmuFault::Kind kind) {
  switch (kind) {
    case EmuFault::Kind::step_limit:
      return Code::step_limit;
    case EmuFault::Kind::deadlock:
      return Code::deadlock;
    case EmuFault::Kind::trap:
    case EmuFault::Kind::memory:
    case EmuFault::Kind::divergence:
    case EmuFault::Kind::replicas:
    case EmuFault::Kind::order:
      return Code::emulated_fault;
  }
  return Code::emulated_fault;
}

/// The line without its indentation; the kernel's name where the line is unknown.
Span span_of(const isa::VerifiedProgram& program, int kernel, unsigned line) {
  const SourceFile& source = program.source();
  if (line == 0 || static_cast<int>(line) > source.line_count()) return program.kernel(kernel).span;
  const std::string_view text = source.line(static_cast<int>(line));
  const auto begin = static_cast<std::uint32_t>(text.data() - source.text().data());
  const auto indentation =
      static_cast<std::uint32_t>(std::min(text.find_first_not_of(" \t"), text.size()));
  return {begin + indentation, begin + static_cast<std::uint32_t>(text.size())};
}

Failure to_failure(const isa::VerifiedProgram& program, int kernel, const EmuFault& fault) {
  Diagnostics diagnostics;
  Diagnostic& error =
      diagnostics.error(code_of(fault.kind), span_of(program, kernel, fault.line), fault.message);
  add_note(error, fmt::format("in thread {} of block ({}, {}, {}) of the emulated GPU",
                              fault.thread, fault.block[0], fault.block[1], fault.block[2]));
  if (fault.earlier_line > 0 && fault.earlier_line != fault.line) {
    add_note(error, "the other access is here", span_of(program, kernel, fault.earlier_line));
  }
  return diagnostics;
}

Failure to_failure(Diagnostic report) {
  Diagnostics diagnostics;
  diagnostics.report(std::move(report));
  return diagnostics;
}

class EmuRunner final : public Engine {
 public:
  EmuRunner(backend::EmuEngine engine, std::optional<int> level)
      : name_(level ? fmt::format("emu:O{}", *level) : "emu"), engine_(std::move(engine)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string device() const override { return "emulated GPU"; }
  [[nodiscard]] std::string compiler() const override { return engine_.compiler(); }

  [[nodiscard]] Status prepare(std::span<const isa::VerifiedProgram* const> programs) override {
    return engine_.prepare(programs);
  }

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
                                 ProbeRun* probes) {
    const auto start = std::chrono::steady_clock::now();
    const isa::VerifiedProgram* const one = &program;
    if (probes == nullptr) {
      if (Status ready = engine_.prepare({&one, 1}); !ready) return ready.error();
    }
    const auto ready = std::chrono::steady_clock::now();
    backend::HostBuffers buffers;
    std::vector<std::string> names;
    for (HostTensor& tensor : tensors) buffers.push_back(std::move(tensor.data));
    for (const Entry::Tensor& tensor : entry.tensors) names.push_back(tensor.name);
    backend::EmuMemory memory(buffers);
    std::optional<Failure> failure;
    for (std::size_t i = 0; i < entry.launches.size() && !failure; ++i) {
      isa::ProbeLog* const log = probes != nullptr ? &probes->launches[i] : nullptr;
      failure = run_launch(program, entry.launches[i], names, memory, report, log);
    }
    if (!failure) note_modelled(program, entry, report.notes);
    memory.download(buffers);
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = std::move(buffers[i]);
    using Milliseconds = std::chrono::duration<double, std::milli>;
    report.prepare_milliseconds = Milliseconds(ready - start).count();
    report.milliseconds = Milliseconds(std::chrono::steady_clock::now() - ready).count();
    return failure;
  }

  std::optional<Failure> run_launch(const isa::VerifiedProgram& program, const isa::Launch& launch,
                                    const std::vector<std::string>& names,
                                    backend::EmuMemory& memory, RunReport& report,
                                    isa::ProbeLog* log) {
    Result<backend::EmuRun> run =
        log != nullptr
            ? engine_.launch_probed(program, launch.kernel, launch.arguments, memory, names, *log)
            : engine_.launch(program, launch.kernel, launch.arguments, memory, names);
    if (!run) return run.error();
    if (run->assertion) return to_failure(*std::move(run->assertion));
    if (run->fault) return to_failure(program, launch.kernel, *run->fault);
    if (run->prints && !run->prints->empty()) report.prints.push_back(*std::move(run->prints));
    return std::nullopt;
  }

  std::string name_;
  backend::EmuEngine engine_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_emu_engine(const EngineOptions& options) {
  Result<backend::EmuEngine> engine =
      backend::EmuEngine::create(emu_options(options), mma_model_of);
  if (!engine) return engine.error();
  if (options.edit_text) {
    engine->edit_source([edit = options.edit_text](backend::CudaSource& source) {
      source.text = edit(std::move(source.text));
    });
  }
  return std::unique_ptr<Engine>(std::make_unique<EmuRunner>(*std::move(engine), options.level));
}

}  // namespace tilevm::vm
