#include "frontend/bind_kernel.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "frontend/bind_call.h"
#include "frontend/bind_range.h"
#include "isa/base/suggest.h"
#include "isa/rules.h"

namespace tilevm::frontend {
namespace {

struct DecoratorRule {
  std::string_view name, takes;
  /// Takes the number, if it is known; false if it cannot be.
  bool (*set)(isa::Kernel& kernel, std::optional<std::int64_t> number);
};

constexpr DecoratorRule decorators[] = {
    {"threads", "one number of threads",
     [](isa::Kernel& kernel, std::optional<std::int64_t> number) {
       kernel.threads = number;
       return true;
     }},
    {"resident", "one number of blocks",
     [](isa::Kernel& kernel, std::optional<std::int64_t> number) {
       kernel.resident = number.value_or(1);
       return true;
     }},
    {"drift", "0 or 1",
     [](isa::Kernel& kernel, std::optional<std::int64_t> number) {
       kernel.drift = number == 1;
       return number.value_or(0) == 0 || number == 1;
     }},
};

/// "`@threads(n)`, `@resident(n)` and `@drift(n)`".
std::string list_decorators() {
  std::string text;
  for (const DecoratorRule& rule : decorators) {
    const bool last = &rule == std::end(decorators) - 1;
    text += fmt::format("{}`@{}(n)`", text.empty() ? "" : last ? " and " : ", ", rule.name);
  }
  return text;
}

class KernelBinder {
 public:
  KernelBinder(const Constants& constants, const isa::Target& target, Diagnostics& diagnostics)
      : target_(target),
        diagnostics_(diagnostics),
        scope_(kernel_),
        names_{constants, &scope_, diagnostics} {}

  isa::Kernel bind(const ast::Kernel& tree) {
    kernel_.name = tree.name.text;
    kernel_.span = tree.name.span;
    for (const ast::Decorator& decorator : tree.decorators) bind_decorator(decorator);
    for (const ast::Param& param : tree.params) bind_param(param);
    for (const ast::Expr& extent : tree.grid) {
      // A faulty extent still counts, so that BlockIndices gives as many indices as were meant.
      kernel_.grid.push_back(bind_scalar(extent, names_).value_or(isa::Expr::constant(1)));
    }
    kernel_.body = bind_statements(tree.body);
    return std::move(kernel_);
  }

 private:
  void bind_decorator(const ast::Decorator& decorator) {
    const std::string& name = decorator.name.text;
    const auto* rule = std::ranges::find(decorators, name, &DecoratorRule::name);
    if (rule == std::end(decorators)) {
      diagnostics_.error(
          Code::unknown_decorator, decorator.name.span,
          fmt::format("unknown decorator `@{}`; there are {}", name, list_decorators()));
      return;
    }
    const bool one = decorator.args.size() == 1 && !decorator.args[0].name;
    if (!one || !rule->set(kernel_, bind_integer(decorator.args[0].value, names_))) {
      diagnostics_.error(Code::missing_operand, decorator.span,
                         fmt::format("`@{}(n)` takes {}", name, rule->takes));
    }
  }

  /// `f16* a` is a pointer, `i32 n` a scalar.
  void bind_param(const ast::Param& param) {
    const std::string& name = param.name.text;
    if (!check_new_name(param.name)) return;
    if (param.is_pointer) {
      const auto type = bind_dtype(param.type, names_);
      if (!type) return scope_.poison(name);
      kernel_.parameters.push_back(scope_.declare(name, isa::PointerType{*type}, param.name.span));
      return;
    }
    const auto* type_name = std::get_if<ast::Name>(&param.type.node);
    const auto kind = type_name != nullptr ? isa::parse_scalar_kind(type_name->text) : std::nullopt;
    if (!kind) {
      add_note(diagnostics_.error(Code::unknown_type, param.type.span,
                                  "a scalar parameter is i32, i64, u32, u64, f32 or bool"),
               fmt::format("a pointer has a star: `{}* {}`",
                           type_name != nullptr ? type_name->text : "f16", name));
      return scope_.poison(name);
    }
    kernel_.parameters.push_back(scope_.declare(name, isa::ScalarType{*kind}, param.name.span));
  }

  /// A parameter or loop variable must not hide a constant or another parameter.
  bool check_new_name(const ast::Identifier& name) {
    const auto constant = names_.constants.find(name.text);
    if (constant != names_.constants.end()) {
      add_note(
          diagnostics_.error(Code::duplicate_name, name.span,
                             fmt::format("`{}` is a constant; choose another name", name.text)),
          "the constant is here", constant->second.span);
      return false;
    }
    const auto binding = scope_.find(name.text);
    if (!binding || binding->poisoned() || binding->depth != scope_.depth()) return true;
    add_note(diagnostics_.error(Code::duplicate_name, name.span,
                                fmt::format("`{}` exists already", name.text)),
             "it was declared here", scope_.variable(binding->var).span);
    return false;
  }

  isa::Block bind_statements(const ast::Block& tree) {
    isa::Block* const outer = block_;
    isa::Block block;
    block_ = &block;
    for (const ast::Stmt& stmt : tree) {
      std::visit([&](const auto& node) { bind_stmt(node, stmt.span); }, stmt.node);
    }
    block_ = outer;
    return block;
  }

  /// Errors of an excluded block are reported, warnings are not.
  isa::Block bind_nested_block(const ast::Block& tree, bool excluded = false) {
    excluded_ += excluded ? 1 : 0;
    scope_.enter();
    isa::Block block = bind_statements(tree);
    scope_.leave();
    excluded_ -= excluded ? 1 : 0;
    return block;
  }

  template <class Node>
  void emit(Node node, Span span) {
    block_->push_back({std::move(node), span});
  }

  void bind_stmt(const ast::Assign& stmt, Span span) {
    for (const ast::Identifier& target : stmt.targets) {
      const auto constant = names_.constants.find(target.text);
      if (constant == names_.constants.end()) continue;
      add_note(
          diagnostics_.error(Code::duplicate_name, target.span,
                             fmt::format("`{}` is a constant and cannot be assigned", target.text)),
          "the constant is here", constant->second.span);
      return;
    }
    const auto* call = std::get_if<ast::Call>(&stmt.value.node);
    if (call != nullptr && !isa::parse_scalar_kind(call->callee.text)) {
      bind_instruction(*call, stmt.value.span, span, stmt.targets);
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
    bind_instruction(*call, stmt.value.span, span, {});
  }

  /// A constant range without values excludes its body as a constant condition does.
  void bind_stmt(const ast::For& stmt, Span span) {
    if (stmt.variables.size() != 1) {
      diagnostics_.error(Code::result_count, stmt.variables[1].span, "a loop has one variable");
      return;
    }
    auto range = bind_range(stmt.range, names_);
    scope_.enter();
    isa::ForStmt loop;
    const ast::Identifier& name = stmt.variables[0];
    if (!check_new_name(name) || !range) {
      scope_.poison(name.text);
    } else {
      loop.var = scope_.declare(name.text, isa::ScalarType{range->begin.kind()}, name.span);
    }
    loop.body = bind_nested_block(stmt.body, range && range->is_empty());
    scope_.leave();
    if (!loop.var.valid() || range->is_empty()) return;
    loop.begin = std::move(range->begin);
    loop.end = std::move(range->end);
    loop.step = std::move(range->step);
    loop.unroll = range->unroll;
    emit(std::move(loop), span);
  }

  std::optional<isa::Expr> bind_condition(const ast::Expr& tree) {
    auto bound = bind_scalar(tree, names_);
    if (!bound) return std::nullopt;
    return isa::Expr::convert(std::move(*bound), isa::ScalarKind::boolean, tree.span);
  }

  void bind_stmt(const ast::While& stmt, Span span) {
    auto condition = bind_condition(stmt.condition);
    isa::Block body = bind_nested_block(stmt.body);
    if (condition) emit(isa::WhileStmt{std::move(*condition), std::move(body)}, span);
  }

  /// Constant conditions are decided here. What they exclude is checked, and is no part of the
  /// kernel; what they leave stands in place of the branch.
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
    if (!branch.arms.empty()) return emit(std::move(branch), span);
    std::move(branch.otherwise.begin(), branch.otherwise.end(), std::back_inserter(*block_));
  }

  void bind_stmt(const ast::Break&, Span span) { emit(isa::BreakStmt{}, span); }
  void bind_stmt(const ast::Continue&, Span span) { emit(isa::ContinueStmt{}, span); }
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
    auto value = bind_scalar(stmt.value, names_);
    if (!value) return poison_if_new(target.text);
    const auto binding = scope_.find(target.text);
    if (!binding || binding->poisoned()) {
      const auto var = scope_.declare(target.text, isa::ScalarType{value->kind()}, target.span);
      return emit(isa::ScalarStmt{var, std::move(*value), true}, span);
    }
    const isa::Variable& variable = scope_.variable(binding->var);
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
    emit(
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
    return converted.as_int() == *integer &&
           (*integer >= 0 || kind == isa::ScalarKind::i32 || kind == isa::ScalarKind::i64);
  }

  bool is_tensor_name(const ast::Expr& expr) const {
    const auto* name = std::get_if<ast::Name>(&expr.node);
    if (name == nullptr) return false;
    const auto binding = scope_.find(name->text);
    return binding && !binding->poisoned() &&
           !std::holds_alternative<isa::ScalarType>(scope_.variable(binding->var).type);
  }

  void poison_if_new(const std::string& name) {
    if (!scope_.find(name)) scope_.poison(name);
  }

  // --- instructions

  /// What an instruction writes, decided before its rule runs: an `out=` or an existing variable.
  struct Target {
    std::optional<VariableScope::Binding> existing;
    bool is_out = false;
    Span span{};
  };

  void bind_instruction(const ast::Call& call, Span call_span, Span span,
                        const std::vector<ast::Identifier>& targets) {
    if (!bind_instruction_or_fail(call, call_span, span, targets)) {
      for (const ast::Identifier& target : targets) scope_.poison(target.text);
    }
  }

  bool bind_instruction_or_fail(const ast::Call& call, Span call_span, Span span,
                                const std::vector<ast::Identifier>& targets) {
    auto bound = bind_call(call, call_span, names_, nested_call());
    if (!bound) return false;
    const isa::Description& description = isa::description(bound->inst);
    const std::string_view mnemonic = description.mnemonic;
    if (description.result == isa::ResultKind::none && !targets.empty()) {
      diagnostics_.error(Code::no_result, call_span,
                         fmt::format("`{}` gives no result to assign", mnemonic));
      return false;
    }
    const auto target = find_target(*bound, targets);
    if (!target) return false;
    const auto types = infer(*bound, call_span, target->existing);
    if (!types) return false;
    if (target->is_out) return write_in_place(*bound, *types, *target, span);
    if (description.result != isa::ResultKind::none && targets.empty()) {
      diagnostics_.error(Code::unused_result, call_span,
                         fmt::format("the result of `{}` is not used; assign it{}", mnemonic,
                                     description.result == isa::ResultKind::register_tile
                                         ? ", or write it into a tile with `out=`"
                                         : ""));
      return false;
    }
    if (types->size() != targets.size()) {
      diagnostics_.error(Code::result_count, span,
                         fmt::format("`{}` gives {} result{} here, {} name{} given", mnemonic,
                                     types->size(), types->size() == 1 ? "" : "s", targets.size(),
                                     targets.size() == 1 ? " is" : "s are"));
      return false;
    }
    assign_results(std::move(*bound), *types, targets, span);
    return true;
  }

  /// Nothing after a report.
  std::optional<Target> find_target(const BoundCall& bound,
                                    const std::vector<ast::Identifier>& targets) {
    Target target;
    if (bound.out == nullptr) {
      if (targets.size() == 1) target.existing = scope_.find(targets[0].text);
      if (target.existing && target.existing->poisoned()) target.existing.reset();
      return target;
    }
    const ast::Argument& out = *bound.out;
    const auto* name = std::get_if<ast::Name>(&out.value.node);
    const isa::Description& description = isa::description(bound.inst);
    if (description.result != isa::ResultKind::register_tile) {
      diagnostics_.error(
          Code::out_not_allowed, out.span,
          fmt::format("`{}` has no `out=`: it gives no register tile", description.mnemonic));
      return std::nullopt;
    }
    if (name == nullptr) {
      diagnostics_.error(Code::wrong_operand_kind, out.value.span,
                         "`out` is the name of a register tile");
      return std::nullopt;
    }
    if (!targets.empty() && (targets.size() > 1 || targets[0].text != name->text)) {
      diagnostics_.error(Code::result_count, out.span,
                         "the result goes either to a name or to `out=`, not to both");
      return std::nullopt;
    }
    const auto binding = scope_.find(name->text);
    if (!binding) {
      names_.report_unknown(name->text, out.value.span);
      return std::nullopt;
    }
    if (binding->poisoned()) return std::nullopt;
    target.existing = binding;
    target.is_out = true;
    target.span = out.value.span;
    return target;
  }

  std::optional<std::vector<isa::Type>> infer(
      const BoundCall& bound, Span span, const std::optional<VariableScope::Binding>& existing) {
    isa::RuleContext context(kernel_, target_, diagnostics_, span, bound.slot_spans);
    if (existing) {
      context.expected = std::get_if<isa::RegisterType>(&scope_.variable(existing->var).type);
    }
    return isa::infer(bound.inst, context);
  }

  bool write_in_place(BoundCall& bound, const std::vector<isa::Type>& types, const Target& target,
                      Span span) {
    const isa::Variable& variable = scope_.variable(target.existing->var);
    if (types.size() != 1 || variable.type != types[0]) {
      auto& error =
          diagnostics_.error(Code::out_type_mismatch, target.span,
                             fmt::format("`{}` gives {}, but `{}` is {}", isa::mnemonic(bound.inst),
                                         types.empty() ? "nothing" : isa::to_string(types[0]),
                                         variable.name, isa::to_string(variable.type)));
      add_note(error, fmt::format("`{}` was declared here", variable.name), variable.span);
      return false;
    }
    emit(
        isa::InstStmt{
            std::move(bound.inst), {target.existing->var}, false, std::move(bound.slot_spans)},
        span);
    return true;
  }

  /// A name that has a register tile or a scalar of the same type is written in place; any other
  /// name begins a new variable of the innermost block.
  void assign_results(BoundCall bound, const std::vector<isa::Type>& types,
                      const std::vector<ast::Identifier>& targets, Span span) {
    if (targets.size() == 1) {
      const auto existing = scope_.find(targets[0].text);
      if (existing && !existing->poisoned()) {
        const isa::Variable& variable = scope_.variable(existing->var);
        const bool has_value = std::holds_alternative<isa::RegisterType>(types[0]) ||
                               std::holds_alternative<isa::ScalarType>(types[0]);
        if (has_value && variable.type == types[0]) {
          return emit(
              isa::InstStmt{
                  std::move(bound.inst), {existing->var}, false, std::move(bound.slot_spans)},
              span);
        }
        if (existing->depth < scope_.depth()) warn_shadowed(targets[0], variable, types[0]);
      }
    }
    isa::InstStmt stmt{std::move(bound.inst), {}, true, std::move(bound.slot_spans)};
    for (std::size_t i = 0; i < targets.size(); ++i) {
      stmt.results.push_back(scope_.declare(targets[i].text, types[i], targets[i].span));
    }
    if (!targets.empty() || types.empty()) emit(std::move(stmt), span);
  }

  void warn_shadowed(const ast::Identifier& target, const isa::Variable& outer,
                     const isa::Type& type) {
    if (excluded_ > 0) return;
    auto& warning = diagnostics_.warning(
        Code::shadowed_in_block, target.span,
        fmt::format("`{}` takes a new type here, so it names a new variable until the end of this "
                    "block; the outer `{}` keeps its value",
                    target.text, target.text));
    add_note(warning, fmt::format("the outer one is {}", isa::to_string(outer.type)), outer.span);
    add_note(warning, fmt::format("the new one is {}", isa::to_string(type)));
  }

  /// A call as an operand: its result gets a name of its own.
  NestedCall nested_call() {
    return [this](const ast::Call& call, Span span) -> std::optional<isa::VarId> {
      auto bound = bind_call(call, span, names_, nested_call());
      if (!bound) return std::nullopt;
      if (bound->out != nullptr) {
        diagnostics_.error(Code::out_not_allowed, bound->out->span,
                           "`out=` cannot stand in a nested call");
        return std::nullopt;
      }
      const auto types = infer(*bound, span, std::nullopt);
      if (!types) return std::nullopt;
      if (types->size() != 1) {
        diagnostics_.error(Code::no_result, span,
                           fmt::format("`{}` cannot be an operand: it gives {} results",
                                       call.callee.text, types->size()));
        return std::nullopt;
      }
      const auto var = scope_.declare(fmt::format("({} {})", call.callee.text, ++nested_count_),
                                      (*types)[0], span);
      emit(isa::InstStmt{std::move(bound->inst), {var}, true, std::move(bound->slot_spans)}, span);
      return var;
    };
  }

  isa::Kernel kernel_;
  isa::Target target_;
  Diagnostics& diagnostics_;
  VariableScope scope_;
  int excluded_ = 0;  // blocks around this place that are no part of the kernel
  Names names_;
  isa::Block* block_ = nullptr;
  int nested_count_ = 0;
};

}  // namespace

isa::Kernel bind_kernel(const ast::Kernel& tree, const Constants& constants,
                        const isa::Target& target, Diagnostics& diagnostics) {
  return KernelBinder(constants, target, diagnostics).bind(tree);
}

}  // namespace tilevm::frontend
