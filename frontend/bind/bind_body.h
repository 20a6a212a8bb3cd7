// Binding of statements: of a kernel, and of a function that is inlined into it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/bind/bind_instruction.h"
#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

class BodyBinder final : public Emitter {
 public:
  /// `exclusions`: how many blocks around it are not part of the kernel.
  BodyBinder(KernelBuilder& builder, const Constants& constants, const Functions& functions,
             Diagnostics& diagnostics, int exclusions = 0);

  [[nodiscard]] VariableScope& variables() { return variables_; }
  [[nodiscard]] const BindScope& scope() const { return scope_; }

  /// Adds the statements to the builder's block.
  void bind(const ast::Block& tree);

  std::optional<isa::VarId> tensor(const ast::Expr& expr) override;
  std::optional<ValueList> call(const ast::Function& function, const ast::Call& call,
                                Span span) override;
  bool spend(Cost cost, Span span) override {
    return builder_.inlining.spend(cost, span, diagnostics_);
  }
  [[nodiscard]] std::string text(Span span) const override;

  /// A parameter or loop variable must not hide another name; of a function, it may hide a
  /// constant, which the file that has the function need not know.
  bool check_new_name(const ast::Identifier& name);

 private:
  // Functions (bind_function.cc).
  using Arguments = std::vector<const ast::Argument*>;
  bool check_call(const ast::Function& function, Span span);
  std::optional<Arguments> order_arguments(const ast::Function& function, const ast::Call& call,
                                           Span span);
  bool take_parameter(const ast::FunctionParam& param, Value value, Span span);
  bool take_parameters(const ast::Function& function, std::vector<std::optional<Value>> values,
                       const Arguments& arguments, std::uint32_t shift, Span span);
  bool check_results(const ast::Function& function, Span span);
  Value owned(Value value, std::int32_t first_own, std::vector<isa::VarId>& taken, Span span);

  // Statements.
  void add_statements(const ast::Block& tree);
  isa::Block nested_block(const ast::Block& tree, bool excluded = false);
  void bind_stmt(const ast::Assign& stmt, Span span);
  void bind_stmt(const ast::ExprStmt& stmt, Span span);
  void bind_stmt(const ast::For& stmt, Span span);
  void bind_stmt(const ast::While& stmt, Span span);
  void bind_stmt(const ast::With& stmt, Span span);
  void bind_stmt(const ast::If& stmt, Span span);
  void bind_stmt(const ast::Break&, Span span);
  void bind_stmt(const ast::Continue&, Span span);
  void bind_stmt(const ast::Pass&, Span) {}
  void bind_stmt(const ast::Return& stmt, Span span);
  void expand(const ast::For& stmt, Span span);
  bool check_loop(std::string_view word, Span span);
  std::optional<isa::Expr> bind_condition(const ast::Expr& tree);

  // Assignments (bind_assign.cc).
  void assign_call(const ast::Function& function, const ast::Call& call, const ast::Assign& stmt,
                   Span span);
  void assign_element(const ast::Assign& stmt, Span span);
  void assign_list(const ast::Assign& stmt, Span span);
  void assign_value(Value value, const ast::Identifier& target, Span span, Span value_span);
  void assign_constant(Value value, const ast::Identifier& target);
  void assign_scalar(const ast::Assign& stmt, Span span);
  void assign_scalar(const isa::Expr& value, const ast::Identifier& target, Span span,
                     Span value_span);
  void remember(const std::string& name, const isa::Expr& value);
  void poison_if_new(const std::string& name);

  KernelBuilder& builder_;
  Diagnostics& diagnostics_;
  VariableScope variables_;
  BindScope scope_;
  InstructionBinder instructions_{builder_, variables_, scope_};
  std::map<std::string, int> assignments_;  ///< number of assignments to each name of the body
  std::vector<bool> loops_;                 ///< whether each loop around the statement is expanded
  int depth_ = 0;              ///< number of runtime loops and branches around the statement
  int exclusions_before_ = 0;  ///< number of exclusions that held where the body began
  bool is_function_ = false;
  std::optional<ValueList> returned_;
  std::vector<Span> returned_spans_;
};

/// Where functions are called without a kernel: in constants and pipelines. What they give must be
/// constant; statements that they add are dropped.
class ConstantBody {
 public:
  ConstantBody(const Constants& constants, const Functions& functions, const isa::Target& target,
               Inlining& inlining, Diagnostics& diagnostics)
      : builder_(target, inlining), body_(builder_, constants, functions, diagnostics) {
    builder_.block = &block_;
  }
  [[nodiscard]] const BindScope& scope() const { return body_.scope(); }
  [[nodiscard]] VariableScope& variables() { return body_.variables(); }

 private:
  isa::Block block_;
  KernelBuilder builder_;
  BodyBinder body_;
};

}  // namespace tilevm::frontend
