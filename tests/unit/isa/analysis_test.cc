// The analysis layer: order and nesting of statements, definitions and uses, live ranges, dataflow.
// More than 400 lines: each analysis is checked on the same few kernels.
#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isa/analysis/alignment.h"
#include "isa/analysis/dataflow.h"
#include "isa/analysis/definitions.h"
#include "isa/analysis/flow_graph.h"
#include "isa/analysis/live_ranges.h"
#include "isa/analysis/operands.h"
#include "isa/analysis/statements.h"
#include "isa/program/stmt_map.h"

namespace {

using namespace tilevm;
using namespace tilevm::isa;

// Kernels of scalar statements: variable v is called "v0", "v1" ..

Expr read(std::int32_t var) { return Expr::variable({var}, "v", ScalarKind::i32); }
Expr number(std::int64_t value) { return Expr::constant(value); }
Expr is_set(std::int32_t var) { return Expr::binary(ScalarBinary::ne, read(var), number(0)); }

Stmt assign(std::int32_t var, Expr value, bool declares = true) {
  return {ScalarStmt{{var}, std::move(value), declares}, {}};
}
Stmt loop(std::int32_t var, Expr end, Block body) {
  return {ForStmt{{var}, number(0), std::move(end), number(1), 0, std::move(body)}, {}};
}
Stmt repeat(std::int32_t var, Block body) { return {WhileStmt{is_set(var), std::move(body)}, {}}; }
Stmt branch(std::int32_t var, Block body, Block otherwise = {}) {
  return {IfStmt{{{is_set(var), std::move(body)}}, std::move(otherwise)}, {}};
}
Stmt leave() { return {BreakStmt{}, {}}; }
Stmt again() { return {ContinueStmt{}, {}}; }
Stmt exit_kernel() { return {InstStmt{Exit{}, {}, true, {}}, {}}; }

Kernel kernel_of(std::int32_t variables, Block body, std::vector<VarId> parameters = {}) {
  Kernel kernel;
  for (std::int32_t v = 0; v < variables; ++v) {
    kernel.variables.push_back({"v" + std::to_string(v), ScalarType{ScalarKind::i32}});
  }
  kernel.parameters = std::move(parameters);
  kernel.body = std::move(body);
  return kernel;
}

/// 0: v0 = 1 | 1: for v1 { 2: if v0 { 3: break } else { 4: v2 = v0 ; 5: continue } 6: v0 = v1 }
/// 7: while v0 { 8: v0 = 0 } 9: v3 = v0
Kernel example() {
  Block inner{branch(0, {leave()}, {assign(2, read(0)), again()}), assign(0, read(1), false)};
  return kernel_of(4, {assign(0, number(1)), loop(1, number(8), std::move(inner)),
                       repeat(0, {assign(0, number(0), false)}), assign(3, read(0))});
}

std::vector<int> indices(std::span<const StmtId> ids) {
  std::vector<int> result;
  for (const StmtId id : ids) result.push_back(id.index);
  return result;
}

using Ints = std::vector<int>;

TEST_CASE("statements are numbered in the order of the text, outer before inner") {
  Kernel kernel = example();
  CHECK(number_statements(kernel) == 10);
  const Statements statements(kernel);
  REQUIRE(statements.size() == 10);
  statements.for_each([&](StmtId id) { CHECK(statements[id].id() == id); });
  Ints parents, loops, previous, ends;
  statements.for_each([&](StmtId id) {
    parents.push_back(statements.parent(id).index);
    loops.push_back(statements.loop(id).index);
    previous.push_back(statements.previous(id).index);
    ends.push_back(statements.end(id));
  });
  CHECK(parents == Ints{-1, -1, 1, 2, 2, 2, 1, -1, 7, -1});
  CHECK(loops == Ints{-1, -1, 1, 1, 1, 1, 1, -1, 7, -1});
  CHECK(previous == Ints{-1, 0, -1, -1, -1, 4, 2, 1, -1, 7});
  CHECK(ends == Ints{1, 7, 6, 4, 5, 6, 7, 9, 9, 10});
}

TEST_CASE("nesting and order answer what dominates, what encloses, and what may run before") {
  const Kernel kernel = example();
  const Statements statements(kernel);
  CHECK(statements.contains({1}, {5}));
  CHECK(statements.contains({5}, {5}));
  CHECK_FALSE(statements.contains({1}, {7}));
  CHECK(statements.same_block({4}, {5}));
  CHECK_FALSE(statements.same_block({3}, {4}));  // the arms of a branch
  CHECK(statements.dominates({0}, {8}));
  CHECK(statements.dominates({2}, {6}));
  CHECK_FALSE(statements.dominates({4}, {6}));
  CHECK_FALSE(statements.dominates({3}, {5}));
  CHECK_FALSE(statements.dominates({6}, {2}));
  CHECK(statements.in_body({5}) == StmtId{1});
  CHECK(statements.in_block_of({2}, {5}) == StmtId{2});
  CHECK_FALSE(statements.in_block_of({2}, {8}).valid());
  CHECK(statements.end_of_predecessors({0}) == 0);
  CHECK(statements.end_of_predecessors({4}) == 7);
  CHECK(statements.end_of_predecessors({9}) == 9);
}

TEST_CASE("definitions and uses are listed by variable, those of the launch are counted") {
  Kernel kernel = example();
  kernel.parameters = {{2}};
  const Statements statements(kernel);
  const Definitions definitions(kernel);
  CHECK(indices(definitions.of({0})) == Ints{0, 6, 8});
  CHECK(indices(definitions.of({1})) == Ints{1});
  CHECK(definitions.count({2}) == 2);
  CHECK_FALSE(definitions.sole({2}).valid());
  CHECK(definitions.sole({3}) == StmtId{9});
  CHECK(definitions.written_inside(statements, {1}, {0}));
  CHECK_FALSE(definitions.written_inside(statements, {1}, {1}));  // the loop itself does not count
  CHECK_FALSE(definitions.written_inside(statements, {9}, {3}));
  const Uses uses(kernel, statements);
  CHECK(indices(uses.of({0})) == Ints{2, 4, 7, 9});
  CHECK(indices(uses.of({1})) == Ints{6});
  CHECK(uses.of({3}).empty());
}

TEST_CASE("the powers of two that divide scalars") {
  // v0 = 12; v2 is written twice.
  Kernel kernel = kernel_of(4, {assign(0, number(12)), loop(1, number(64), {assign(2, number(5))}),
                                assign(2, number(4))});
  number_statements(kernel);
  const Definitions definitions(kernel);
  const Divisibility divides(kernel, definitions);
  const auto real = Expr::variable({3}, "x", ScalarKind::f32);
  CHECK(divides.of(number(48)) == 16);
  CHECK(divides.of(number(0)) == power_of_two_in(0));
  CHECK(divides.of(read(0)) == 4);
  CHECK(divides.of(read(2)) == 1);  // of several values none is known
  CHECK(divides.of(Expr::binary(ScalarBinary::add, read(0), number(8))) == 4);
  CHECK(divides.of(Expr::binary(ScalarBinary::mul, read(0), number(8))) == 32);
  CHECK(divides.of(Expr::select(is_set(2), number(8), read(0))) == 4);
  CHECK(divides.of(Expr::convert(read(0), ScalarKind::i64)) == 4);
  CHECK(divides.of(Expr::convert(real, ScalarKind::i32)) == 1);
}

TEST_CASE("every slot says which variables it uses") {
  const Instruction store =
      StoreGlobal{{VarId{0}},
                  {VarId{1}},
                  OffsetList{{{Expr::binary(ScalarBinary::add, read(2), read(3)), true}}}};
  Ints used;
  for_each_operand(store, [&](VarId var) { used.push_back(var.index); });
  CHECK(used == Ints{0, 1, 2, 3});
  Ints tiles;
  for_each_register_operand(store, [&](VarId var) { tiles.push_back(var.index); });
  CHECK(tiles == Ints{0});
  for_each_memory_operand<GlobalOperand>(store, [&](Access access, VarId var) {
    CHECK(writes(access));
    CHECK(var == VarId{1});
  });
}

TEST_CASE("a variable lives in its block, through all of a loop that uses it") {
  const Kernel kernel = example();
  const Statements statements(kernel);
  const Definitions definitions(kernel);
  const Uses uses(kernel, statements);
  const auto range = [&](std::int32_t var) {
    return find_live_range(statements, definitions, uses, {var});
  };
  REQUIRE(range(0));
  CHECK(range(0)->first == StmtId{1});  // the loop, in which statement 2 is the first to use it
  CHECK(range(0)->last == StmtId{9});
  CHECK_FALSE(range(3));
  CHECK(LiveRange{{0}, {4}}.overlaps({{4}, {6}}));
  CHECK_FALSE(LiveRange{{0}, {3}}.overlaps({{4}, {6}}));
}

Ints successors(const FlowGraph& graph, int node) {
  const auto list = graph.successors(node);
  Ints sorted(list.begin(), list.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST_CASE("control flows through loops, branches and jumps") {
  const Kernel kernel = example();
  const FlowGraph graph{Statements(kernel)};
  CHECK(successors(graph, 0) == Ints{1});
  CHECK(successors(graph, 1) == Ints{2, 7});
  CHECK(successors(graph, 2) == Ints{3, 4});
  CHECK(successors(graph, 3) == Ints{7});
  CHECK(successors(graph, 4) == Ints{5});
  CHECK(successors(graph, 5) == Ints{1});
  CHECK(successors(graph, 6) == Ints{1});
  CHECK(successors(graph, 7) == Ints{8, 9});
  CHECK(successors(graph, 8) == Ints{7});
  CHECK(successors(graph, 9) == Ints{10});
  CHECK(graph.end() == 10);
}

TEST_CASE("a branch without statements, an empty loop and an exit") {
  // 0: if v0 { } | 1: for v1 { } | 2: if v0 { 3: exit } 4: v2 = 0 | 5: if v0 { 6: if v0 { 7: v3 = 1
  // } }
  const Kernel kernel =
      kernel_of(4, {branch(0, {}), loop(1, number(3), {}), branch(0, {exit_kernel()}),
                    assign(2, number(0)), branch(0, {branch(0, {assign(3, number(1))})})});
  const FlowGraph graph{Statements(kernel)};
  CHECK(successors(graph, 0) == Ints{1});
  CHECK(successors(graph, 1) == Ints{2});
  CHECK(successors(graph, 2) == Ints{3, 4});
  CHECK(successors(graph, 3) == Ints{graph.end()});
  CHECK(successors(graph, 5) == Ints{6, graph.end()});
  CHECK(successors(graph, 6) == Ints{7, graph.end()});
  CHECK(successors(graph, 7) == Ints{graph.end()});
}

// Two classic problems over sets of variables: definitions that may reach a statement, and
// variables that may be read before they are written again.

using Set = std::set<int>;

bool add_all(Set& into, const Set& from) {
  const std::size_t before = into.size();
  into.insert(from.begin(), from.end());
  return into.size() > before;
}

struct Reaching {
  using State = Set;  // of statements
  static constexpr FlowDirection direction = FlowDirection::forward;
  const Definitions& definitions;

  [[nodiscard]] Set boundary() const { return {}; }
  [[nodiscard]] bool join(Set& into, const Set& from) const { return add_all(into, from); }
  void transfer(const Stmt& stmt, Set& state) const {
    VarId var;
    if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) var = scalar->target;
    if (const auto* range = std::get_if<ForStmt>(&stmt.node)) var = range->var;
    if (!var.valid()) return;
    for (const StmtId other : definitions.of(var)) state.erase(other.index);
    state.insert(stmt.id().index);
  }
};

struct Liveness {
  using State = Set;  // of variables
  static constexpr FlowDirection direction = FlowDirection::backward;
  const Uses& uses;
  const Definitions& definitions;
  std::int32_t variables;
  Set at_end{};

  [[nodiscard]] Set boundary() const { return at_end; }
  [[nodiscard]] bool join(Set& into, const Set& from) const { return add_all(into, from); }
  void transfer(const Stmt& stmt, Set& state) const {
    for (std::int32_t v = 0; v < variables; ++v) {
      const auto names = [&](std::span<const StmtId> list) {
        return std::find(list.begin(), list.end(), stmt.id()) != list.end();
      };
      if (names(definitions.of({v}))) state.erase(v);
      if (names(uses.of({v}))) state.insert(v);
    }
  }
};

TEST_CASE("the solver follows definitions forward through loops and jumps") {
  Kernel kernel = example();
  number_statements(kernel);
  const Statements statements(kernel);
  const Definitions definitions(kernel);
  const auto solution = solve(statements, FlowGraph(statements), Reaching{definitions});
  CHECK(solution.before[{0}] == Set{});
  CHECK(solution.after[{0}] == Set{0});
  CHECK(solution.before[{3}] == Set{0, 1, 4, 6});
  CHECK(solution.before[{7}] == Set{0, 1, 4, 6, 8});
  CHECK(solution.after[{8}] == Set{1, 4, 8});
  // Both arms of the branch jump, so nothing reaches statement 6. What it defines counts all the
  // same: the solver does not ask whether a statement is ever reached.
  CHECK(solution.before[{6}] == Set{});
}

TEST_CASE("the solver follows uses backward, from the end of the kernel on") {
  Kernel kernel = example();
  number_statements(kernel);
  const Statements statements(kernel);
  const Definitions definitions(kernel);
  const Uses uses(kernel, statements);
  const FlowGraph graph(statements);
  const auto solution = solve(statements, graph, Liveness{uses, definitions, 4});
  CHECK(solution.before[{0}] == Set{});
  CHECK(solution.after[{0}] == Set{0});
  CHECK(solution.before[{6}] == Set{1});
  CHECK(solution.after[{9}] == Set{});
  const auto live_at_end = solve(statements, graph, Liveness{uses, definitions, 4, {2}});
  CHECK(live_at_end.after[{9}] == Set{2});
  CHECK(live_at_end.before[{0}] == Set{2});
  CHECK(live_at_end.before[{4}] == Set{0});  // which writes it
}

/// Random blocks of assignments, loops, branches and jumps.
class RandomBlocks {
 public:
  explicit RandomBlocks(unsigned seed) : random_(seed) {}

  Block block(int depth, bool in_loop) {
    Block body;
    for (int i = below(5); i > 0; --i) body.push_back(stmt(depth, in_loop));
    return body;
  }

 private:
  static constexpr std::int32_t variables = 6;
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::int32_t var() { return below(variables); }

  Stmt stmt(int depth, bool in_loop) {
    switch (below(depth > 0 ? 8 : 3)) {
      case 0:
        if (in_loop) return below(2) == 0 ? leave() : again();
        return exit_kernel();
      case 3:
      case 4:
        return loop(var(), read(var()), block(depth - 1, true));
      case 5:
        return repeat(var(), block(depth - 1, true));
      case 6:
      case 7:
        return branch(var(), block(depth - 1, in_loop), block(depth - 1, in_loop));
      default:
        return assign(var(), read(var()), false);
    }
  }

  std::mt19937 random_;
};

/// The equations, solved by going over all statements until nothing changes.
std::vector<Set> live_by_sweeps(const Statements& statements, const FlowGraph& graph,
                                const Liveness& problem) {
  std::vector<Set> before(statements.size());
  for (bool changed = true; changed;) {
    changed = false;
    statements.for_each([&](StmtId id) {
      Set state;
      for (const std::int32_t next : graph.successors(id.index)) {
        add_all(state,
                next == graph.end() ? problem.at_end : before[static_cast<std::size_t>(next)]);
      }
      problem.transfer(statements[id], state);
      changed |= add_all(before[static_cast<std::size_t>(id.index)], state);
    });
  }
  return before;
}

TEST_CASE("on random kernels the solver finds what plain sweeps find") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO(seed);
    Kernel kernel = kernel_of(6, RandomBlocks(seed).block(5, false));
    number_statements(kernel);
    const Statements statements(kernel);
    const FlowGraph graph(statements);
    const Definitions definitions(kernel);
    const Uses uses(kernel, statements);
    const Liveness problem{uses, definitions, 6, {static_cast<int>(seed % 6)}};
    const auto solution = solve(statements, graph, problem);
    const auto expected = live_by_sweeps(statements, graph, problem);
    statements.for_each([&](StmtId id) {
      CHECK(solution.before[id] == expected[static_cast<std::size_t>(id.index)]);
    });
    // Every edge has its mirror image.
    std::size_t edges = 0;
    statements.for_each([&](StmtId id) { edges += graph.successors(id.index).size(); });
    std::size_t mirrored = 0;
    for (std::int32_t n = 0; n <= graph.end(); ++n) mirrored += graph.predecessors(n).size();
    CHECK(edges == mirrored);
  }
}

/// Counts how often statements are looked at.
struct Counting {
  using State = bool;
  static constexpr FlowDirection direction = FlowDirection::backward;
  std::size_t* visits;

  [[nodiscard]] bool boundary() const { return true; }
  [[nodiscard]] bool join(bool& into, bool from) const {
    return !std::exchange(into, into || from) && from;
  }
  void transfer(const Stmt&, bool&) const { ++*visits; }
};

TEST_CASE("deep loops take time that grows with the statements, not with their depth") {
  constexpr int depth = 200;
  Block body{assign(0, number(1))};
  for (int level = 0; level < depth; ++level) {
    Block outer;
    outer.push_back(loop(1, number(2), std::move(body)));
    outer.push_back(assign(0, number(1), false));
    body = std::move(outer);
  }
  const Kernel kernel = kernel_of(2, std::move(body));
  const Statements statements(kernel);
  const FlowGraph graph(statements);
  std::size_t visits = 0;
  const auto solution = solve(statements, graph, Counting{&visits});
  CHECK(solution.before[{0}]);
  CHECK(visits <= 3 * statements.size());
}

TEST_CASE("maps and sets of statements know their kernel") {
  StmtMap<int> map(3, 7);
  map[{1}] = 8;
  CHECK(map[{0}] == 7);
  CHECK(map[{1}] == 8);
  StmtSet set(3);
  set.insert({2});
  set.insert({2});
  CHECK(set.count() == 1);
  CHECK(set.contains({2}));
  CHECK_FALSE(set.contains({0}));
}

}  // namespace
