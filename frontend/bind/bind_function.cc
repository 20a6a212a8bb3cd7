// Calls of functions: each is inlined with names of its own, and with spans of its own, so that
// messages show the calls that led there.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/bind/assignments.h"
#include "frontend/bind/bind_body.h"
#include "frontend/bind/bind_function.h"
#include "frontend/bind/expressions.h"
#include "frontend/syntax/shift.h"

namespace tilevm::frontend {
namespace {

constexpr std::size_t deepest_call = 64;

constexpr std::array<std::string_view, 9> kinds{"tile",   "shared", "view",   "pointer", "barrier",
                                                "scalar", "dtype",  "layout", "list"};

/// Whether a value is of the kind that a function names.
bool is_of_kind(const Value& value, std::string_view kind, const VariableScope& variables) {
  const auto* var = std::get_if<isa::VarId>(&value.node);
  if (var != nullptr) {
    const isa::Type& type = variables.variable(*var).type;
    if (kind == "tile") return std::holds_alternative<isa::RegisterType>(type);
    if (kind == "shared") return std::holds_alternative<isa::SharedType>(type);
    if (kind == "view") return std::holds_alternative<isa::GlobalType>(type);
    if (kind == "barrier") return std::holds_alternative<isa::BarrierType>(type);
    return kind == "pointer" && std::holds_alternative<isa::PointerType>(type);
  }
  const ValueKind of = kind_of(value);
  if (kind == "scalar") return of == ValueKind::scalar;
  if (kind == "dtype") return of == ValueKind::dtype;
  if (kind == "layout") return of == ValueKind::layout;
  return kind == "list" && of == ValueKind::list;
}

bool check_kind(const ast::Identifier& kind, Diagnostics& diagnostics) {
  if (std::ranges::find(kinds, kind.text) != kinds.end()) return true;
  auto& error = diagnostics.error(
      Code::bad_call, kind.span,
      fmt::format("unknown kind `{}`; values are {}", kind.text, fmt::join(kinds, ", ")));
  if (isa::parse_dtype(kind.text) || isa::parse_scalar_kind(kind.text)) {
    add_note(error,
             fmt::format("a parameter with a type is one of a kernel, which has a grid: `def "
                         "name<extent>({0} n)`, `def name<extent>({0}* x)`",
                         kind.text));
  }
  return false;
}

}  // namespace

Functions functions_of(const ast::Program& tree) {
  Functions functions;
  ast::for_each<ast::Function>(tree.items, [&](const ast::Function& node) {
    functions.by_name.try_emplace(node.name.text, &node);
  });
  ast::for_each<ast::Kernel>(
      tree.items, [&](const ast::Kernel& node) { functions.kernels.insert(node.name.text); });
  return functions;
}

void check_function(const ast::Function& function, Diagnostics& diagnostics) {
  bool optional = false;
  for (std::size_t i = 0; i < function.params.size(); ++i) {
    const ast::FunctionParam& param = function.params[i];
    if (param.kind) (void)check_kind(*param.kind, diagnostics);
    for (std::size_t j = 0; j < i; ++j) {
      if (function.params[j].name.text != param.name.text) continue;
      add_note(diagnostics.error(Code::duplicate_name, param.name.span,
                                 fmt::format("parameter `{}` exists already", param.name.text)),
               "the first one is here", function.params[j].name.span);
    }
    if (optional && !param.fallback) {
      diagnostics.error(Code::misplaced, param.span,
                        "a parameter without a default cannot follow one that has one");
    }
    optional = param.fallback.has_value();
  }
  for (const ast::Identifier& kind : function.results) (void)check_kind(kind, diagnostics);
}

bool BodyBinder::check_call(const ast::Function& function, Span span) {
  const auto& calls = builder_.calls;
  if (const auto open = std::ranges::find(calls, &function); open != calls.end()) {
    std::string way;
    for (auto at = open; at != calls.end(); ++at) {
      way += fmt::format("`{}` calls ", (*at)->name.text);
    }
    add_note(diagnostics_.error(
                 Code::recursive_call, span,
                 fmt::format("a function cannot call itself: {}`{}`", way, function.name.text)),
             "functions are inlined; write a loop");
    return false;
  }
  if (calls.size() == deepest_call || builder_.inlining.is_deep()) {
    diagnostics_.error(Code::nesting_too_deep, span,
                       calls.size() == deepest_call
                           ? fmt::format("calls nest more than {} deep", deepest_call)
                           : "calls in expressions nest too deep; give results names");
    return false;
  }
  const std::size_t length = function.text.end - function.text.begin;
  return spend({length / 8 + 1, 0}, span) && !builder_.is_too_long(span, diagnostics_);
}

std::optional<BodyBinder::Arguments> BodyBinder::order_arguments(const ast::Function& function,
                                                                 const ast::Call& call, Span span) {
  Arguments ordered(function.params.size(), nullptr);
  const auto fail = [&](Span at, std::string message) {
    add_note(diagnostics_.error(Code::bad_call, at, std::move(message)),
             fmt::format("`{}` is defined here", function.name.text), function.name.span);
    return std::nullopt;
  };
  std::size_t next = 0;
  for (const ast::Argument& argument : call.args) {
    std::size_t index = next;
    if (argument.name) {
      const auto found = std::ranges::find(
          function.params, argument.name->text,
          [](const ast::FunctionParam& param) -> const std::string& { return param.name.text; });
      if (found == function.params.end()) {
        return fail(argument.name->span, fmt::format("`{}` has no parameter `{}`",
                                                     function.name.text, argument.name->text));
      }
      index = static_cast<std::size_t>(found - function.params.begin());
    } else {
      ++next;
    }
    if (index >= ordered.size()) {
      return fail(argument.span, fmt::format("`{}` takes {} value{}", function.name.text,
                                             ordered.size(), ordered.size() == 1 ? "" : "s"));
    }
    if (ordered[index] != nullptr) {
      return fail(argument.span,
                  fmt::format("parameter `{}` is given twice", function.params[index].name.text));
    }
    ordered[index] = &argument;
  }
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    if (ordered[i] != nullptr || function.params[i].fallback) continue;
    return fail(span, fmt::format("`{}` is called without `{}`", function.name.text,
                                  function.params[i].name.text));
  }
  return ordered;
}

std::optional<ValueList> BodyBinder::call(const ast::Function& function, const ast::Call& call,
                                          Span span) {
  if (!check_call(function, span)) return std::nullopt;
  const auto arguments = order_arguments(function, call, span);
  if (!arguments) return std::nullopt;
  const auto first_own = static_cast<std::int32_t>(builder_.kernel.variables.size());
  std::vector<std::optional<Value>> values;
  for (const ast::Argument* argument : *arguments) {
    values.push_back(argument != nullptr ? bind_value(argument->value, scope_) : std::nullopt);
    if (argument != nullptr && !values.back()) return std::nullopt;
  }
  const auto shift = builder_.inlining.source.add_call(function.text, function.name.text, span);
  if (!shift) {
    diagnostics_.error(Code::program_too_large, span, "the program inlines too many calls");
    return std::nullopt;
  }
  ast::Block body = function.body;
  shift_spans(body, *shift);
  const std::size_t errors = diagnostics_.error_count();
  builder_.calls.push_back(&function);
  BodyBinder frame(builder_, scope_.constants, *scope_.functions, diagnostics_,
                   variables_.exclusions);
  frame.is_function_ = true;
  frame.assignments_ = count_assignments(body);
  if (frame.take_parameters(function, std::move(values), *arguments, *shift, span)) {
    frame.add_statements(body);
  }
  builder_.calls.pop_back();
  if (diagnostics_.error_count() > errors || !frame.check_results(function, span)) {
    return std::nullopt;
  }
  ValueList results;
  std::vector<isa::VarId> taken;
  for (Value& value : *frame.returned_) {
    results.push_back(owned(std::move(value), first_own, taken, span));
  }
  return results;
}

bool BodyBinder::take_parameters(const ast::Function& function,
                                 std::vector<std::optional<Value>> values,
                                 const Arguments& arguments, std::uint32_t shift, Span span) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ast::FunctionParam& param = function.params[i];
    Span at = arguments[i] != nullptr ? arguments[i]->value.span : span;
    if (!values[i]) {
      ast::Expr fallback = *param.fallback;
      shift_spans(fallback, shift);
      at = fallback.span;
      values[i] = bind_value(fallback, scope_);
      if (!values[i]) return false;
    }
    if (param.kind && !is_of_kind(*values[i], param.kind->text, variables_)) {
      add_note(diagnostics_.error(Code::bad_call, at,
                                  fmt::format("parameter `{}` of `{}` is a {}, this is {}",
                                              param.name.text, function.name.text, param.kind->text,
                                              kind_name(*values[i], scope_))),
               "the parameter is declared here", param.span);
      return false;
    }
    if (!take_parameter(param, *std::move(values[i]), at)) return false;
  }
  return true;
}

/// Parameters are values: one that the body assigns is a copy. A scalar that is computed is
/// computed once.
bool BodyBinder::take_parameter(const ast::FunctionParam& param, Value value, Span span) {
  const std::string& name = param.name.text;
  if (!check_new_name(param.name)) return false;
  const bool assigned = assignments_.contains(name);
  if (const auto* scalar = std::get_if<isa::Expr>(&value.node)) {
    const bool plain =
        scalar->is_constant() || std::holds_alternative<isa::Expr::Variable>(scalar->node());
    if (assigned || !plain) {
      const auto var = variables_.declare(name, isa::ScalarType{scalar->kind()}, param.name.span);
      builder_.emit(isa::ScalarStmt{var, *scalar, true}, span);
      return true;
    }
  }
  if (const auto* var = std::get_if<isa::VarId>(&value.node)) {
    variables_.bind(name, assigned ? instructions_.copy_of(*var, name, span) : *var,
                    param.name.span);
    return true;
  }
  std::vector<isa::VarId> taken;
  if (assigned) value = owned(std::move(value), INT32_MAX, taken, span);
  variables_.bind(name, std::move(value), param.name.span);
  return true;
}

bool BodyBinder::check_results(const ast::Function& function, Span span) {
  if (!returned_) {
    if (function.results.empty()) {
      returned_.emplace();
      return true;
    }
    diagnostics_.error(Code::bad_call, function.name.span,
                       fmt::format("`{}` ends without a `return`", function.name.text));
    return false;
  }
  if (returned_->size() != function.results.size()) {
    add_note(
        diagnostics_.error(Code::result_count,
                           returned_spans_.empty() ? function.name.span : returned_spans_.front(),
                           fmt::format("`{}` returns {} value{}, but its header promises {}",
                                       function.name.text, returned_->size(),
                                       returned_->size() == 1 ? "" : "s", function.results.size())),
        function.results.empty() ? "write what it returns after its parameters: `-> tile`"
                                 : "the call is here",
        function.results.empty() ? function.name.span : span);
    return false;
  }
  for (std::size_t i = 0; i < returned_->size(); ++i) {
    const ast::Identifier& kind = function.results[i];
    if (is_of_kind((*returned_)[i], kind.text, variables_)) continue;
    add_note(
        diagnostics_.error(Code::bad_call, returned_spans_[i],
                           fmt::format("`{}` promises a {}, but returns {}", function.name.text,
                                       kind.text, kind_name((*returned_)[i], scope_))),
        "the promise is here", kind.span);
    return false;
  }
  return true;
}

/// A value whose register tiles no other name means: tiles that are older than `first_own`, or that
/// are in `taken`, are copied.
Value BodyBinder::owned(Value value, std::int32_t first_own, std::vector<isa::VarId>& taken,
                        Span span) {
  if (auto* list = std::get_if<ValueList>(&value.node)) {
    for (Value& each : *list) each = owned(std::move(each), first_own, taken, span);
    return value;
  }
  auto* var = std::get_if<isa::VarId>(&value.node);
  if (var == nullptr) return value;
  const bool shared = var->index < first_own || std::ranges::find(taken, *var) != taken.end();
  if (shared) *var = instructions_.copy_of(*var, variables_.variable(*var).name, span);
  taken.push_back(*var);
  return value;
}

}  // namespace tilevm::frontend
