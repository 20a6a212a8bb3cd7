#include "vm/fuzz/judge.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "vm/data/compare.h"
#include "vm/fuzz/signature.h"
#include "vm/fuzz/text_oracles.h"
#include "vm/naive/naive_engine.h"
#include "vm/run/make_engine.h"

namespace tilevm::vm::fuzz {
namespace {

constexpr sim::Checks no_checks{false, false, false, false, false, false, false};

/// A generated case takes a few thousand; more is a loop that does not end.
constexpr std::uint64_t most_steps = 1 << 20;
constexpr std::chrono::seconds most_time{20};

/// A mode of the simulator that may not change what a program computes.
struct SimMode {
  std::string name;
  EngineOptions options;
};

EngineOptions options_of(int threads, const sim::Checks& checks) {
  EngineOptions options;
  options.threads = threads;
  options.checks = checks;
  options.max_steps = most_steps;
  return options;
}

std::vector<SimMode> sim_modes(std::uint64_t seed) {
  std::vector<SimMode> modes;
  modes.push_back({"sim without checks", options_of(1, no_checks)});
  modes.push_back({"sim traced", options_of(1, no_checks)});
  modes.back().options.trace = [](int, const sim::TraceEvent&) { return true; };
  modes.push_back({"sim on 3 threads, descending, earliest", options_of(3, no_checks)});
  modes.back().options.completion.time = sim::Completion::Time::earliest;
  modes.back().options.block_order.kind = sim::BlockOrder::Kind::descending;
  modes.push_back({"sim checked, random order", options_of(2, {})});
  modes.back().options.completion = {sim::Completion::Time::random, seed};
  modes.back().options.block_order = {sim::BlockOrder::Kind::random, seed};
  return modes;
}

/// The first difference of two runs.
struct RunDifference {
  bool in_prints = false;
  std::string text;
};

std::optional<RunDifference> difference(const ReadyCase& each, const Outcome& a, const Outcome& b) {
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    if (!each.entry.tensors[i].output) continue;
    const Comparison comparison = compare(a.tensors[i], b.tensors[i]);
    if (comparison.different == 0) continue;
    return RunDifference{
        false, fmt::format("{}: {} of {} elements, the first {}", each.entry.tensors[i].name,
                           comparison.different, comparison.elements,
                           format_difference(a.tensors[i], *comparison.first))};
  }
  if (const auto prints = compare_prints(each.program, a.prints, b.prints)) {
    return RunDifference{true, fmt::format("prints: {} against {}", prints->a, prints->b)};
  }
  return std::nullopt;
}

/// A run that is compared with the checked one: on engine b of these, of which the first is the
/// checked simulator.
struct ComparedRun {
  std::string name;
  const Engines& engines;
  std::size_t b = 1;
};

std::optional<Finding> against(const ReadyCase& each, const Outcome& checked, const Outcome& other,
                               const ComparedRun& run, const std::string& backends) {
  const SourceFile& source = each.program.source();
  if (other.failure) {
    return Finding{fmt::format("{}: {}", run.name, fault_signature(*other.failure, source)),
                   failure_text(*other.failure, source), backends, run.name};
  }
  const auto found = difference(each, checked, other);
  if (!found) return std::nullopt;
  const std::string kind = differing_kind(each, run.engines, run.b);
  const std::string place = !kind.empty()      ? " at " + kind
                            : found->in_prints ? std::string(" in prints")
                                               : std::string();
  return Finding{fmt::format("{} differs{}", run.name, place), found->text, backends, run.name};
}

std::unique_ptr<Engine> checked_simulator() { return *make_engine("sim", options_of(1, {})); }

std::optional<Finding> judge_checked(const ReadyCase& each, const Outcome& checked) {
  if (!checked.failure) return std::nullopt;
  const SourceFile& source = each.program.source();
  return Finding{"sim: " + fault_signature(*checked.failure, source),
                 failure_text(*checked.failure, source),
                 {},
                 "sim"};
}

/// The modes of the simulator; `only` one of them, if it is not empty.
std::optional<Finding> judge_modes(const ReadyCase& each, const Outcome& checked,
                                   const std::string& only) {
  for (const SimMode& mode : sim_modes(each.seed)) {
    if (!only.empty() && mode.name != only) continue;
    Engines engines;
    engines.push_back(checked_simulator());
    engines.push_back(*make_engine("sim", mode.options));
    const Outcome outcome = run_on(*engines[1], each);
    if (auto finding = against(each, checked, outcome, {mode.name, engines}, {})) return finding;
  }
  return std::nullopt;
}

bool is_unavailable(const Outcome& outcome) {
  const auto* error = outcome.failure ? std::get_if<Error>(&*outcome.failure) : nullptr;
  return error != nullptr && error->kind == ErrorKind::unavailable;
}

}  // namespace

Outcome run_on(Engine& engine, const ReadyCase& each) {
  Outcome outcome;
  outcome.tensors = each.tensors;
  RunReport report;
  outcome.failure = engine.run(each.program, each.entry, outcome.tensors, report);
  outcome.prints = std::move(report.prints);
  return outcome;
}

Outcome run_checked(const ReadyCase& each) { return run_on(*checked_simulator(), each); }

Result<Judge> Judge::make(const std::vector<std::string>& backends, const EngineOptions& options) {
  Judge judge;
  judge.engines_.push_back(checked_simulator());
  EngineOptions bounded = options;
  bounded.timeout = most_time;
  for (const std::string& name : backends) {
    if (name == "sim") continue;
    if (name == "naive") {
      judge.engines_.push_back(naive::make_naive_engine());
      continue;
    }
    Result<std::unique_ptr<Engine>> engine = make_engine(name, bounded);
    if (!engine) return engine.error();
    judge.engines_.push_back(*std::move(engine));
  }
  return judge;
}

Result<std::optional<Finding>> Judge::judge_on(const ReadyCase& each, std::size_t engine,
                                               const Outcome& checked) {
  const std::string name(engines_[engine]->name());
  const Outcome outcome = run_on(*engines_[engine], each);
  if (is_unavailable(outcome)) return *std::get_if<Error>(&*outcome.failure);
  return against(each, checked, outcome, {name, engines_, engine}, "sim," + name);
}

Result<std::vector<std::optional<Finding>>> Judge::judge(
    const std::vector<const ReadyCase*>& batch) {
  std::vector<std::optional<Finding>> findings(batch.size());
  std::vector<Outcome> checked(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    checked[i] = run_on(*engines_[0], *batch[i]);
    findings[i] = judge_checked(*batch[i], checked[i]);
    if (!findings[i]) findings[i] = judge_modes(*batch[i], checked[i], {});
  }
  for (std::size_t engine = 1; engine < engines_.size(); ++engine) {
    std::vector<const isa::VerifiedProgram*> programs;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!findings[i]) programs.push_back(&batch[i]->program);
    }
    // A failure of the batch shows again where the program runs that is at fault.
    const Status prepared = engines_[engine]->prepare(programs);
    if (!prepared && prepared.error().kind == ErrorKind::unavailable) return prepared.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (findings[i]) continue;
      auto finding = judge_on(*batch[i], engine, checked[i]);
      if (!finding) return finding.error();
      findings[i] = *std::move(finding);
    }
  }
  return findings;
}

std::optional<Finding> Judge::judge_again(const ReadyCase& each, const Finding& finding) {
  if (finding.run.empty()) return std::nullopt;
  const Outcome checked = run_on(*engines_[0], each);
  if (auto fault = judge_checked(each, checked)) return fault;
  const auto engine = std::find_if(
      engines_.begin() + 1, engines_.end(),
      [&](const std::unique_ptr<Engine>& other) { return other->name() == finding.run; });
  if (engine == engines_.end()) return judge_modes(each, checked, finding.run);
  auto again = judge_on(each, static_cast<std::size_t>(engine - engines_.begin()), checked);
  return again ? *std::move(again) : std::nullopt;
}

std::optional<Finding> judge_planted(const ReadyCase& each, const PlantedFault& planted) {
  const SourceFile& source = each.program.source();
  const std::string title = fmt::format("planted {}: ", planted.kind);
  const std::string run = "sim";
  const Outcome outcome = run_checked(each);
  if (!outcome.failure) {
    if (!planted.faulty) return std::nullopt;
    return Finding{title + "no report", planted.expected.line, {}, run};
  }
  const std::string text = failure_text(*outcome.failure, source);
  const std::string report = fault_signature(*outcome.failure, source);
  if (!planted.faulty) return Finding{title + "without it " + report, text, {}, run};
  const auto* diagnostics = std::get_if<Diagnostics>(&*outcome.failure);
  if (diagnostics == nullptr) return Finding{title + report, text, {}, run};
  const std::vector<Diagnostic> all = diagnostics->sorted();
  const std::string_view line = source.line_at(all.front().span.begin);
  const bool right = all.size() == 1 && all.front().code == planted.expected.code &&
                     line.find(planted.expected.line) != std::string_view::npos;
  if (right) return std::nullopt;
  return Finding{title + report, text, {}, run};
}

}  // namespace tilevm::vm::fuzz
