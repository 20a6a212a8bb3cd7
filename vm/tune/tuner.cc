#include "vm/tune/tuner.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "backend/host/subprocess.h"
#include "vm/text/file.h"

namespace tilevm::vm::tuning {

namespace {

using Clock = std::chrono::steady_clock;

/// For one process, with its wait for the others.
constexpr std::chrono::minutes patience{5};

void add_defines(std::vector<std::string>& arguments,
                 const std::vector<frontend::Define>& defines) {
  for (const frontend::Define& define : defines) {
    arguments.insert(arguments.end(), {"-D", define.name + "=" + define.value});
  }
}

/// `defines`, with the values of `overrides` for the names that these have.
std::vector<frontend::Define> overridden(std::vector<frontend::Define> defines,
                                         const std::vector<frontend::Define>& overrides) {
  std::erase_if(defines, [&](const frontend::Define& define) {
    return std::any_of(overrides.begin(), overrides.end(),
                       [&](const frontend::Define& other) { return other.name == define.name; });
  });
  defines.insert(defines.end(), overrides.begin(), overrides.end());
  return defines;
}

bool faster(const Trial& a, const Trial& b) {
  if (a.us.has_value() != b.us.has_value()) return a.us.has_value();
  return a.us && *a.us < *b.us;
}

using Outcome = std::pair<const Candidate*, Trial>;

class Search {
 public:
  Search(const Environment& environment, const SearchSettings& settings, std::string folder,
         const std::function<void(const Progress&)>& tell)
      : environment_(environment), settings_(settings), folder_(std::move(folder)), tell_(tell) {
    problem_.file = settings.file;
    for (const frontend::Define& define : settings.fixed) {
      problem_.defines.push_back(define.name + "=" + define.value);
    }
  }

  Status read_known() {
    Result<Trials> known = read_trials(settings_.output, environment_);
    if (!known) return known.error();
    known_ = *std::move(known);
    return Done{};
  }

  /// Times candidates (of one array) with so many launches; the outcomes, the fastest first.
  Result<std::vector<Trial>> time_all(const std::vector<const Candidate*>& candidates, int rounds) {
    next_ = 0;
    outcomes_.clear();
    progress_ = {0, candidates.size(), 0, {}, 0};
    started_now_ = 0;
    begin_ = Clock::now();
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < settings_.jobs; ++i) {
        threads.emplace_back([&] { work(candidates, rounds); });
      }
    }
    if (failure_) return *failure_;
    // Of equals the first of the plan wins, whichever was done first.
    std::sort(outcomes_.begin(), outcomes_.end(), [](const Outcome& a, const Outcome& b) {
      if (faster(a.second, b.second)) return true;
      return !faster(b.second, a.second) && a.first < b.first;
    });
    std::vector<Trial> trials;
    for (auto& [candidate, trial] : outcomes_) trials.push_back(std::move(trial));
    return trials;
  }

  /// Asks whether a trial's program gives the simulator's bits, and keeps the answer.
  Status prove(Trial& trial, const Candidate& candidate) {
    if (trial.exact) return Done{};
    std::vector<std::string> arguments = {"diff", settings_.file, "--seeds", "0..4", "--json"};
    if (!settings_.entry.empty()) arguments.insert(arguments.end(), {"--entry", settings_.entry});
    add_defines(arguments, overridden(defines_of(candidate), settings_.reduced));
    const Result<backend::ProcessResult> ended = start(std::move(arguments));
    trial.exact = ended && ended->exit_status == 0;
    if (!*trial.exact) {
      trial.reason =
          "not proved on the reduced problem: " +
          (ended ? read_refusal(ended->output, ended->exit_status) : ended.error().message);
    }
    return append_line(settings_.output, to_line(trial, environment_, problem_));
  }

  [[nodiscard]] std::size_t known_count() const { return known_count_; }
  [[nodiscard]] std::size_t skipped() const { return skipped_; }

 private:
  [[nodiscard]] std::vector<frontend::Define> defines_of(const Candidate& candidate) const {
    return overridden(settings_.fixed, candidate.point);
  }

  Result<backend::ProcessResult> start(std::vector<std::string> arguments) const {
    return backend::run_process({.program = settings_.worker,
                                 .arguments = std::move(arguments),
                                 .folder = folder_,
                                 .dropped_variables = {},
                                 .deadline = Clock::now() + patience});
  }

  void work(const std::vector<const Candidate*>& candidates, int rounds) {
    while (true) {
      const Candidate* candidate = nullptr;
      {
        const std::lock_guard guard(mutex_);
        if (failure_ || next_ == candidates.size()) return;
        candidate = candidates[next_++];
        const auto found = known_.find({candidate->key, rounds});
        if (found != known_.end()) {
          ++known_count_;
          finish(*candidate, found->second);
          continue;
        }
        if (out_of_time()) {
          ++skipped_;
          continue;
        }
        ++started_now_;
      }
      Trial trial = time_one(*candidate, rounds);
      const std::lock_guard guard(mutex_);
      if (Status kept = append_line(settings_.output, to_line(trial, environment_, problem_));
          !kept) {
        failure_ = kept.error();
      }
      finish(*candidate, std::move(trial));
    }
  }

  Trial time_one(const Candidate& candidate, int rounds) const {
    std::vector<std::string> arguments = {"bench",
                                          settings_.file,
                                          "--json",
                                          "--no-peak",
                                          "--no-check",
                                          "--repeat",
                                          fmt::format("{}", rounds),
                                          "--lock",
                                          folder_ + "/gpu.lock"};
    if (!settings_.entry.empty()) arguments.insert(arguments.end(), {"--entry", settings_.entry});
    if (!settings_.kernel.empty()) {
      arguments.insert(arguments.end(), {"--kernel", settings_.kernel});
    }
    add_defines(arguments, defines_of(candidate));
    const Result<backend::ProcessResult> ended = start(std::move(arguments));
    Trial trial = ended ? read_bench(ended->output, ended->exit_status) : Trial{};
    if (!ended) trial.reason = ended.error().message;
    trial.key = candidate.key;
    trial.point = to_string(candidate.point);
    trial.rounds = rounds;
    return trial;
  }

  [[nodiscard]] bool out_of_time() const {
    return settings_.time_limit > 0 && seconds_since(whole_begin_) >= settings_.time_limit;
  }

  static double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

  /// Under the mutex.
  void finish(const Candidate& candidate, Trial trial) {
    ++progress_.done;
    if (!trial.us) ++progress_.failed;
    if (trial.us && (!progress_.best || faster(trial, *progress_.best))) progress_.best = trial;
    const std::size_t left = progress_.total - progress_.done;
    if (started_now_ > 0) {
      progress_.seconds_left =
          seconds_since(begin_) / static_cast<double>(started_now_) * static_cast<double>(left);
    }
    if (settings_.time_limit > 0) {
      const double rest = std::max(0.0, settings_.time_limit - seconds_since(whole_begin_));
      progress_.seconds_left = std::min(progress_.seconds_left, rest);
    }
    outcomes_.emplace_back(&candidate, std::move(trial));
    tell_(progress_);
  }

  const Environment& environment_;
  const SearchSettings& settings_;
  std::string folder_;
  Problem problem_;
  const std::function<void(const Progress&)>& tell_;
  Trials known_;
  const Clock::time_point whole_begin_ = Clock::now();

  std::mutex mutex_;  // of all below while threads work
  Clock::time_point begin_;
  std::size_t next_ = 0, started_now_ = 0, known_count_ = 0, skipped_ = 0;
  std::vector<Outcome> outcomes_;
  Progress progress_;
  std::optional<Error> failure_;
};

const Candidate& candidate_of(const Plan& plan, const Trial& trial) {
  const auto found =
      std::find_if(plan.candidates.begin(), plan.candidates.end(),
                   [&](const Candidate& candidate) { return candidate.key == trial.key; });
  TILEVM_CHECK(found != plan.candidates.end(), "a trial of no candidate");
  return *found;
}

/// The best quarter of those that were timed.
std::vector<const Candidate*> best_quarter(const Plan& plan, const std::vector<Trial>& trials) {
  std::vector<const Candidate*> best;
  for (const Trial& trial : trials) {
    if (trial.us && best.size() * 4 < trials.size()) best.push_back(&candidate_of(plan, trial));
  }
  return best;
}

}  // namespace

std::string to_string(const Progress& progress) {
  std::string text = fmt::format("{} of {} points", progress.done, progress.total);
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  if (progress.best) {
    text += fmt::format(", best {:.2f} us ({})", *progress.best->us, progress.best->point);
  }
  if (progress.done < progress.total) {
    text += fmt::format(", about {:.0f} s left", progress.seconds_left);
  }
  return text;
}

Result<SearchResult> search(const Plan& plan, const Environment& environment,
                            const SearchSettings& settings,
                            const std::function<void(const Progress&)>& tell) {
  const Result<backend::TemporaryFolder> folder = backend::TemporaryFolder::make();
  if (!folder) return folder.error();
  Search search(environment, settings, folder->path(), tell);
  if (Status status = search.read_known(); !status) return status.error();
  std::vector<const Candidate*> candidates;
  for (const Candidate& candidate : plan.candidates) candidates.push_back(&candidate);
  if (!plan.exhaustive) {
    const Result<std::vector<Trial>> rough =
        search.time_all(candidates, std::max(3, settings.rounds / 4));
    if (!rough) return rough.error();
    candidates = best_quarter(plan, *rough);
  }
  Result<std::vector<Trial>> trials = search.time_all(candidates, settings.rounds);
  if (!trials) return trials.error();
  SearchResult result;
  for (Trial& trial : *trials) {
    if (!trial.us || result.best) break;
    if (Status s = search.prove(trial, candidate_of(plan, trial)); !s) return s.error();
    if (*trial.exact) result.best = trial;
  }
  result.trials = *std::move(trials);
  result.known = search.known_count();
  result.skipped = search.skipped();
  return result;
}

}  // namespace tilevm::vm::tuning
