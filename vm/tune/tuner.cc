#include "vm/tune/tuner.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "vm/text/file.h"
#include "vm/text/file_lock.h"
#include "vm/tune/order.h"
#include "vm/tune/workers.h"

namespace tilevm::vm::tuning {

namespace {

/// Points of a table that a search begins with.
constexpr std::size_t most_starts = 8;
/// Points that are timed before the others where time is limited: the fewer, the sooner.
constexpr int first_points = 3;

bool faster(const Trial& a, const Trial& b) {
  if (a.us.has_value() != b.us.has_value()) return a.us.has_value();
  return a.us && *a.us < *b.us;
}

/// How long a search may go on, and how long its parts have taken.
class TimeBudget {
 public:
  TimeBudget(Clock::time_point begin, double limit) : begin_(begin), limit_(limit) {}

  [[nodiscard]] bool is_limited() const { return limit_ > 0; }
  [[nodiscard]] Clock::time_point end() const {
    return is_limited() ? begin_ + seconds(limit_) : Clock::time_point::max();
  }
  /// When the proof of the winner has to begin: before a first proof it is unknown how long one
  /// takes.
  [[nodiscard]] Clock::time_point end_of_timing() const {
    if (!is_limited()) return end();
    return end() - seconds(longest_proof_ > 0 ? 1.5 * longest_proof_ + 0.2 : limit_ / 4);
  }
  /// Whether a point that begins now will probably be timed by then.
  [[nodiscard]] bool has_time() const {
    return !is_limited() || Clock::now() + seconds(mean_trial()) < end_of_timing();
  }
  [[nodiscard]] double seconds_left() const {
    return std::max(0.0, std::chrono::duration<double>(end() - Clock::now()).count());
  }
  [[nodiscard]] double mean_trial() const { return trials_ > 0 ? trial_seconds_ / trials_ : 0; }

  void add_trial(double duration) { trial_seconds_ += duration, ++trials_; }
  void add_proof(double duration) { longest_proof_ = std::max(longest_proof_, duration); }

 private:
  static Clock::duration seconds(double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  }
  Clock::time_point begin_;
  double limit_, longest_proof_ = 0, trial_seconds_ = 0;
  int trials_ = 0;
};

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

struct Outcome {
  const Candidate* candidate;
  Trial trial;
};

class Search {
 public:
  Search(Points& points, const Environment& environment, const SearchSettings& settings,
         std::string folder, const std::function<void(const Progress&)>& tell)
      : points_(points),
        environment_(environment),
        settings_(settings),
        workers_(settings, std::move(folder)),
        tell_(tell),
        budget_(settings.begin, settings.time_limit) {
    problem_.file = settings.file;
    for (const frontend::Define& define : settings.fixed) {
      problem_.defines.push_back(define.name + "=" + define.value);
    }
  }

  Result<SearchResult> run() {
    Result<Trials> known = read_trials(settings_.output, environment_);
    if (!known) return known.error();
    known_ = *std::move(known);
    Result<std::vector<std::uint64_t>> starts = read_starts_of_tables();
    if (!starts) return starts.error();
    Order order(points_, *std::move(starts), settings_.most);
    Status status = time_points(order);
    if (status) status = time_spilling();
    if (status) status = prove_fastest();
    if (!status) return status.error();
    return result_of(order);
  }

 private:
  /// The best points of tables, with the default one among the first.
  Result<std::vector<std::uint64_t>> read_starts_of_tables() const {
    std::vector<std::uint64_t> starts;
    for (const std::string& path : {settings_.output, settings_.start}) {
      if (path.empty()) continue;
      std::ifstream file(path, std::ios::binary);
      const auto found = read_starts(file, path, problem_, most_starts);
      if (!found) return found.error();
      for (const std::string& point : *found) {
        if (const auto index = points_.space().index_of(point)) starts.push_back(*index);
      }
    }
    if (const auto index = points_.space().index_of("")) {
      const auto place = std::min<std::size_t>(starts.size(), first_points - 1);
      starts.insert(starts.begin() + static_cast<std::ptrdiff_t>(place), *index);
    }
    return starts;
  }

  /// With a time limit a few points first. While the others are compiled the fastest of these is
  /// proved, with the lock of the GPU, so that it disturbs no timing.
  Status time_points(Order& order) {
    progress_.total = std::min<std::uint64_t>(points_.space().size(), settings_.most);
    std::jthread prover;
    if (budget_.is_limited()) {
      int first = 0;
      const auto few = [&] { return ++first <= first_points ? order.next() : nullptr; };
      if (Status s = time_all(order, few); !s) return s;
      sort_outcomes();
      prover = std::jthread([this, attempts = outcomes_] { prove_first(attempts); });
    }
    return time_all(order, [&] { return order.next(); });
  }

  /// Where every point that compiles spills, spilling is not a reason to drop one.
  Status time_spilling() {
    const auto timed = [](const Outcome& outcome) { return outcome.trial.us.has_value(); };
    if (std::any_of(outcomes_.begin(), outcomes_.end(), timed)) return Done{};
    std::vector<const Candidate*> spilling;
    for (const Outcome& outcome : outcomes_) {
      if (outcome.trial.reason.starts_with(spill_refusal)) spilling.push_back(outcome.candidate);
    }
    std::erase_if(outcomes_, [&](const Outcome& outcome) {
      return std::find(spilling.begin(), spilling.end(), outcome.candidate) != spilling.end();
    });
    refuse_spills_ = false;
    return time_list(spilling);
  }

  Status time_list(const std::vector<const Candidate*>& candidates) {
    Order nobody(points_, {}, 0);
    std::size_t position = 0;
    const auto next = [&] {
      return position < candidates.size() ? candidates[position++] : nullptr;
    };
    return time_all(nobody, next);
  }

  /// Times what `next` gives, until it gives none or the time is over.
  Status time_all(Order& order, const std::function<const Candidate*()>& next) {
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < settings_.jobs; ++i) {
        threads.emplace_back([&] { work(order, next); });
      }
    }
    const std::lock_guard guard(mutex_);
    if (failure_) return *failure_;
    return Done{};
  }

  void work(Order& order, const std::function<const Candidate*()>& next) {
    while (true) {
      const Candidate* candidate = nullptr;
      Clock::time_point end;
      {
        const std::lock_guard guard(mutex_);
        if (failure_) return;
        if (!budget_.has_time()) {
          cut_ = true;
          return;
        }
        end = budget_.end_of_timing();
        candidate = next();
        if (candidate == nullptr) return;
        const auto found = known_.find({candidate->key, settings_.rounds});
        if (found != known_.end() && is_of_use(found->second)) {
          ++known_count_;
          finish(order, *candidate, found->second);
          continue;
        }
      }
      const Clock::time_point begin = Clock::now();
      std::optional<Trial> trial = workers_.time(*candidate, refuse_spills_, end);
      const std::lock_guard guard(mutex_);
      if (!trial) {  // not the point's fault
        cut_ = true;
        ++killed_;
        return;
      }
      budget_.add_trial(seconds_since(begin));
      keep(*trial);
      finish(order, *candidate, *std::move(trial));
    }
  }

  /// A point that was dropped because it spills is timed again where spilling is allowed.
  [[nodiscard]] bool is_of_use(const Trial& trial) const {
    return refuse_spills_ || trial.us || !trial.reason.starts_with(spill_refusal);
  }

  /// Under the mutex.
  void finish(Order& order, const Candidate& candidate, Trial trial) {
    ++progress_.done;
    if (!trial.us) ++progress_.failed;
    if (trial.us && (!progress_.best || faster(trial, *progress_.best))) progress_.best = trial;
    order.tell(candidate, trial.us);
    const auto left =
        static_cast<double>(progress_.total - std::min(progress_.total, progress_.done));
    progress_.seconds_left = budget_.mean_trial() * left / settings_.jobs;
    if (budget_.is_limited()) {
      progress_.seconds_left = std::min(progress_.seconds_left, budget_.seconds_left());
    }
    outcomes_.push_back({&candidate, std::move(trial)});
    tell_(progress_);
  }

  /// The first of equal outcomes in the space wins, whichever was done first.
  void sort_outcomes() {
    std::sort(outcomes_.begin(), outcomes_.end(), [](const Outcome& a, const Outcome& b) {
      if (faster(a.trial, b.trial)) return true;
      return !faster(b.trial, a.trial) && a.candidate->index < b.candidate->index;
    });
  }

  /// Proves one of the first points, while others are compiled.
  void prove_first(const std::vector<Outcome>& attempts) {
    const Result<FileLock> lock = FileLock::take(workers_.lock());
    for (const Outcome& attempt : attempts) {
      if (!attempt.trial.us || budget_.seconds_left() <= 0) return;
      std::optional<Trial> trial = prove(attempt, budget_.end());
      if (!trial) return;
      const std::lock_guard guard(mutex_);
      for (Outcome& outcome : outcomes_) {
        if (outcome.candidate == attempt.candidate) outcome.trial = *trial;
      }
      if (*trial->exact) return;
    }
  }

  /// The fastest that can be proved, after all are timed.
  Status prove_fastest() {
    sort_outcomes();
    for (Outcome& outcome : outcomes_) {
      if (!outcome.trial.us) break;
      const std::optional<Trial> trial = prove(outcome, budget_.end());
      if (!trial) break;
      outcome.trial = *trial;
      if (*trial->exact) break;
    }
    if (failure_) return *failure_;
    return Done{};
  }

  /// A trial with the answer; nothing: the time was over.
  std::optional<Trial> prove(const Outcome& outcome, Clock::time_point end) {
    Trial trial = outcome.trial;
    if (!trial.exact) {
      const Clock::time_point begin = Clock::now();
      const auto proof = workers_.prove(*outcome.candidate, end);
      const std::lock_guard guard(mutex_);
      budget_.add_proof(seconds_since(begin));
      if (!proof) {
        cut_ = true;
        return std::nullopt;
      }
      trial.exact = proof->exact;
      trial.reason = proof->reason;
      keep(trial);
    }
    if (*trial.exact) {
      const std::lock_guard guard(mutex_);
      proved_ = trial;
    }
    return trial;
  }

  /// Under the mutex: a line of the file.
  void keep(const Trial& trial) {
    const Status kept = append_line(settings_.output, to_line(trial, environment_, problem_));
    if (!kept) failure_ = kept.error();
  }

  SearchResult result_of(const Order& order) {
    SearchResult result;
    result.best = proved_;
    for (Outcome& outcome : outcomes_) result.trials.push_back(std::move(outcome.trial));
    result.timed = order.given() - killed_;
    result.known = known_count_;
    result.dropped = order.dropped();
    const std::uint64_t unseen = points_.space().size() - points_.seen();
    if (cut_) result.left = std::min(settings_.most - order.given(), unseen) + killed_;
    result.exhaustive = !cut_ && unseen == 0 && order.given() + order.dropped() == points_.legal();
    return result;
  }

  Points& points_;
  const Environment& environment_;
  const SearchSettings& settings_;
  Workers workers_;
  Problem problem_;
  const std::function<void(const Progress&)>& tell_;
  Trials known_;
  bool refuse_spills_ = true;

  std::mutex mutex_;  // of all below, and of the order and its points, while threads work
  std::optional<Trial> proved_;
  TimeBudget budget_;
  std::size_t known_count_ = 0, killed_ = 0;
  bool cut_ = false;
  std::vector<Outcome> outcomes_;
  Progress progress_;
  std::optional<Error> failure_;
};

}  // namespace

std::string to_string(const Progress& progress) {
  std::string text = fmt::format("{} of at most {} points", progress.done, progress.total);
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  if (progress.best) {
    text += fmt::format(", best {:.2f} us ({})", *progress.best->us, progress.best->point);
  }
  if (progress.done < progress.total) {
    text += fmt::format(", about {:.0f} s left", progress.seconds_left);
  }
  return text;
}

Result<SearchResult> search(Points& points, const Environment& environment,
                            const SearchSettings& settings,
                            const std::function<void(const Progress&)>& tell) {
  const Result<backend::TemporaryFolder> folder = backend::TemporaryFolder::make();
  if (!folder) return folder.error();
  return Search(points, environment, settings, folder->path(), tell).run();
}

}  // namespace tilevm::vm::tuning
