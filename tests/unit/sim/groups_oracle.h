// Small random programs of groups of warps and barriers, and an oracle that knows only the rules of
// the hardware: it explores every interleaving of their threads.
//
// A group is a warp, or a warp group of four warps where programs multiply. Three threads stand for
// it: thread 0, which `single_thread` elects, thread 1 or the rest of its warp, and all others,
// which run in step. The phase of a barrier has a parity and nothing else. A product reads a row
// from its issue by a thread to the wait of that thread, and sees of stores what a proxy fence
// followed.
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
    named_sync,   ///< named barrier 1, both groups
    named_arrive,
    // Where programs multiply:
    read_all,  ///< threads read elements of one another
    fence,
    product,  ///< tensor cores read a row
    product_wait,
    use_sum,  ///< each thread reads what products add to
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
  bool multiplies = false;                   ///< groups are of four warps, and rows are matrices

  /// The text, and the line of each operation.
  [[nodiscard]] std::string text(std::vector<std::vector<int>>& lines) const;
};

/// A program that is right or has a fault: a pattern with changes.
[[nodiscard]] GroupProgram random_group_program(std::mt19937_64& random);
[[nodiscard]] GroupProgram random_product_program(std::mt19937_64& random);

/// What is wrong in some interleaving: the lines that a report may name, by what it says. Empty of
/// a program without a fault. `complete` is false if there were too many interleavings.
struct OracleVerdict {
  std::set<int> races, fences, phases, deadlocks;
  bool complete = true;
  [[nodiscard]] bool is_faulty() const {
    return !races.empty() || !fences.empty() || !phases.empty() || !deadlocks.empty();
  }
};
[[nodiscard]] OracleVerdict explore(const GroupProgram& program);

}  // namespace tilevm::sim::testing
