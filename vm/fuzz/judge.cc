#include "vm/fuzz/judge.h"

#include <utility>

#include <fmt/format.h>

#include "vm/data/compare.h"
#include "vm/fuzz/text_oracles.h"
#include "vm/naive/naive_engine.h"

namespace tilevm::vm::fuzz {
namespace {

constexpr sim::Checks no_checks{false, false, false, false, false, false};

/// A generated case takes a few thousand; more is a loop that does not end.
constexpr std::uint64_t most_steps = 1 << 20;

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

/// The first difference of two runs, in words.
std::optional<std::string> difference(const ReadyCase& each, const Outcome& a, const Outcome& b) {
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    if (!each.entry.tensors[i].output) continue;
    const Comparison comparison = compare(a.tensors[i], b.tensors[i]);
    if (comparison.different == 0) continue;
    return fmt::format("{}: {} of {} elements, the first {}", each.entry.tensors[i].name,
                       comparison.different, comparison.elements,
                       format_difference(a.tensors[i], *comparison.first));
  }
  if (const auto prints = compare_prints(each.program, a.prints, b.prints)) {
    return fmt::format("prints: {} against {}", prints->a, prints->b);
  }
  return std::nullopt;
}

/// What a run against the checked one shows.
std::optional<Finding> against(const ReadyCase& each, const Outcome& checked, const Outcome& other,
                               const std::string& name, const std::string& backends) {
  const SourceFile& source = each.program.source();
  if (other.failure) {
    return Finding{fmt::format("{}: {}", name, fault_signature(*other.failure, source)),
                   failure_text(*other.failure, source), backends};
  }
  if (const auto text = difference(each, checked, other)) {
    return Finding{fmt::format("{} differs", name), *text, backends};
  }
  return std::nullopt;
}

std::optional<Finding> judge_sim(const ReadyCase& each, std::uint64_t seed, Outcome& checked) {
  checked = run_checked(each);
  if (checked.failure) {
    const SourceFile& source = each.program.source();
    return Finding{"sim: " + fault_signature(*checked.failure, source),
                   failure_text(*checked.failure, source),
                   {}};
  }
  for (const SimMode& mode : sim_modes(seed)) {
    const auto engine = make_engine("sim", mode.options);
    const Outcome outcome = run_on(**engine, each);
    if (auto finding = against(each, checked, outcome, mode.name, {})) return finding;
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

Outcome run_checked(const ReadyCase& each) {
  const auto engine = make_engine("sim", options_of(1, {}));
  return run_on(**engine, each);
}

Result<Judge> Judge::make(const std::vector<std::string>& backends) {
  Judge judge;
  for (const std::string& name : backends) {
    if (name == "sim") continue;
    if (name == "naive") {
      judge.others_.push_back(naive::make_naive_engine());
      continue;
    }
    Result<std::unique_ptr<Engine>> engine = make_engine(name, {});
    if (!engine) return engine.error();
    judge.others_.push_back(*std::move(engine));
  }
  return judge;
}

Result<std::vector<std::optional<Finding>>> Judge::judge(const std::vector<const ReadyCase*>& batch,
                                                         std::uint64_t seed) {
  std::vector<std::optional<Finding>> findings(batch.size());
  std::vector<Outcome> checked(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    findings[i] = judge_sim(*batch[i], seed + i, checked[i]);
  }
  for (const std::unique_ptr<Engine>& engine : others_) {
    const std::string name(engine->name());
    std::vector<const isa::VerifiedProgram*> programs;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!findings[i]) programs.push_back(&batch[i]->program);
    }
    // A failure of the batch shows again where the program runs that is at fault.
    const Status prepared = engine->prepare(programs);
    if (!prepared && prepared.error().kind == ErrorKind::unavailable) return prepared.error();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (findings[i]) continue;
      const Outcome outcome = run_on(*engine, *batch[i]);
      if (is_unavailable(outcome)) return *std::get_if<Error>(&*outcome.failure);
      findings[i] = against(*batch[i], checked[i], outcome, name, "sim," + name);
    }
  }
  return findings;
}

}  // namespace tilevm::vm::fuzz
