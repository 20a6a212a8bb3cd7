#include "tests/unit/sim/groups_oracle.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_set>

namespace tilevm::sim::testing {
namespace {

using Kind = GroupOp::Kind;

constexpr int threads_of_group = 3;
/// How many threads each of the three stands for, in a warp and in a warp group.
constexpr std::array<int, threads_of_group> of_warp{1, 1, 30}, of_warp_group{1, 31, 96};
constexpr int rows = 2;
constexpr std::size_t most_states = 400000;

/// A step of one thread, with loops unrolled.
struct Step {
  Kind kind;
  int object;
  int parity;
  int line;
};

struct Barrier {
  int expected, pending, phase;
  friend bool operator==(const Barrier&, const Barrier&) = default;
};

/// The positions of all threads and the barriers. A thread that has come to a named barrier and
/// waits is at an odd position.
struct State {
  std::vector<int> at;  ///< twice the step
  std::vector<Barrier> barriers;
  std::vector<int> waits_for;  ///< phase of the named barrier that each thread waits for
  /// By row: the elements, as bits, that were stored and not fenced since.
  std::array<int, rows> unfenced{};

  [[nodiscard]] std::string key() const {
    std::string key;
    for (const int each : at) key.push_back(static_cast<char>(each));
    for (const Barrier& each : barriers) {
      key.push_back(static_cast<char>(each.pending));
      key.push_back(static_cast<char>(each.phase));
    }
    for (const int each : waits_for) key.push_back(static_cast<char>(each));
    for (const int each : unfenced) key.push_back(static_cast<char>(each));
    return key;
  }
};

/// What was seen of a step of a thread.
struct Seen {
  std::set<int> counted;          ///< phases for which it arrived
  std::set<int> passed, waiting;  ///< current phases at which it passed, or waited
};

class Explorer {
 public:
  /// `meets`: an elected thread begins when all threads of its warp have passed the waits before,
  /// as `elect.sync` makes them.
  Explorer(const GroupProgram& program, bool meets)
      : program_(program), weights_(program.multiplies ? of_warp_group : of_warp), meets_(meets) {
    std::vector<std::vector<int>> lines;
    static_cast<void>(program.text(lines));
    for (std::size_t g = 0; g < program.groups.size(); ++g) {
      std::vector<Step> steps;
      for (int k = 0; k < program.iterations; ++k) {
        for (std::size_t i = 0; i < program.groups[g].size(); ++i) {
          const GroupOp& op = program.groups[g][i];
          const int parity = op.parity == 2 ? k % 2 : op.parity == 3 ? (k + 1) % 2 : op.parity;
          steps.push_back({op.kind, op.object, parity, lines[g][i]});
        }
      }
      steps_.push_back(std::move(steps));
    }
    const std::size_t threads = steps_.size() * threads_of_group;
    seen_.resize(threads);
    for (std::size_t t = 0; t < threads; ++t) seen_[t].resize(steps_of(t).size());
  }

  OracleVerdict run() {
    State first;
    first.at.assign(seen_.size(), 0);
    first.waits_for.assign(seen_.size(), 0);
    for (const int count : program_.arrivals) first.barriers.push_back({count, count, 0});
    const int both = 2 * (weights_[0] + weights_[1] + weights_[2]);
    first.barriers.push_back({both, both, 0});  // the named barrier
    std::vector<State> open{first};
    std::unordered_set<std::string> known{first.key()};
    while (!open.empty()) {
      const State state = std::move(open.back());
      open.pop_back();
      look_for_races(state);
      bool any = false, all_ended = true;
      for (std::size_t t = 0; t < seen_.size(); ++t) {
        if (ended(state, t)) continue;
        all_ended = false;
        State next = state;
        if (!advance(next, t)) continue;
        any = true;
        if (!known.insert(next.key()).second) continue;
        if (known.size() > most_states) {
          verdict_.complete = false;
          return verdict_;
        }
        open.push_back(std::move(next));
      }
      if (!any && !all_ended) note_deadlock(state);
    }
    judge_phases();
    return verdict_;
  }

 private:
  [[nodiscard]] const std::vector<Step>& steps_of(std::size_t thread) const {
    return steps_[thread / threads_of_group];
  }
  [[nodiscard]] std::size_t step_of(const State& state, std::size_t thread) const {
    return static_cast<std::size_t>(state.at[thread] / 2);
  }
  [[nodiscard]] bool ended(const State& state, std::size_t thread) const {
    return step_of(state, thread) >= steps_of(thread).size();
  }
  [[nodiscard]] const Step& next_of(const State& state, std::size_t thread) const {
    return steps_of(thread)[step_of(state, thread)];
  }

  void arrive(State& state, std::size_t thread, Barrier& barrier, int count) {
    Seen& seen = seen_[thread][step_of(state, thread)];
    for (int i = 0; i < count; ++i) {
      seen.counted.insert(barrier.phase);
      if (--barrier.pending > 0) continue;
      barrier.pending = barrier.expected;
      ++barrier.phase;
    }
  }

  /// Whether another thread of the elected one's warp has yet to pass a wait before this step.
  [[nodiscard]] bool warp_waits_before(const State& state, std::size_t elected) const {
    const std::size_t lanes = program_.multiplies ? 2 : threads_of_group;
    for (std::size_t t = elected + 1; t < elected + lanes; ++t) {
      for (std::size_t i = step_of(state, t); i < step_of(state, elected); ++i) {
        if (steps_of(t)[i].kind == Kind::wait) return true;
      }
    }
    return false;
  }

  /// Runs the next step of a thread; false if it must wait.
  bool advance(State& state, std::size_t thread) {
    const Step& step = next_of(state, thread);
    const int lane = static_cast<int>(thread % threads_of_group);
    const int weight = weights_[static_cast<std::size_t>(lane)];
    Barrier& named = state.barriers.back();
    int& at = state.at[thread];
    switch (step.kind) {
      case Kind::write:
        state.unfenced[static_cast<std::size_t>(step.object)] |= 1 << lane;
        break;
      case Kind::fence:
        state.unfenced.fill(0);
        break;
      case Kind::product:
        if (state.unfenced[static_cast<std::size_t>(step.object)] != 0) {
          verdict_.fences.insert(step.line);
        }
        break;
      case Kind::use_sum:
        if (!in_flight(state, thread).empty()) verdict_.races.insert(step.line);
        break;
      case Kind::read:
      case Kind::read_next:
      case Kind::read_all:
      case Kind::product_wait:
        break;
      case Kind::arrive:
        arrive(state, thread, state.barriers[static_cast<std::size_t>(step.object)], weight);
        break;
      case Kind::arrive_elected:
        if (lane == 0) {
          if (meets_ && warp_waits_before(state, thread)) return false;
          arrive(state, thread, state.barriers[static_cast<std::size_t>(step.object)], 1);
        }
        break;
      case Kind::wait: {
        const Barrier& barrier = state.barriers[static_cast<std::size_t>(step.object)];
        Seen& seen = seen_[thread][step_of(state, thread)];
        seen.waiting.insert(barrier.phase);
        if (barrier.phase % 2 == step.parity) return false;
        seen.passed.insert(barrier.phase);
        break;
      }
      case Kind::synchronize: {
        const std::size_t group = thread / threads_of_group * threads_of_group;
        for (std::size_t t = group; t < group + threads_of_group; ++t) {
          if (step_of(state, t) < step_of(state, thread)) return false;
        }
        break;
      }
      case Kind::named_sync:
        if (at % 2 == 0) {
          state.waits_for[thread] = named.phase;
          arrive(state, thread, named, weight);
          ++at;
          return true;
        }
        if (named.phase == state.waits_for[thread]) return false;
        at -= 1;
        state.waits_for[thread] = 0;
        break;
      case Kind::named_arrive:
        arrive(state, thread, named, weight);
        break;
    }
    at += 2;
    return true;
  }

  struct Touch {
    int elements = 0;  ///< elements of threads 0, 1 and the others, as bits
    bool writes = false;
    int row = 0;
  };
  [[nodiscard]] Touch touch(const State& state, std::size_t thread) const {
    if (ended(state, thread)) return {};
    const Step& step = next_of(state, thread);
    const int lane = static_cast<int>(thread % threads_of_group);
    constexpr int all = (1 << threads_of_group) - 1;
    switch (step.kind) {
      case Kind::write:
        return {1 << lane, true, step.object};
      case Kind::read:
        return {1 << lane, false, step.object};
      case Kind::read_next:
        return {1 << std::min(lane + 1, threads_of_group - 1), false, step.object};
      case Kind::read_all:  // no thread of another warp reads what thread 0 stored
        return {lane == 2 ? all - 1 : all, false, step.object};
      case Kind::product:
        return {all, false, step.object};
      default:
        return {};
    }
  }

  /// The products that a thread has begun and not waited for.
  [[nodiscard]] std::vector<const Step*> in_flight(const State& state, std::size_t thread) const {
    std::vector<const Step*> found;
    for (std::size_t i = 0; i < step_of(state, thread); ++i) {
      const Step& step = steps_of(thread)[i];
      if (step.kind == Kind::product) found.push_back(&step);
      if (step.kind == Kind::product_wait) found.clear();
    }
    if (program_.multiplies && ended(state, thread)) found.clear();  // a wait follows the loop
    return found;
  }

  /// Two threads are about to touch an element, and one of them writes it.
  void look_for_races(const State& state) {
    for (std::size_t a = 0; a < seen_.size(); ++a) {
      const Touch first = touch(state, a);
      if (first.elements == 0) continue;
      if (first.writes) look_for_products(state, a, first.row);
      for (std::size_t b = a + 1; b < seen_.size(); ++b) {
        const Touch second = touch(state, b);
        if ((first.elements & second.elements) == 0 || first.row != second.row ||
            (!first.writes && !second.writes)) {
          continue;
        }
        verdict_.races.insert(next_of(state, a).line);
        verdict_.races.insert(next_of(state, b).line);
      }
    }
  }

  /// A thread is about to write what a product in flight reads.
  void look_for_products(const State& state, std::size_t writer, int row) {
    for (std::size_t thread = 0; thread < seen_.size(); ++thread) {
      for (const Step* product : in_flight(state, thread)) {
        if (product->object != row) continue;
        verdict_.races.insert(next_of(state, writer).line);
        verdict_.races.insert(product->line);
      }
    }
  }

  void note_deadlock(const State& state) {
    for (std::size_t t = 0; t < seen_.size(); ++t) {
      if (!ended(state, t)) verdict_.deadlocks.insert(next_of(state, t).line);
    }
  }

  void judge_phases() {
    for (std::size_t t = 0; t < seen_.size(); ++t) {
      std::map<int, int> last;  // by barrier: the phase for which the thread waited last
      for (std::size_t i = 0; i < seen_[t].size(); ++i) {
        const Seen& seen = seen_[t][i];
        const Step& step = steps_of(t)[i];
        if (seen.counted.size() > 1) verdict_.phases.insert(step.line);
        if (step.kind != Kind::wait || seen.passed.empty()) continue;
        const int phase = *seen.passed.begin() - 1;
        // The barrier may be a phase further than the one after which the wait passes.
        if (*seen.waiting.rbegin() > phase + 1) verdict_.phases.insert(step.line);
        const auto [known, fresh] = last.try_emplace(step.object, phase);
        if (!fresh && phase <= known->second) verdict_.phases.insert(step.line);
        known->second = phase;
      }
    }
  }

  const GroupProgram& program_;
  const std::array<int, threads_of_group>& weights_;
  bool meets_;
  std::vector<std::vector<Step>> steps_;  // by group
  std::vector<std::vector<Seen>> seen_;   // by thread, by step
  OracleVerdict verdict_;
};

}  // namespace

/// Threads of a warp meet where one is elected, but that puts none of their accesses in order:
/// races are those of threads that do not meet.
OracleVerdict explore(const GroupProgram& program) {
  OracleVerdict verdict = Explorer(program, false).run();
  OracleVerdict met = Explorer(program, true).run();
  verdict.phases = std::move(met.phases);
  verdict.deadlocks = std::move(met.deadlocks);
  verdict.complete = verdict.complete && met.complete;
  return verdict;
}

}  // namespace tilevm::sim::testing
