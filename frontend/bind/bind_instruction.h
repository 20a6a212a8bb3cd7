// Binding of what gives tensors: instructions, operators on tiles, calls in calls.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/bind_scope.h"
#include "frontend/bind/inlining.h"
#include "frontend/syntax/ast.h"
#include "isa/numeric/target.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

/// A kernel whose statements are being bound, with the functions that are being inlined into it.
struct KernelBuilder {
  KernelBuilder(const isa::Target& of, Inlining& shared) : target(of), inlining(shared) {}
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  template <class Node>
  void emit(Node node, Span span) {
    block->push_back({std::move(node), span});
    ++statements;
  }
  /// Whether calls and constant loops have made the kernel too long. The first time it is reported.
  [[nodiscard]] bool is_too_long(Span span, Diagnostics& diagnostics);

  isa::Kernel kernel{};
  isa::Target target;
  Inlining& inlining;
  isa::Block* block = nullptr;  ///< the innermost, to which statements are added
  std::size_t statements = 0;   ///< added so far
  bool reported_length = false;
  std::vector<const ast::Function*> calls;  ///< being inlined, the outermost first
};

class InstructionBinder final : private OperandBinder {
 public:
  InstructionBinder(KernelBuilder& kernel, VariableScope& variables, const BindScope& scope)
      : kernel_(kernel), variables_(variables), scope_(scope), diagnostics_(scope.diagnostics) {}

  /// Adds the instruction, and before it those of nested calls, and declares its results. After a
  /// report the targets are poisoned.
  void bind(const ast::Call& call, Span call_span, Span span,
            const std::vector<ast::Identifier>& targets);

  /// `target = expr` of an expression that gives a tensor and is not a call of an instruction.
  void assign(const ast::Expr& expr, const ast::Identifier& target, Span span);
  /// Assigns a tensor that a function returned: the name takes its variable, or a tile that exists
  /// takes its elements.
  void assign(isa::VarId value, const ast::Identifier& target, Span span);
  /// Gives a tile the elements of another of its type that no name means: what was just made is
  /// made in place instead.
  void write_to(isa::VarId to, isa::VarId value, Span span);

  /// The variable of a tensor; nothing after a report. With `own`, of a register tile that no name
  /// means.
  std::optional<isa::VarId> tensor(const ast::Expr& expr, bool own = false,
                                   Wanted wanted = Wanted::tensor);
  /// A copy of a register tile, at no cost; other tensors are shared.
  isa::VarId copy_of(isa::VarId var, std::string name, Span span);

 private:
  /// What an instruction writes, decided before its rule runs: an `out=` or an existing variable.
  struct Target {
    std::optional<VariableScope::Binding> existing;
    bool is_out = false;
    Span span{};
  };
  /// An operand of an operator: a tile or a scalar.
  struct Operand : TileOrScalar {
    Operand(TileOrScalar value, const ast::Expr& of) : TileOrScalar(std::move(value)), tree(&of) {}
    const ast::Expr* tree;
  };

  bool bind_or_fail(const ast::Call& call, Span call_span, Span span,
                    const std::vector<ast::Identifier>& targets);
  bool finish(BoundCall bound, Span call_span, Span span,
              const std::vector<ast::Identifier>& targets);
  /// Nothing after a report.
  std::optional<Target> find_target(const BoundCall& bound,
                                    const std::vector<ast::Identifier>& targets);
  std::optional<std::vector<isa::Type>> infer(
      const BoundCall& bound, Span span, const std::optional<VariableScope::Binding>& existing);
  bool write_in_place(BoundCall& bound, const std::vector<isa::Type>& types, const Target& target,
                      Span span);
  /// A name that has a register tile or a scalar of the same type is written in place; any other
  /// name begins a new variable of the innermost block.
  void assign_results(BoundCall bound, const std::vector<isa::Type>& types,
                      const std::vector<ast::Identifier>& targets, Span span);
  void warn_shadowed(const ast::Identifier& target, const isa::Variable& outer,
                     const isa::Type& type);
  [[nodiscard]] std::optional<VariableScope::Binding> variable_named(const std::string& name) const;

  // Tensors of expressions.
  std::optional<isa::VarId> operand(const ast::Expr& expr, Wanted wanted) override {
    return tensor(expr, false, wanted);
  }
  std::optional<isa::VarId> not_a_tensor(const ast::Expr& expr);
  std::optional<isa::VarId> named_tensor(const std::string& name, Span span, Wanted wanted);
  std::optional<isa::VarId> called_tensor(const ast::Call& call, Span span);
  std::optional<isa::VarId> emit_nested(BoundCall bound, Span span, std::string name);
  [[nodiscard]] std::string text_of(Span span) const;
  [[nodiscard]] std::string text_of(const ast::Call& call, Span span) const;

  // Operators.
  std::optional<BoundCall> operator_call(const ast::Expr& expr);
  std::optional<BoundCall> binary(isa::BinaryOp op, const ast::Expr& left, const ast::Expr& right,
                                  Span op_span);
  std::optional<BoundCall> unary(const ast::Unary& node, Span span);
  std::optional<BoundCall> unary(isa::UnaryOp op, const ast::Expr& operand);
  std::optional<BoundCall> function(const ast::Call& call, Span span);
  std::optional<BoundCall> extreme(const ast::Call& call, Span span);
  std::optional<BoundCall> where(const ast::Conditional& node, Span span);
  std::optional<BoundCall> needs_name(const ast::Expr& expr);
  std::optional<TileOrScalar> tile_or_scalar(const ast::Expr& expr) override;
  std::optional<Operand> operand(const ast::Expr& expr);
  std::optional<isa::VarId> tile_of(const Operand& operand, isa::VarId like);
  std::optional<isa::VarId> splat(const isa::Expr& value, const ast::Expr& tree,
                                  isa::VarId like) override;
  bool check_constant(const isa::Scalar& value, const isa::DType& dtype, const ast::Expr& tree,
                      isa::VarId like);

  KernelBuilder& kernel_;
  VariableScope& variables_;
  const BindScope& scope_;
  Diagnostics& diagnostics_;
};

}  // namespace tilevm::frontend
