// Small random programs of groups of warps and barriers, and an oracle that knows only the rules of
// the hardware: it explores every interleaving of their threads.
//
// A group is a warp. Three threads stand for it: thread 0, which `single_thread` elects, thread 1,
// and all others, which run in step. The phase of a barrier has a parity and nothing else.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tilevm::sim::testing {

struct GroupOp {
  enum class Kind : std::uint8_t {
    write,           ///< thread i writes element i of a row
    read,            ///< thread i reads element i
    read_next,       ///< thread i reads element i + 1
    arrive,          ///< all threads
    arrive_elected,  ///< thread 0
    wait,
    synchronize,  ///< the group
    named_sync,   ///< named barrier 1, both warps
    named_arrive,
  };
  Kind kind = Kind::write;
  int object = 0;  ///< a row, or a barrier
  int parity = 0;  ///< parity of a wait: 0, 1, or that of the iteration: 2, or the other one: 3
  friend bool operator==(const GroupOp&, const GroupOp&) = default;
};

struct GroupProgram {
  std::vector<int> arrivals;                 ///< arrivals of each barrier
  std::vector<std::vector<GroupOp>> groups;  ///< two: the operations of each
  int iterations = 1;                        ///< iterations that each group makes of its operations

  /// The text, and the line of each operation.
  [[nodiscard]] std::string text(std::vector<std::vector<int>>& lines) const;
};

/// A program that is right or has a fault: a pattern with changes.
[[nodiscard]] GroupProgram random_group_program(std::mt19937_64& random);

/// What is wrong in some interleaving: the lines that a report may name, by what it says. Empty of
/// a program without a fault. `complete` is false if there were too many interleavings.
struct OracleVerdict {
  std::set<int> races, phases, deadlocks;
  bool complete = true;
  [[nodiscard]] bool is_faulty() const {
    return !races.empty() || !phases.empty() || !deadlocks.empty();
  }
};
[[nodiscard]] OracleVerdict explore(const GroupProgram& program);

}  // namespace tilevm::sim::testing
