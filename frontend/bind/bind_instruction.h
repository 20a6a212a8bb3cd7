// Binding of statements that are instructions: `x = Name(..)`, `Name(.., out=x)`, and calls in
// calls.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"
#include "isa/numeric/target.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

/// A kernel whose statements are being bound. It cannot be copied: `scope` points to `variables`.
struct KernelBuilder {
  KernelBuilder(const Constants& constants, const isa::Target& of, Diagnostics& diagnostics)
      : target(of), scope{constants, &variables, diagnostics} {}
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  template <class Node>
  void emit(Node node, Span span) {
    block->push_back({std::move(node), span});
  }

  isa::Kernel kernel{};
  isa::Target target;
  VariableScope variables{kernel};
  BindScope scope;
  isa::Block* block = nullptr;  ///< the innermost, to which statements are added
  int excluded = 0;             ///< enclosing blocks that are no part of the kernel
};

class InstructionBinder {
 public:
  explicit InstructionBinder(KernelBuilder& kernel)
      : kernel_(kernel),
        variables_(kernel.variables),
        scope_(kernel.scope),
        diagnostics_(kernel.scope.diagnostics) {}

  /// Adds the instruction, and before it those of nested calls, and declares its results. After a
  /// report the targets are poisoned.
  void bind(const ast::Call& call, Span call_span, Span span,
            const std::vector<ast::Identifier>& targets);

 private:
  /// What an instruction writes, decided before its rule runs: an `out=` or an existing variable.
  struct Target {
    std::optional<VariableScope::Binding> existing;
    bool is_out = false;
    Span span{};
  };

  bool bind_or_fail(const ast::Call& call, Span call_span, Span span,
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
  /// A call as an operand: its result gets a name of its own.
  NestedCall nested_call();

  KernelBuilder& kernel_;
  VariableScope& variables_;
  const BindScope& scope_;
  Diagnostics& diagnostics_;
  int nested_count_ = 0;
};

}  // namespace tilevm::frontend
