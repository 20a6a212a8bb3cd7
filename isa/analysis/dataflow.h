// A solver for dataflow problems over the control flow of a kernel.
//
// A problem gives the state at one end of the kernel, the transfer of a state through a statement,
// and the join of states from several paths. The solver finds the state before and after every
// statement: the least solution of the equations, in which loops are accounted for any number of
// iterations. Every statement is taken to be reachable.
//
// The solver ends for every program. A state only grows, by join, and a statement is visited again
// only after the state before it grew. If no state can grow more than h times (1 for a yes or no, n
// for a set of n things), each edge between two statements is followed at most h times. So the time
// is that of h x statements joins and transfers and the bookkeeping of a heap. Statements are
// visited in the order of the flow, so a kernel without loops takes one visit of each.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "isa/analysis/flow_graph.h"
#include "isa/program/stmt_map.h"

namespace tilevm::isa {

enum class FlowDirection : std::uint8_t { forward, backward };

/// `State` begins as nothing known, the least one.
template <class P>
concept DataflowProblem = requires(const P problem, typename P::State state, const Stmt& stmt) {
  { P::direction } -> std::convertible_to<FlowDirection>;
  /// What is known at the beginning (forward) or at the end (backward) of the kernel.
  { problem.boundary() } -> std::convertible_to<typename P::State>;
  /// Joins the state from another path into the first; whether that changed anything.
  { problem.join(state, state) } -> std::convertible_to<bool>;
  /// From before a statement to after it, or backward from after it to before. It must be monotone:
  /// what follows from more is no less.
  { problem.transfer(stmt, state) };
};

/// What is known before and after each statement, in the order of the text.
template <class State>
struct FlowSolution {
  StmtMap<State> before, after;
};

namespace detail {

/// Statements that must be visited again, the first in the order of the flow first.
template <FlowDirection direction>
class Worklist {
 public:
  explicit Worklist(std::size_t nodes) : waiting_(nodes, false) {}
  void add(std::int32_t node) {
    if (waiting_[static_cast<std::size_t>(node)]) return;
    waiting_[static_cast<std::size_t>(node)] = true;
    queue_.push(direction == FlowDirection::forward ? node : -node);
  }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  std::int32_t take() {
    const std::int32_t node = direction == FlowDirection::forward ? queue_.top() : -queue_.top();
    queue_.pop();
    waiting_[static_cast<std::size_t>(node)] = false;
    return node;
  }

 private:
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> queue_;
  std::vector<bool> waiting_;
};

}  // namespace detail

template <DataflowProblem Problem>
FlowSolution<typename Problem::State> solve(const Statements& statements, const FlowGraph& graph,
                                            const Problem& problem) {
  using State = typename Problem::State;
  constexpr bool forward = Problem::direction == FlowDirection::forward;
  FlowSolution<State> solution{StmtMap<State>(statements.size()),
                               StmtMap<State>(statements.size())};
  if (statements.size() == 0) return solution;
  StmtMap<State>& in = forward ? solution.before : solution.after;
  StmtMap<State>& out = forward ? solution.after : solution.before;
  const auto join_boundary = [&](std::int32_t node) {
    static_cast<void>(problem.join(in[{node}], problem.boundary()));
  };
  if (forward) join_boundary(0);
  if (!forward) {
    for (const std::int32_t last : graph.predecessors(graph.end())) join_boundary(last);
  }
  detail::Worklist<Problem::direction> worklist(graph.nodes());
  statements.for_each([&](StmtId id) { worklist.add(id.index); });
  while (!worklist.empty()) {
    const StmtId id{worklist.take()};
    State state = in[id];
    problem.transfer(statements[id], state);
    out[id] = std::move(state);
    for (const std::int32_t next :
         forward ? graph.successors(id.index) : graph.predecessors(id.index)) {
      if (next == graph.end()) continue;
      if (problem.join(in[{next}], out[id])) worklist.add(next);
    }
  }
  return solution;
}

}  // namespace tilevm::isa
