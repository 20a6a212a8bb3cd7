#include "frontend/bind/bind_kernel.h"
#include "frontend/bind/bind_layout.h"
#include "frontend/bind/bind_scalar.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "frontend/bind/bind_decorator.h"
#include "frontend/bind/bind_instruction.h"
#include "frontend/bind/bind_range.h"

namespace tilevm::frontend {
namespace {

class KernelBinder {
 public:
  KernelBinder(const Constants& constants, const isa::Target& target, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), builder_(constants, target, diagnostics) {}

  isa::Kernel bind(const ast::Kernel& tree) {
    kernel_.name = tree.name.text;
    kernel_.span = tree.name.span;
    for (const ast::Decorator& decorator : tree.decorators) {
      bind_decorator(decorator, scope_, kernel_);
    }
    for (const ast::Param& param : tree.params) bind_param(param);
    for (const ast::Expr& extent : tree.grid) {
      // A faulty extent still counts, so that BlockIndices gives as many indices as were meant.
      kernel_.grid.push_back(bind_scalar(extent, scope_).value_or(isa::Expr::constant(1)));
    }
    kernel_.body = bind_statements(tree.body);
    return std::move(kernel_);
  }

 private:
  /// `f16* a` is a pointer, `i32 n` a scalar.
  void bind_param(const ast::Param& param) {
    const std::string& name = param.name.text;
    if (!check_new_name(param.name)) return;
    if (param.is_pointer) {
      const auto type = bind_dtype(param.type, scope_);
      if (!type) return variables_.poison(name);
      kernel_.parameters.push_back(
          variables_.declare(name, isa::PointerType{*type}, param.name.span));
      return;
    }
    const auto* type_name = std::get_if<ast::Name>(&param.type.node);
    const auto kind = type_name != nullptr ? isa::parse_scalar_kind(type_name->text) : std::nullopt;
    if (!kind) {
      add_note(diagnostics_.error(Code::unknown_type, param.type.span,
                                  "a scalar parameter is i32, i64, u32, u64, f32 or bool"),
               fmt::format("a pointer has a star: `{}* {}`",
                           type_name != nullptr ? type_name->text : "f16", name));
      return variables_.poison(name);
    }
    kernel_.parameters.push_back(variables_.declare(name, isa::ScalarType{*kind}, param.name.span));
  }

  /// A parameter or loop variable must not hide a constant or another parameter.
  bool check_new_name(const ast::Identifier& name) {
    const auto constant = scope_.constants.find(name.text);
    if (constant != scope_.constants.end()) {
      add_note(
          diagnostics_.error(Code::duplicate_name, name.span,
                             fmt::format("`{}` is a constant; choose another name", name.text)),
          "the constant is here", constant->second.span);
      return false;
    }
    const auto binding = variables_.find(name.text);
    if (!binding || binding->poisoned() || binding->depth != variables_.depth()) return true;
    add_note(diagnostics_.error(Code::duplicate_name, name.span,
                                fmt::format("`{}` exists already", name.text)),
             "it was declared here", variables_.variable(binding->var).span);
    return false;
  }

  isa::Block bind_statements(const ast::Block& tree) {
    isa::Block* const outer = builder_.block;
    isa::Block block;
    builder_.block = &block;
    for (const ast::Stmt& stmt : tree) {
      std::visit([&](const auto& node) { bind_stmt(node, stmt.span); }, stmt.node);
    }
    builder_.block = outer;
    return block;
  }

  /// Errors of an excluded block are reported, warnings are not.
  isa::Block bind_nested_block(const ast::Block& tree, bool excluded = false) {
    builder_.excluded += excluded ? 1 : 0;
    variables_.enter();
    isa::Block block = bind_statements(tree);
    variables_.leave();
    builder_.excluded -= excluded ? 1 : 0;
    return block;
  }

  void bind_stmt(const ast::Assign& stmt, Span span) {
    for (const ast::Identifier& target : stmt.targets) {
      const auto constant = scope_.constants.find(target.text);
      if (constant == scope_.constants.end()) continue;
      add_note(
          diagnostics_.error(Code::duplicate_name, target.span,
                             fmt::format("`{}` is a constant and cannot be assigned", target.text)),
          "the constant is here", constant->second.span);
      return;
    }
    const auto* call = std::get_if<ast::Call>(&stmt.value.node);
    if (call != nullptr && !isa::parse_scalar_kind(call->callee.text)) {
      instructions_.bind(*call, stmt.value.span, span, stmt.targets);
    } else {
      assign_scalar(stmt, span);
    }
  }

  void bind_stmt(const ast::ExprStmt& stmt, Span span) {
    const auto* call = std::get_if<ast::Call>(&stmt.value.node);
    if (call == nullptr) {
      diagnostics_.error(Code::syntax_error, span, "an instruction is expected here");
      return;
    }
    instructions_.bind(*call, stmt.value.span, span, {});
  }

  /// A constant range without values excludes its body, as a false constant condition does.
  void bind_stmt(const ast::For& stmt, Span span) {
    if (stmt.variables.size() != 1) {
      diagnostics_.error(Code::result_count, stmt.variables[1].span, "a loop has one variable");
      return;
    }
    auto range = bind_range(stmt.range, scope_);
    variables_.enter();
    isa::ForStmt loop;
    const ast::Identifier& name = stmt.variables[0];
    if (!check_new_name(name) || !range) {
      variables_.poison(name.text);
    } else {
      loop.var = variables_.declare(name.text, isa::ScalarType{range->begin.kind()}, name.span);
    }
    loop.body = bind_nested_block(stmt.body, range && range->is_empty());
    variables_.leave();
    if (!loop.var.valid() || range->is_empty()) return;
    loop.begin = std::move(range->begin);
    loop.end = std::move(range->end);
    loop.step = std::move(range->step);
    loop.unroll = range->unroll;
    builder_.emit(std::move(loop), span);
  }

  std::optional<isa::Expr> bind_condition(const ast::Expr& tree) {
    auto bound = bind_scalar(tree, scope_);
    if (!bound) return std::nullopt;
    return isa::Expr::convert(std::move(*bound), isa::ScalarKind::boolean, tree.span);
  }

  void bind_stmt(const ast::While& stmt, Span span) {
    auto condition = bind_condition(stmt.condition);
    isa::Block body = bind_nested_block(stmt.body);
    if (condition) builder_.emit(isa::WhileStmt{std::move(*condition), std::move(body)}, span);
  }

  /// Constant conditions are decided here. What they exclude is checked, and is no part of the
  /// kernel; what they leave replaces the branch.
  void bind_stmt(const ast::If& stmt, Span span) {
    isa::IfStmt branch;
    bool ok = true, decided = false;
    for (const ast::IfArm& arm : stmt.arms) {
      auto condition = bind_condition(arm.condition);
      const auto value = condition ? condition->constant_value() : std::nullopt;
      const bool never = value && !value->as_bool();
      isa::Block body = bind_nested_block(arm.body, decided || never);
      ok = ok && condition.has_value();
      if (!condition || decided) continue;
      decided = value && !never;
      if (decided) {
        branch.otherwise = std::move(body);
      } else if (!value) {
        branch.arms.push_back({std::move(*condition), std::move(body)});
      }
    }
    if (stmt.else_body) {
      isa::Block body = bind_nested_block(*stmt.else_body, decided);
      if (!decided) branch.otherwise = std::move(body);
    }
    if (!ok) return;
    if (!branch.arms.empty()) return builder_.emit(std::move(branch), span);
    std::move(branch.otherwise.begin(), branch.otherwise.end(),
              std::back_inserter(*builder_.block));
  }

  void bind_stmt(const ast::Break&, Span span) { builder_.emit(isa::BreakStmt{}, span); }
  void bind_stmt(const ast::Continue&, Span span) { builder_.emit(isa::ContinueStmt{}, span); }
  void bind_stmt(const ast::Pass&, Span) {}

  // --- scalars

  void assign_scalar(const ast::Assign& stmt, Span span) {
    const ast::Identifier& target = stmt.targets[0];
    if (stmt.targets.size() != 1) {
      diagnostics_.error(Code::result_count, span,
                         fmt::format("one value for {} names", stmt.targets.size()));
      for (const ast::Identifier& name : stmt.targets) poison_if_new(name.text);
      return;
    }
    if (is_tensor_name(stmt.value)) {
      diagnostics_.error(Code::wrong_operand_kind, stmt.value.span,
                         fmt::format("tensors are not assigned; for a second name of a tile write "
                                     "`{} = View(..)`",
                                     target.text));
      return poison_if_new(target.text);
    }
    auto value = bind_scalar(stmt.value, scope_);
    if (!value) return poison_if_new(target.text);
    const auto binding = variables_.find(target.text);
    if (!binding || binding->poisoned()) {
      const auto var = variables_.declare(target.text, isa::ScalarType{value->kind()}, target.span);
      return builder_.emit(isa::ScalarStmt{var, std::move(*value), true}, span);
    }
    const isa::Variable& variable = variables_.variable(binding->var);
    const auto* type = std::get_if<isa::ScalarType>(&variable.type);
    if (type == nullptr) {
      add_note(diagnostics_.error(Code::wrong_operand_kind, target.span,
                                  fmt::format("`{}` is {}; it cannot take a scalar", target.text,
                                              isa::kind_name(variable.type))),
               "it was declared here", variable.span);
      return;
    }
    if (!fits(*value, type->kind)) {
      add_note(diagnostics_.error(
                   Code::scalar_type, stmt.value.span,
                   fmt::format("`{}` is {}, the value is {}; convert it with `{}(..)`", target.text,
                               isa::to_string(type->kind), isa::to_string(value->kind()),
                               isa::to_string(type->kind))),
               "it was declared here", variable.span);
      return;
    }
    builder_.emit(
        isa::ScalarStmt{binding->var, isa::Expr::convert(*value, type->kind, value->span()), false},
        span);
  }

  /// A value of the same kind fits, and so does a constant integer that the kind can hold.
  static bool fits(const isa::Expr& value, isa::ScalarKind kind) {
    if (value.kind() == kind) return true;
    const auto integer = value.constant_int();
    if (!integer || kind == isa::ScalarKind::boolean) return false;
    const isa::Scalar converted = isa::convert(*value.constant_value(), kind);
    if (kind == isa::ScalarKind::f32) {
      return static_cast<double>(converted.as_float()) == static_cast<double>(*integer);
    }
    return converted.as_int() == *integer && (*integer >= 0 || isa::is_signed(kind));
  }

  bool is_tensor_name(const ast::Expr& expr) const {
    const auto* name = std::get_if<ast::Name>(&expr.node);
    if (name == nullptr) return false;
    const auto binding = variables_.find(name->text);
    return binding && !binding->poisoned() &&
           !std::holds_alternative<isa::ScalarType>(variables_.variable(binding->var).type);
  }

  void poison_if_new(const std::string& name) {
    if (!variables_.find(name)) variables_.poison(name);
  }

  Diagnostics& diagnostics_;
  KernelBuilder builder_;
  isa::Kernel& kernel_ = builder_.kernel;
  VariableScope& variables_ = builder_.variables;
  const BindScope& scope_ = builder_.scope;
  InstructionBinder instructions_{builder_};
};

}  // namespace

isa::Kernel bind_kernel(const ast::Kernel& tree, const Constants& constants,
                        const isa::Target& target, Diagnostics& diagnostics) {
  return KernelBinder(constants, target, diagnostics).bind(tree);
}

}  // namespace tilevm::frontend
