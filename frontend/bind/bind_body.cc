#include "frontend/bind/bind_body.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "frontend/bind/assignments.h"
#include "frontend/bind/bind_range.h"
#include "frontend/bind/expressions.h"
#include "frontend/bind/inlining.h"

namespace tilevm::frontend {
namespace {

/// A value; a scalar that an instruction gives is an expression, as scalars with a name are.
Value scalar_by_value(Value value, Span span, const VariableScope& variables) {
  const auto* const var = std::get_if<isa::VarId>(&value.node);
  if (var == nullptr) return value;
  const auto& variable = variables.variable(*var);
  const auto* const scalar = std::get_if<isa::ScalarType>(&variable.type);
  if (scalar == nullptr) return value;
  return {isa::Expr::variable(*var, variable.name, scalar->kind, span)};
}

}  // namespace

BodyBinder::BodyBinder(KernelBuilder& builder, const Constants& constants,
                       const Functions& functions, Diagnostics& diagnostics, int exclusions)
    : builder_(builder),
      diagnostics_(diagnostics),
      variables_(builder.kernel),
      scope_{constants, &variables_, diagnostics, &functions, this} {
  variables_.exclusions = exclusions_before_ = exclusions;
}

void BodyBinder::bind(const ast::Block& tree) {
  assignments_ = count_assignments(tree);
  add_statements(tree);
}

std::optional<isa::VarId> BodyBinder::tensor(const ast::Expr& expr) {
  return instructions_.tensor(expr);
}

std::string BodyBinder::text(Span span) const {
  constexpr std::size_t longest = 40;
  std::string text;
  for (const char c : builder_.inlining.source.text(span)) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) text += c;
    if (space && !text.empty() && text.back() != ' ') text += ' ';
    if (text.size() > longest) return "..";
  }
  return text;
}

bool BodyBinder::check_new_name(const ast::Identifier& name) {
  const auto constant = scope_.constants.find(name.text);
  if (constant != scope_.constants.end() && !is_function_) {
    add_note(diagnostics_.error(Code::duplicate_name, name.span,
                                fmt::format("`{}` is a constant; choose another name", name.text)),
             "the constant is here", constant->second.span);
    return false;
  }
  const auto binding = variables_.find(name.text);
  if (!binding || binding->poisoned() || binding->depth != variables_.depth()) return true;
  add_note(diagnostics_.error(Code::duplicate_name, name.span,
                              fmt::format("`{}` exists already", name.text)),
           "it was declared here", binding->span);
  return false;
}

/// What follows a `return` that is taken is not part of the kernel.
void BodyBinder::add_statements(const ast::Block& tree) {
  for (const ast::Stmt& stmt : tree) {
    if (returned_ || builder_.is_too_long(stmt.span, diagnostics_)) return;
    if (!spend({1, 0}, stmt.span)) return;
    std::visit([&](const auto& node) { bind_stmt(node, stmt.span); }, stmt.node);
  }
}

/// Errors of an excluded block are reported, warnings are not.
isa::Block BodyBinder::nested_block(const ast::Block& tree, bool excluded) {
  isa::Block block;
  isa::Block* const outer = std::exchange(builder_.block, &block);
  variables_.exclusions += excluded ? 1 : 0;
  ++depth_;
  variables_.enter();
  add_statements(tree);
  if (excluded) {
    variables_.leave_excluded();
  } else {
    variables_.leave();
  }
  --depth_;
  variables_.exclusions -= excluded ? 1 : 0;
  builder_.block = outer;
  return block;
}

void BodyBinder::bind_stmt(const ast::ExprStmt& stmt, Span span) {
  const auto* call = std::get_if<ast::Call>(&stmt.value.node);
  if (call == nullptr) {
    const std::size_t errors = diagnostics_.error_count();
    (void)bind_layout(stmt.value, scope_);  // knows `tl.store(..)`
    if (diagnostics_.error_count() == errors) {
      diagnostics_.error(Code::syntax_error, span, "an instruction is expected here");
    }
    return;
  }
  const ast::Function* const function = scope_.function(call->callee.text);
  if (function == nullptr) return instructions_.bind(*call, stmt.value.span, span, {});
  const auto results = this->call(*function, *call, stmt.value.span);
  if (!results || results->empty()) return;
  diagnostics_.error(Code::unused_result, stmt.value.span,
                     fmt::format("the result of `{}` is not used; assign it", call->callee.text));
}

/// A constant range without values excludes its body, as a false constant condition does.
void BodyBinder::bind_stmt(const ast::For& stmt, Span span) {
  if (stmt.variables.size() != 1) {
    diagnostics_.error(Code::result_count, stmt.variables[1].span, "a loop has one variable");
    return;
  }
  if (stmt.list) return expand(stmt, span);
  auto range = bind_range(stmt.range, scope_);
  variables_.enter();
  isa::ForStmt loop;
  const ast::Identifier& name = stmt.variables[0];
  if (!check_new_name(name) || !range) {
    variables_.poison(name.text);
  } else {
    loop.var = variables_.declare(name.text, isa::ScalarType{range->begin.kind()}, name.span);
  }
  loops_.push_back(false);
  loop.body = nested_block(stmt.body, range && range->is_empty());
  loops_.pop_back();
  variables_.leave();
  if (!loop.var.valid() || range->is_empty()) return;
  loop.begin = std::move(range->begin);
  loop.end = std::move(range->end);
  loop.step = std::move(range->step);
  loop.unroll = range->unroll;
  builder_.emit(std::move(loop), span);
}

/// `for x in [a, b]:` is its body for each element.
void BodyBinder::expand(const ast::For& stmt, Span span) {
  const bool is_list = classify(*stmt.list, scope_) == ValueKind::list;
  if (!is_list && classify(*stmt.list, scope_) != ValueKind::unknown) {
    diagnostics_.error(Code::wrong_operand_kind, stmt.list->span,
                       "a loop goes through `range(..)` or a list");
    return;
  }
  const auto values = bind_list(*stmt.list, scope_);
  const ast::Identifier& name = stmt.variables[0];
  if (!values) return;
  const bool assigned = count_assignments(stmt.body).contains(name.text);
  loops_.push_back(true);
  for (const Value& value : *values) {
    if (returned_ || builder_.is_too_long(span, diagnostics_)) break;
    if (!spend(cost_of(value), span)) break;
    variables_.enter(true);
    const std::size_t errors = diagnostics_.error_count();
    if (!check_new_name(name)) {
      variables_.leave();
      break;
    }
    if (assigned) {
      diagnostics_.error(
          Code::duplicate_name, name.span,
          fmt::format("`{}` goes through a list; its body gives it no other value", name.text));
      variables_.poison(name.text);
    } else {
      variables_.bind(name.text, value, name.span);
    }
    add_statements(stmt.body);
    variables_.leave();
    if (diagnostics_.error_count() > errors) break;  // the other elements would say the same
  }
  loops_.pop_back();
}

std::optional<isa::Expr> BodyBinder::bind_condition(const ast::Expr& tree) {
  if (classify(tree, scope_) == ValueKind::tensor) {
    add_note(diagnostics_.error(
                 Code::wrong_operand_kind, tree.span,
                 "this gives a tile, and a branch is taken by the whole block: its condition is a "
                 "scalar"),
             "elements are chosen by `a if mask else b`, or `Where(mask, a, b)`");
    return std::nullopt;
  }
  auto bound = bind_scalar(tree, scope_);
  if (!bound) return std::nullopt;
  return isa::Expr::convert(std::move(*bound), isa::ScalarKind::boolean, tree.span);
}

void BodyBinder::bind_stmt(const ast::While& stmt, Span span) {
  const std::size_t before = builder_.block->size();
  auto condition = bind_condition(stmt.condition);
  if (condition && builder_.block->size() != before) {
    diagnostics_.error(Code::misplaced, stmt.condition.span,
                       "the condition of a `while` calls nothing that adds statements: they would "
                       "run once, before the loop");
    condition.reset();
  }
  loops_.push_back(false);
  isa::Block body = nested_block(stmt.body);
  loops_.pop_back();
  if (condition) builder_.emit(isa::WhileStmt{std::move(*condition), std::move(body)}, span);
}

/// Constant conditions are decided here. What they exclude is checked, and is not part of the
/// kernel; what they leave replaces the branch, in the block around it. What they exclude of a
/// function is not looked at: for these arguments it need not make sense.
void BodyBinder::bind_stmt(const ast::If& stmt, Span span) {
  isa::IfStmt branch;
  bool ok = true, decided = false;
  const ast::Block* taken = nullptr;
  for (const ast::IfArm& arm : stmt.arms) {
    auto condition = bind_condition(arm.condition);
    const auto value = condition ? condition->constant_value() : std::nullopt;
    const bool never = value && !value->as_bool();
    ok = ok && condition.has_value();
    const bool takes = condition && !decided && value && !never;
    if (takes && branch.arms.empty()) {
      taken = &arm.body;
      decided = true;
      continue;
    }
    if (is_function_ && (decided || never)) continue;
    isa::Block body = nested_block(arm.body, decided || never);
    if (!condition || decided) continue;
    decided = takes;
    if (decided) {
      branch.otherwise = std::move(body);
    } else if (!value) {
      branch.arms.push_back({std::move(*condition), std::move(body)});
    }
  }
  if (stmt.else_body && !decided && ok && branch.arms.empty()) {
    taken = &*stmt.else_body;
  } else if (stmt.else_body && !(is_function_ && decided)) {
    isa::Block body = nested_block(*stmt.else_body, decided);
    if (!decided) branch.otherwise = std::move(body);
  }
  if (!ok) return;
  if (!branch.arms.empty()) return builder_.emit(std::move(branch), span);
  if (taken != nullptr) add_statements(*taken);
}

bool BodyBinder::check_loop(std::string_view word, Span span) {
  if (loops_.empty() || !loops_.back()) return true;
  diagnostics_.error(Code::misplaced, span,
                     fmt::format("a loop over a list is expanded, so it has no `{}`", word));
  return false;
}

void BodyBinder::bind_stmt(const ast::Break&, Span span) {
  if (check_loop("break", span)) builder_.emit(isa::BreakStmt{}, span);
}

void BodyBinder::bind_stmt(const ast::Continue&, Span span) {
  if (check_loop("continue", span)) builder_.emit(isa::ContinueStmt{}, span);
}

void BodyBinder::bind_stmt(const ast::Return& stmt, Span span) {
  if (!is_function_) {
    add_note(diagnostics_.error(Code::misplaced, span,
                                "a kernel returns nothing; its results are what it stores"),
             "`Exit()` ends a block; what returns values is a function, a `def` without a grid");
    return;
  }
  if (depth_ > 0 && variables_.exclusions == exclusions_before_) {
    add_note(diagnostics_.error(Code::misplaced, span,
                                "a function returns at its end, not inside of a loop or a branch"),
             "only branches of constant conditions may return; let the others assign a name");
    return;
  }
  ValueList values;
  bool ok = true;
  for (const ast::Expr& tree : stmt.values) {
    auto value = bind_value(tree, scope_);
    ok = ok && value.has_value();
    if (value) values.push_back(scalar_by_value(*std::move(value), tree.span, variables_));
  }
  if (!ok || depth_ > 0) return;
  for (const ast::Expr& tree : stmt.values) returned_spans_.push_back(tree.span);
  returned_ = std::move(values);
}

}  // namespace tilevm::frontend
