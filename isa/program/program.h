// Programs: what a .tile file means once its names are bound and its constants are known.
//
//   Program ─┬─ Kernel     a grid of thread blocks that run a list of block-level instructions
//            └─ Pipeline   host side: typed tensors in and out, kernels launched in order
//
// Control flow stays structured (the paper's section 6.2). A Program is plain data that anyone may
// build; only verify() (verify.h) makes a VerifiedProgram, and the engines accept nothing else.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/base/source.h"
#include "isa/inst/expr.h"
#include "isa/inst/instruction_set.h"
#include "isa/inst/tensor_type.h"

namespace tilevm::isa {

/// A variable of a kernel: a parameter, a scalar or a tensor. Two variables may share a name (a
/// name that takes a new type names a new variable from there on).
struct Variable {
  std::string name;
  Type type;
  Span span{};
};

/// A statement of a kernel: its position in the order of the text, outer before inner, from 0 on.
/// verify() numbers the statements of the program that it takes.
struct StmtId {
  std::int32_t index = -1;
  [[nodiscard]] bool valid() const { return index >= 0; }
  friend auto operator<=>(const StmtId&, const StmtId&) = default;
};

struct Stmt;
using Block = std::vector<Stmt>;

/// One instruction. `results` are the variables it writes; `declares` says whether they begin to
/// exist here (false for `out=` and for assignment to an existing variable).
struct InstStmt {
  Instruction inst;
  std::vector<VarId> results;
  bool declares = true;
  std::vector<Span> slot_spans;  ///< parallel to the schema's slots; empty spans where left out
  StmtId id{};
};

/// A scalar variable takes a value.
struct ScalarStmt {
  VarId target;
  Expr value;
  bool declares = true;
  StmtId id{};
};

/// for var in range(begin, end, step): the range is evaluated once; step is not zero. `unroll` says
/// how many iterations machine code has one after the other; 0 leaves it to the CUDA compiler.
struct ForStmt {
  VarId var;
  Expr begin, end, step;
  std::int64_t unroll = 0;
  Block body;
  StmtId id{};
};

struct WhileStmt {
  Expr condition;
  Block body;
  StmtId id{};
};

/// One condition at least: a constant one leaves its statements, or none, and no branch.
struct IfStmt {
  struct Arm {
    Expr condition;
    Block body;
  };
  std::vector<Arm> arms;
  Block otherwise;
  StmtId id{};
};

/// Warps that run a part of the kernel of their own: warps [first_warp, first_warp + warps) of the
/// group around, or of the block. If `elects`, one thread of the first warp runs it. Layouts,
/// barriers and nested groups inside count the threads of the group.
struct WarpGroup {
  std::int64_t first_warp = 0;
  std::int64_t warps = 1;
  bool elects = false;
  std::optional<std::int64_t> registers;  ///< registers of each thread in the part (setmaxnreg)
  Block body;
  Span span{};
};

/// Disjoint groups of warps run at the same time, in no order but that of their barriers. The group
/// around goes on when all have ended, which is not a barrier: nothing is in order between its
/// threads that was not before.
struct ForkStmt {
  std::vector<WarpGroup> groups;
  StmtId id{};
};

struct BreakStmt {
  StmtId id{};
};
struct ContinueStmt {
  StmtId id{};
};

struct Stmt {
  std::variant<InstStmt, ScalarStmt, ForStmt, WhileStmt, IfStmt, ForkStmt, BreakStmt, ContinueStmt>
      node;
  Span span{};

  [[nodiscard]] StmtId id() const {
    return std::visit([](const auto& statement) { return statement.id; }, node);
  }
};

struct Kernel {
  std::string name;
  Span span{};             ///< range of the name
  std::vector<Expr> grid;  ///< 1 to 3 extents; expressions of constants and scalar parameters
  std::optional<std::int64_t> threads;  ///< @threads(n)
  std::int64_t resident = 1;            ///< @resident(n): blocks for which registers must suffice
  bool split_barriers = false;  ///< @split_barriers(1): only producer warps wait, if possible
  /// @cluster(x, y, z): blocks of a cluster along the grid's extents; empty without clusters.
  std::vector<std::int64_t> cluster;
  std::vector<VarId> parameters;
  std::vector<Variable> variables;
  Block body;

  /// Blocks of a cluster; 1 without clusters.
  [[nodiscard]] std::int64_t cluster_blocks() const;

  [[nodiscard]] const Variable& variable(VarId id) const {
    return variables[static_cast<std::size_t>(id.index)];
  }
};

/// A scalar parameter of a pipeline.
struct PipelineScalar {
  std::string name;
  ScalarKind kind = ScalarKind::i32;
  Span span{};
  std::size_t tensors_before = 0;  ///< how many tensors precede it among the parameters
};

/// A tensor of a pipeline. Expressions of a pipeline are over its scalar parameters: a VarId is an
/// index into Pipeline::scalars.
struct PipelineTensor {
  enum class Role : std::uint8_t { input, output, inout, temporary };
  std::string name;
  Role role = Role::input;
  DType dtype;
  std::vector<Expr> extents;
  Span span{};

  [[nodiscard]] bool is_input() const { return role == Role::input || role == Role::inout; }
  [[nodiscard]] bool is_output() const { return role == Role::output || role == Role::inout; }
  [[nodiscard]] bool is_parameter() const { return role != Role::temporary; }
  /// The extents if they are constants.
  [[nodiscard]] std::optional<Shape> static_shape() const;
};

/// The expressions of constants.
[[nodiscard]] std::vector<Expr> constant_extents(const Shape& shape);

/// A launch of a kernel as a pipeline has it: one argument per kernel parameter, a tensor or an
/// expression.
struct PipelineLaunch {
  int kernel = 0;                                  ///< index into Program::kernels
  std::vector<std::variant<int, Expr>> arguments;  ///< int: index into Pipeline::tensors
  Span span{};
  std::vector<Span> argument_spans;
};

/// A kernel with the values of its scalar parameters.
struct Launch {
  int kernel = 0;
  std::vector<std::variant<int, Scalar>> arguments;
  Span span{};
  std::vector<Span> argument_spans;
};

struct Pipeline {
  std::string name;
  Span span{};
  std::vector<PipelineTensor> tensors;  ///< inputs (and inout), then outputs, then temporaries
  std::vector<PipelineLaunch> launches;
  std::vector<PipelineScalar> scalars = {};
};

/// A tunable constant: the tuner's space and the value that was taken.
struct Tunable {
  std::string name;
  std::vector<std::string> choices;
  std::string value;
};

struct Program {
  std::vector<Kernel> kernels;
  std::vector<Pipeline> pipelines;
  std::vector<Tunable> tunables;
  std::shared_ptr<const SourceFile> source = std::make_shared<SourceFile>();
};

/// Calls f(block) for every block inside of a statement (`Stmt` or `const Stmt`), in the order of
/// the text.
template <class Statement, class F>
void for_each_block_of(Statement& stmt, F&& f) {
  if (auto* range = std::get_if<ForStmt>(&stmt.node)) f(range->body);
  if (auto* loop = std::get_if<WhileStmt>(&stmt.node)) f(loop->body);
  if (auto* branch = std::get_if<IfStmt>(&stmt.node)) {
    for (auto& arm : branch->arms) f(arm.body);
    f(branch->otherwise);
  }
  if (auto* fork = std::get_if<ForkStmt>(&stmt.node)) {
    for (auto& group : fork->groups) f(group.body);
  }
}

/// Calls f(stmt) for every statement of a block, outer before inner.
template <class F>
void for_each_statement(const Block& block, F&& f) {
  for (const Stmt& stmt : block) {
    f(stmt);
    for_each_block_of(stmt, [&](const Block& inner) { for_each_statement(inner, f); });
  }
}

}  // namespace tilevm::isa
