#include "vm/tune/tuner.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "vm/text/file.h"
#include "vm/tune/order.h"
#include "vm/tune/workers.h"

namespace tilevm::vm::tuning {

namespace {

/// Points of tables that a search begins with.
constexpr std::size_t most_starts = 8;
/// Points that are timed once more with all launches: a quarter, but no more than this.
constexpr std::size_t most_finalists = 16;

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
  /// Whether a point begun now will probably be timed by `moment`, with so many more after it.
  [[nodiscard]] bool has_time(Clock::time_point moment, int more) const {
    return !is_limited() || Clock::now() + seconds(mean_trial() * (1 + more)) < moment;
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
    if (status) status = time_finalists();
    if (status) status = prove_fastest(budget_.end(), settings_.most);
    if (!status) return status.error();
    return result_of(order);
  }

 private:
  Result<std::vector<std::uint64_t>> read_starts_of_tables() const {
    std::vector<std::uint64_t> starts;
    if (const auto index = points_.space().index_of("")) starts.push_back(*index);
    for (const std::string& path : {settings_.start, settings_.output}) {
      if (path.empty()) continue;
      std::ifstream file(path, std::ios::binary);
      const auto found = read_starts(file, path, problem_, most_starts);
      if (!found) return found.error();
      for (const std::string& point : *found) {
        if (const auto index = points_.space().index_of(point)) starts.push_back(*index);
      }
    }
    return starts;
  }

  /// With a time limit as many points first as are timed at once, one of which is proved.
  Status time_points(Order& order) {
    rounds_ = points_.space().size() > settings_.most ? std::max(3, settings_.rounds / 4)
                                                      : settings_.rounds;
    progress_.total = std::min<std::uint64_t>(points_.space().size(), settings_.most);
    const auto next = [&] { return order.next(); };
    if (budget_.is_limited()) {
      int first = 0;
      const auto few = [&] { return ++first <= settings_.jobs ? order.next() : nullptr; };
      if (Status s = time_all(order, few, budget_.end_of_timing(), 0); !s) return s;
      // As long as most of the time is left for the search
      const auto quarter = settings_.begin + (budget_.end() - settings_.begin) / 4;
      if (Status s = prove_fastest(std::max(quarter, Clock::now() + budget_until_end() / 2), 1);
          !s) {
        return s;
      }
    }
    const int finals = rounds_ < settings_.rounds ? 2 : 0;
    return time_all(order, next, budget_.end_of_timing(), finals);
  }

  [[nodiscard]] Clock::duration budget_until_end() const {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(budget_.seconds_left()));
  }

  /// Where every point that compiles spills, spilling is no reason to drop one.
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

  Status time_finalists() {
    if (rounds_ == settings_.rounds) return Done{};
    sort_outcomes();
    std::vector<const Candidate*> best;
    for (const Outcome& outcome : outcomes_) {
      const bool wanted = best.size() * 4 < outcomes_.size() && best.size() < most_finalists;
      if (outcome.trial.us && wanted) best.push_back(outcome.candidate);
    }
    std::vector<Outcome> rough;
    rough.swap(outcomes_);
    rounds_ = settings_.rounds;
    progress_ = {0, best.size(), 0, {}, 0};
    if (Status s = time_list(best); !s) return s;
    // Where the time did not suffice the rough times decide
    if (outcomes_.empty()) outcomes_.swap(rough);
    return Done{};
  }

  Status time_list(const std::vector<const Candidate*>& candidates) {
    Order nobody(points_, {}, 0);
    std::size_t position = 0;
    const auto next = [&] {
      return position < candidates.size() ? candidates[position++] : nullptr;
    };
    return time_all(nobody, next, budget_.end_of_timing(), 0);
  }

  /// Times what `next` gives until it gives none, or until points would end after `end`, with the
  /// time of `more` after them.
  Status time_all(Order& order, const std::function<const Candidate*()>& next,
                  Clock::time_point end, int more) {
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < settings_.jobs; ++i) {
        threads.emplace_back([&] { work(order, next, end, more); });
      }
    }
    if (failure_) return *failure_;
    return Done{};
  }

  void work(Order& order, const std::function<const Candidate*()>& next, Clock::time_point end,
            int more) {
    while (true) {
      const Candidate* candidate = nullptr;
      {
        const std::lock_guard guard(mutex_);
        if (failure_) return;
        if (!budget_.has_time(end, more)) {
          cut_ = true;
          return;
        }
        candidate = next();
        if (candidate == nullptr) return;
        const auto found = known_.find({candidate->key, rounds_});
        if (found != known_.end() && is_of_use(found->second)) {
          ++known_count_;
          finish(order, *candidate, found->second);
          continue;
        }
      }
      const Clock::time_point begin = Clock::now();
      std::optional<Trial> trial = workers_.time(*candidate, rounds_, refuse_spills_, end);
      const std::lock_guard guard(mutex_);
      if (!trial) {  // not the point's fault
        cut_ = true;
        ++killed_;
        return;
      }
      budget_.add_trial(seconds_since(begin));
      if (Status kept = append_line(settings_.output, to_line(*trial, environment_, problem_));
          !kept) {
        failure_ = kept.error();
      }
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

  /// Of equals the first of the space wins, whichever was done first.
  void sort_outcomes() {
    std::sort(outcomes_.begin(), outcomes_.end(), [](const Outcome& a, const Outcome& b) {
      if (faster(a.trial, b.trial)) return true;
      return !faster(b.trial, a.trial) && a.candidate->index < b.candidate->index;
    });
  }

  /// Proves the fastest that can be proved, with at most so many attempts. A proof that does not
  /// end by `end` leaves it open.
  Status prove_fastest(Clock::time_point end, std::uint64_t attempts) {
    sort_outcomes();
    for (Outcome& outcome : outcomes_) {
      Trial& trial = outcome.trial;
      if (!trial.us) break;
      if (!trial.exact) {
        if (attempts-- == 0) break;
        const Clock::time_point begin = Clock::now();
        const bool is_proved = proved_ && proved_->key == trial.key;  // with fewer launches
        const auto proof =
            is_proved ? Workers::Proof{true, {}} : workers_.prove(*outcome.candidate, end);
        budget_.add_proof(seconds_since(begin));
        if (!proof) {
          cut_ = true;
          break;
        }
        trial.exact = proof->exact;
        trial.reason = proof->reason;
        Status kept = append_line(settings_.output, to_line(trial, environment_, problem_));
        if (!kept) return kept;
        known_.insert_or_assign({trial.key, trial.rounds}, trial);
      }
      if (*trial.exact) {
        proved_ = trial;
        break;
      }
    }
    return Done{};
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
  std::optional<Trial> proved_;
  int rounds_ = 0;
  bool refuse_spills_ = true;

  std::mutex mutex_;  // of all below, and of the order and its points, while threads work
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
