#include "isa/analysis/flow_graph.h"

#include <utility>
#include <variant>

namespace tilevm::isa {
namespace {

using Node = std::int32_t;

/// Where control goes when a statement is done: to the next one of its block, and from the last one
/// to the loop around or to what follows the branch around. Filled from outer to inner statements.
class Followers {
 public:
  explicit Followers(const Statements& statements)
      : statements_(statements), after_(statements.size(), end()) {
    statements.for_each([&](StmtId id) {
      const StmtId previous = statements.previous(id);
      if (previous.valid()) after(previous) = id.index;
      // Until a statement of the block follows, this one is its last.
      const StmtId parent = statements.parent(id);
      if (!parent.valid()) return;
      after(id) = statements.loop(id) == parent ? parent.index : -1;
    });
    // The end of an arm leads to what follows the branch, which is known from outer to inner.
    statements.for_each([&](StmtId id) {
      if (after(id) < 0) after(id) = after(statements.parent(id));
    });
  }

  [[nodiscard]] Node end() const { return static_cast<Node>(statements_.size()); }
  [[nodiscard]] Node of(StmtId id) const { return after_[static_cast<std::size_t>(id.index)]; }

 private:
  Node& after(StmtId id) { return after_[static_cast<std::size_t>(id.index)]; }

  const Statements& statements_;
  std::vector<Node> after_;
};

/// Calls f(node) for every node to which control may go from a statement.
template <class F>
void for_each_successor(const Statements& statements, const Followers& followers, StmtId id,
                        F&& f) {
  const Stmt& stmt = statements[id];
  if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
    return f(std::holds_alternative<Exit>(inst->inst) ? followers.end() : followers.of(id));
  }
  if (std::holds_alternative<BreakStmt>(stmt.node)) return f(followers.of(statements.loop(id)));
  if (std::holds_alternative<ContinueStmt>(stmt.node)) return f(statements.loop(id).index);
  // To the first statement of each block inside, and past the statement where a block may be left
  // out: an empty one, a loop, a branch without `else`, groups that leave warps out.
  bool passes =
      std::holds_alternative<ScalarStmt>(stmt.node) || std::holds_alternative<ForStmt>(stmt.node) ||
      std::holds_alternative<WhileStmt>(stmt.node) || std::holds_alternative<ForkStmt>(stmt.node);
  Node first = id.index + 1;
  for_each_block_of(stmt, [&](const Block& block) {
    passes = passes || block.empty();
    if (block.empty()) return;
    f(first);
    for (std::size_t i = 0; i < block.size(); ++i) first = statements.end(StmtId{first});
  });
  if (passes) f(followers.of(id));
}

}  // namespace

FlowGraph::Lists FlowGraph::by_origin(std::size_t nodes, const std::vector<Edge>& edges) {
  Lists lists;
  lists.begins.assign(nodes + 1, 0);
  lists.targets.resize(edges.size());
  for (const Edge& edge : edges) ++lists.begins[static_cast<std::size_t>(edge.from) + 1];
  for (std::size_t n = 0; n < nodes; ++n) lists.begins[n + 1] += lists.begins[n];
  std::vector<std::size_t> next(lists.begins.begin(), lists.begins.end() - 1);
  for (const Edge& edge : edges) {
    lists.targets[next[static_cast<std::size_t>(edge.from)]++] = edge.to;
  }
  return lists;
}

FlowGraph::FlowGraph(const Statements& statements) {
  const Followers followers(statements);
  std::vector<Edge> edges, reversed;
  statements.for_each([&](StmtId id) {
    for_each_successor(statements, followers, id, [&](Node to) {
      edges.push_back({id.index, to});
      reversed.push_back({to, id.index});
    });
  });
  successors_ = by_origin(statements.size() + 1, edges);
  predecessors_ = by_origin(statements.size() + 1, reversed);
}

}  // namespace tilevm::isa
