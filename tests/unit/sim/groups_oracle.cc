// More than 400 lines: the explorer of all orders, with the programs that it explores.
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
constexpr std::array<int, threads_of_group> weights{1, 1, 30};
constexpr int rows = 2;
constexpr std::size_t most_states = 400000;

std::string text_of(const GroupOp& op, const std::string& pad, int number) {
  const std::string row = std::to_string(op.object);
  const std::array<std::string, 4> parity{"0", "1", "k % 2", "(k + 1) % 2"};
  const std::string loaded = pad + "x" + std::to_string(number) + " = ";
  switch (op.kind) {
    case Kind::write:
      return pad + "StoreShared(mine, s, offset=[" + row + ", 0:])\n";
    case Kind::read:
      return loaded + "LoadShared(s, layout=spatial(32), offset=[" + row + ", 0:])\n";
    case Kind::read_next:
      return loaded + "LoadShared(s, layout=spatial(32), offset=[" + row + ", 1:])\n";
    case Kind::arrive:
      return pad + "Arrive(b" + row + ")\n";
    case Kind::arrive_elected:
      return pad + "with single_thread():\n" + pad + "    Arrive(b" + row + ")\n";
    case Kind::wait:
      return pad + "WaitBarrier(b" + row +
             ", parity=" + parity[static_cast<std::size_t>(op.parity)] + ")\n";
    case Kind::synchronize:
      return pad + "Synchronize()\n";
    case Kind::named_sync:
      return pad + "SyncNamedBarrier(1, warps=2)\n";
    case Kind::named_arrive:
      return pad + "ArriveNamedBarrier(1, warps=2)\n";
  }
  return "";
}

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

  [[nodiscard]] std::string key() const {
    std::string key;
    for (const int each : at) key.push_back(static_cast<char>(each));
    for (const Barrier& each : barriers) {
      key.push_back(static_cast<char>(each.pending));
      key.push_back(static_cast<char>(each.phase));
    }
    for (const int each : waits_for) key.push_back(static_cast<char>(each));
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
  explicit Explorer(const GroupProgram& program) : program_(program) {
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
    first.barriers.push_back({64, 64, 0});  // the named barrier
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

  /// Runs the next step of a thread; false if it must wait.
  bool advance(State& state, std::size_t thread) {
    const Step& step = next_of(state, thread);
    const int lane = static_cast<int>(thread % threads_of_group);
    const int weight = weights[static_cast<std::size_t>(lane)];
    Barrier& named = state.barriers.back();
    int& at = state.at[thread];
    switch (step.kind) {
      case Kind::write:
      case Kind::read:
      case Kind::read_next:
        break;
      case Kind::arrive:
        arrive(state, thread, state.barriers[static_cast<std::size_t>(step.object)], weight);
        break;
      case Kind::arrive_elected:
        if (lane == 0) {
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
    bool touches = false, writes = false;
    int row = 0, element = 0;
  };
  /// Elements are those of threads 0, 1 and the others.
  [[nodiscard]] Touch touch(const State& state, std::size_t thread) const {
    if (ended(state, thread)) return {};
    const Step& step = next_of(state, thread);
    const int lane = static_cast<int>(thread % threads_of_group);
    switch (step.kind) {
      case Kind::write:
        return {true, true, step.object, lane};
      case Kind::read:
        return {true, false, step.object, lane};
      case Kind::read_next:
        return {true, false, step.object, std::min(lane + 1, threads_of_group - 1)};
      default:
        return {};
    }
  }

  /// Two threads are about to touch an element, and one of them writes it.
  void look_for_races(const State& state) {
    for (std::size_t a = 0; a < seen_.size(); ++a) {
      const Touch first = touch(state, a);
      if (!first.touches) continue;
      for (std::size_t b = a + 1; b < seen_.size(); ++b) {
        const Touch second = touch(state, b);
        if (!second.touches || first.row != second.row || first.element != second.element ||
            (!first.writes && !second.writes)) {
          continue;
        }
        verdict_.races.insert(next_of(state, a).line);
        verdict_.races.insert(next_of(state, b).line);
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
  std::vector<std::vector<Step>> steps_;  // by group
  std::vector<std::vector<Seen>> seen_;   // by thread, by step
  OracleVerdict verdict_;
};

int draw(std::mt19937_64& random, int below) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(below));
}

GroupOp random_op(std::mt19937_64& random, int barriers) {
  GroupOp op;
  op.kind = static_cast<Kind>(draw(random, 9));
  const bool is_access =
      op.kind == Kind::write || op.kind == Kind::read || op.kind == Kind::read_next;
  op.object = draw(random, is_access ? rows : barriers);
  if (op.kind == Kind::synchronize || op.kind == Kind::named_sync ||
      op.kind == Kind::named_arrive) {
    op.object = 0;
  }
  if (op.kind == Kind::wait) op.parity = draw(random, 4);
  return op;
}

/// A producer and a consumer with a barrier in each direction.
GroupProgram handshake(std::mt19937_64& random) {
  GroupProgram program;
  program.iterations = 1 + draw(random, 2);
  const bool full_by_one = draw(random, 2) == 0, empty_by_one = draw(random, 2) == 0;
  program.arrivals = {full_by_one ? 1 : 32, empty_by_one ? 1 : 32};
  const auto arrive = [](std::vector<GroupOp>& ops, int barrier, bool by_one) {
    if (by_one) ops.push_back({Kind::synchronize, 0, 0});
    ops.push_back({by_one ? Kind::arrive_elected : Kind::arrive, barrier, 0});
  };
  std::vector<GroupOp> producer, consumer;
  producer.push_back({Kind::wait, 1, 3});
  producer.push_back({Kind::write, 0, 0});
  if (draw(random, 3) == 0) producer.push_back({Kind::write, 1, 0});
  arrive(producer, 0, full_by_one);
  consumer.push_back({Kind::wait, 0, 2});
  consumer.push_back({draw(random, 2) == 0 ? Kind::read : Kind::read_next, 0, 0});
  arrive(consumer, 1, empty_by_one);
  program.groups = {producer, consumer};
  return program;
}

/// Two groups that take turns by a named barrier, or use rows of their own.
GroupProgram turns(std::mt19937_64& random) {
  GroupProgram program;
  program.iterations = 1 + draw(random, 2);
  program.arrivals = {32, 1};
  program.groups = {{{Kind::write, 0, 0}, {Kind::named_sync, 0, 0}, {Kind::read_next, 1, 0}},
                    {{Kind::write, 1, 0}, {Kind::named_sync, 0, 0}, {Kind::read, 0, 0}}};
  if (program.iterations == 2) {
    for (auto& ops : program.groups) ops.push_back({Kind::named_sync, 0, 0});
  }
  return program;
}

void change(GroupProgram& program, std::mt19937_64& random) {
  auto& ops = program.groups[static_cast<std::size_t>(draw(random, 2))];
  const auto at = static_cast<std::size_t>(draw(random, static_cast<int>(ops.size()) + 1));
  const int barriers = static_cast<int>(program.arrivals.size());
  switch (draw(random, 6)) {
    case 0:
      if (at < ops.size() && ops.size() > 1)
        ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      if (ops.size() < 6) {
        ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(at), random_op(random, barriers));
      }
      break;
    case 2:
      if (at < ops.size()) ops[at] = random_op(random, barriers);
      break;
    case 3:
      if (at + 1 < ops.size()) std::swap(ops[at], ops[at + 1]);
      break;
    case 4:
      program.arrivals[static_cast<std::size_t>(draw(random, barriers))] =
          std::array{1, 2, 32, 33, 64}[static_cast<std::size_t>(draw(random, 5))];
      break;
    default:
      if (at < ops.size() && ops[at].kind == Kind::wait) ops[at].parity = draw(random, 4);
      break;
  }
}

}  // namespace

std::string GroupProgram::text(std::vector<std::vector<int>>& lines) const {
  std::string text =
      "def f<1>(i32* y_ptr):\n"
      "    s = AllocateShared(i32, shape=[2, 64])\n";
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    text += "    b" + std::to_string(i) +
            " = AllocateBarrier(arrivals=" + std::to_string(arrivals[i]) + ")\n";
  }
  text +=
      "    StoreShared(AllocateRegister(i32, layout=replicated(2).local(2, 2).spatial(1, 32), "
      "init=0), s)\n"
      "    Synchronize()\n";
  int number = 0;
  lines.assign(groups.size(), {});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    text += "    with warps(" + std::to_string(g) + ", " + std::to_string(g + 1) + "):\n";
    text += "        mine = AllocateRegister(i32, layout=spatial(32), init=" + std::to_string(g) +
            ")\n";
    text += "        for k in range(" + std::to_string(iterations) + "):\n";
    for (const GroupOp& op : groups[g]) {
      const auto before = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
      text += text_of(op, "            ", number++);
      lines[g].push_back(before + (op.kind == Kind::arrive_elected ? 2 : 1));
    }
  }
  return text;
}

GroupProgram random_group_program(std::mt19937_64& random) {
  GroupProgram program = draw(random, 3) == 0 ? turns(random) : handshake(random);
  for (int changes = draw(random, 4); changes > 0; --changes) change(program, random);
  return program;
}

OracleVerdict explore(const GroupProgram& program) { return Explorer(program).run(); }

}  // namespace tilevm::sim::testing
