#include "vm/diff/differ.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "vm/run/make_engine.h"

namespace tilevm::vm {

namespace {

/// Whether nothing can be compared after this failure: a device, a compiler or an option is
/// missing.
const Error* environment_error(const Failure& failure) {
  const auto* error = std::get_if<Error>(&failure);
  if (error == nullptr) return nullptr;
  const bool environment = error->kind == ErrorKind::unavailable || error->kind == ErrorKind::usage;
  return environment ? error : nullptr;
}

Outcome run_outcome(const EngineRun& run) {
  if (!run.failure) return Finished{};
  if (exit_of(*run.failure) == Exit::limit) return Stopped{*run.failure};
  return Faulted{*run.failure};
}

/// The comparison of one seed.
class SeedComparison {
 public:
  SeedComparison(const DiffCase& what, const Engines& engines, SeedRun& result)
      : what_(what), engines_(engines), result_(result) {}

  std::optional<Error> run() {
    for (const std::unique_ptr<Engine>& engine : engines_) {
      result_.verdict.engines.emplace_back(engine->name());
      EngineRun run = run_once(*engine);
      if (run.failure) {
        if (const Error* error = environment_error(*run.failure)) return *error;
      }
      result_.verdict.outcomes.push_back(run_outcome(run));
      result_.runs.push_back(std::move(run));
    }
    compare_all();
    if (!result_.verdict.exact()) repeat();
    return std::nullopt;
  }

 private:
  EngineRun run_once(Engine& engine) const {
    EngineRun run;
    run.tensors = result_.inputs;
    run.failure = engine.run(what_.program, what_.entry, run.tensors, run.report);
    return run;
  }

  /// Compares each engine that has a result with the first of them.
  void compare_all() {
    std::optional<std::size_t> reference;
    for (std::size_t i = 0; i < result_.runs.size(); ++i) {
      if (result_.runs[i].failure) continue;
      if (reference) compare_pair(*reference, i);
      if (!reference) reference = i;
      join_group(i);
    }
    SeedVerdict& verdict = result_.verdict;
    verdict.agreement.suspect = find_suspect(verdict.engines, verdict.agreement.groups);
  }

  void compare_pair(std::size_t a, std::size_t b) {
    const EngineRun &first = result_.runs[a], &second = result_.runs[b];
    for (std::size_t i = 0; i < first.tensors.size(); ++i) {
      if (!what_.entry.tensors[i].output) continue;
      result_.verdict.tensors.push_back(judge_tensor(i, a, first.tensors[i], b, second.tensors[i]));
    }
    const Prints &ours = first.report.prints, &theirs = second.report.prints;
    if (ours.empty() && theirs.empty()) return;
    result_.verdict.prints.push_back(
        {a, b, count_prints(what_.program, ours), vm::compare_prints(what_.program, ours, theirs)});
  }

  void join_group(std::size_t engine) {
    auto& groups = result_.verdict.agreement.groups;
    const auto mine = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return agree(result_.runs[group.front()], result_.runs[engine]);
    });
    if (mine != groups.end()) {
      mine->push_back(engine);
    } else {
      groups.push_back({engine});
    }
  }

  [[nodiscard]] bool agree(const EngineRun& a, const EngineRun& b) const {
    return !first_difference(a.tensors, b.tensors) &&
           !vm::compare_prints(what_.program, a.report.prints, b.report.prints);
  }

  /// The first output that differs.
  [[nodiscard]] std::optional<Unstable> first_difference(const std::vector<HostTensor>& a,
                                                         const std::vector<HostTensor>& b) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!what_.entry.tensors[i].output) continue;
      Comparison comparison = compare(a[i], b[i]);
      if (comparison.different > 0) return Unstable{i, std::move(comparison)};
    }
    return std::nullopt;
  }

  /// Finds engines whose second run gives something else.
  void repeat() {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      if (engines_[i]->repeats_itself() || result_.runs[i].failure) continue;
      const EngineRun again = run_once(*engines_[i]);
      if (again.failure) continue;
      auto unstable = first_difference(result_.runs[i].tensors, again.tensors);
      if (unstable) result_.verdict.outcomes[i] = *std::move(unstable);
    }
  }

  const DiffCase& what_;
  const Engines& engines_;
  SeedRun& result_;
};

}  // namespace

Result<Engines> make_engines(const std::string& backends, const EngineOptions& options) {
  const Result<std::vector<EngineName>> names = parse_engines(backends);
  if (!names) return names.error();
  if (names->size() < 2) {
    return Error{ErrorKind::usage,
                 fmt::format("--engines `{}` does not name two: write A,B", backends)};
  }
  Engines engines;
  for (const EngineName& name : *names) {
    Result<std::unique_ptr<Engine>> engine = make_engine(name, options);
    if (!engine) return engine.error();
    engines.push_back(*std::move(engine));
  }
  return engines;
}

const Engine& deciding_engine(const Engines& engines) {
  for (const std::unique_ptr<Engine>& engine : engines) {
    if (engine->target()) return *engine;
  }
  return *engines.front();
}

const Failure* SeedRun::common_failure() const {
  const bool all = std::all_of(runs.begin(), runs.end(),
                               [](const EngineRun& run) { return run.failure.has_value(); });
  return all && !runs.empty() ? &*runs.front().failure : nullptr;
}

Result<SeedRun> run_on(const DiffCase& what, const Engines& engines, std::vector<HostTensor> inputs,
                       std::uint64_t seed) {
  SeedRun result;
  result.inputs = std::move(inputs);
  result.verdict.seed = seed;
  if (auto error = SeedComparison(what, engines, result).run()) return *std::move(error);
  return result;
}

Result<SeedRun> run_seed(const DiffCase& what, const Engines& engines, const Seeding& seeding,
                         DataReader& reader) {
  Result<std::vector<HostTensor>> inputs = make_tensors(what.entry, seeding, reader);
  if (!inputs) return inputs.error();
  return run_on(what, engines, *std::move(inputs), seeding.seed);
}

Result<SeedRun> run_seed(const DiffCase& what, const Engines& engines, const Seeding& seeding) {
  DataReader reader;
  return run_seed(what, engines, seeding, reader);
}

}  // namespace tilevm::vm
