// Binding of types and layouts: names, factors, products and the operations of the layout algebra.
#include "frontend/bind/expressions.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "frontend/bind/bind_scope.h"
#include "frontend/bind/foreign_calls.h"
#include "frontend/bind/frontend.h"
#include "frontend/syntax/grammar.h"
#include "isa/base/suggest.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::frontend {
namespace {

using isa::MemoryLayout;
using isa::RegisterLayout;
using Integers = std::vector<std::int64_t>;

/// A factor or a whole layout from its extents: `name(e0, e1, ..)`.
struct ExtentFunction {
  std::string_view name;
  std::function<Result<AnyLayoutValue>(const Integers&)> make;
};

template <class T>
Result<AnyLayoutValue> any(Result<T> result) {
  if (!result) return result.error();
  return AnyLayoutValue(std::move(*result));
}

Result<AnyLayoutValue> make_replicated(const Integers& args) {
  if (args.size() != 1) {
    return Error{ErrorKind::program, "`replicated` takes one number of threads"};
  }
  return any(isa::replicated(args[0]));
}

const std::vector<ExtentFunction>& extent_functions() {
  static const std::vector<ExtentFunction> functions{
      {"local", [](const Integers& e) { return any(isa::local(e)); }},
      {"spatial", [](const Integers& e) { return any(isa::spatial(e)); }},
      {"column_local", [](const Integers& e) { return any(isa::column_local(e)); }},
      {"column_spatial", [](const Integers& e) { return any(isa::column_spatial(e)); }},
      {"replicated", make_replicated},
      {"row_major", [](const Integers& e) { return any(isa::row_major(e)); }},
      {"column_major", [](const Integers& e) { return any(isa::column_major(e)); }},
  };
  return functions;
}

// Layouts from several lists: the unified form and memory layouts with modes.
constexpr std::array<std::string_view, 2> list_functions{"layout", "memory_layout"};

constexpr std::array<std::string_view, 8> operations{
    "reduce", "permute", "reshape", "squeeze", "unsqueeze", "divide", "left_divide", "swizzle"};

const ExtentFunction* find_extent_function(std::string_view name) {
  for (const ExtentFunction& function : extent_functions()) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

bool is_list_function(std::string_view name) {
  return std::find(list_functions.begin(), list_functions.end(), name) != list_functions.end();
}

class LayoutBinder {
 public:
  explicit LayoutBinder(const BindScope& scope) : scope_(scope) {}

  std::optional<AnyLayoutValue> bind(const ast::Expr& expr) {
    return std::visit([&](const auto& node) { return visit(node, expr.span); }, expr.node);
  }

 private:
  template <class Node>
  std::optional<AnyLayoutValue> visit(const Node&, Span span) {
    scope_.diagnostics.error(Code::wrong_operand_kind, span,
                             "a layout is expected here, such as `local(2, 1).spatial(8, 4)`");
    return std::nullopt;
  }

  std::optional<AnyLayoutValue> visit(const ast::Name& node, Span span) {
    BindScope::Meaning meaning = scope_.lookup(node.text, span);
    switch (meaning.kind) {
      case BindScope::Meaning::Kind::poisoned:
        return std::nullopt;
      case BindScope::Meaning::Kind::variable:
        return visit(0, span);  // no layout
      case BindScope::Meaning::Kind::unknown:
        scope_.report_unknown(node.text, span, Wanted::layout);
        return std::nullopt;
      case BindScope::Meaning::Kind::value:
        break;
    }
    return take_layout(std::move(meaning.value), node.text, span);
  }

  /// The layout that a value is; reports another.
  std::optional<AnyLayoutValue> take_layout(std::optional<Value> value, std::string_view name,
                                            Span span) {
    if (!value) return std::nullopt;
    if (auto* layout = std::get_if<RegisterLayout>(&value->node)) return std::move(*layout);
    if (auto* layout = std::get_if<MemoryLayout>(&value->node)) return std::move(*layout);
    const std::string what = name.empty() ? "this" : fmt::format("`{}`", name);
    scope_.diagnostics.error(
        Code::wrong_operand_kind, span,
        fmt::format("a layout is expected here, but {} is {}", what, kind_name(*value, scope_)));
    return std::nullopt;
  }

  std::optional<AnyLayoutValue> visit(const ast::Index& node, Span span) {
    return take_layout(bind_element(node, span, scope_), "", span);
  }

  std::optional<AnyLayoutValue> visit(const ast::Conditional& node, Span) {
    const ast::Expr* const taken = chosen(node, scope_);
    return taken != nullptr ? bind(*taken) : std::nullopt;
  }

  /// `[layout]`: brackets around a layout mean nothing, as the paper prints it.
  std::optional<AnyLayoutValue> visit(const ast::List& node, Span span) {
    if (node.entries.size() != 1 || node.entries[0].colon) return visit(0, span);
    return bind(node.entries[0].value);
  }

  std::optional<AnyLayoutValue> visit(const ast::Call& node, Span span) {
    if (is_list_function(node.callee.text)) return unified(node, span);
    if (const auto* function = scope_.function(node.callee.text)) {
      return take_layout(bind_function_call(*function, node, span, scope_), "", span);
    }
    if (is_builtin(node.callee.text)) {
      return take_layout(bind_builtin(node, span, scope_), "", span);
    }
    const ExtentFunction* function = known_function(node);
    if (function == nullptr) return std::nullopt;
    const auto extents = integers(node.args);
    if (!extents) return std::nullopt;
    return check(function->make(*extents), span);
  }

  /// The function of a name. A misspelt one is reported, and the nearest is taken instead, so that
  /// what follows from the layout is still checked.
  const ExtentFunction* known_function(const ast::Call& call) {
    const ast::Identifier& name = call.callee;
    if (const auto* function = find_extent_function(name.text)) return function;
    if (name.text == strides_function) {
      report_lone_strides(call, scope_);
      return nullptr;
    }
    std::vector<std::string> known;
    for (const ExtentFunction& function : extent_functions()) known.emplace_back(function.name);
    const std::string near = nearest(name.text, known);
    auto& error = scope_.diagnostics.error(
        Code::unknown_layout, name.span,
        fmt::format("unknown layout `{}`{}", name.text,
                    near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
    error.fix = near;
    if (near.empty()) {
      std::string list;
      for (const std::string& one : layout_functions()) list += (list.empty() ? "" : ", ") + one;
      add_note(error, "layouts are made of " + list);
    }
    return near.empty() ? nullptr : find_extent_function(near);
  }

  std::optional<AnyLayoutValue> visit(const ast::Method& node, Span span) {
    const std::string& name = node.method.text;
    if (report_foreign_method(node, scope_)) return std::nullopt;  // `t.sum()`, `tl.load(x)`
    auto receiver = bind(*node.receiver);
    if (!receiver) return std::nullopt;
    if (std::find(operations.begin(), operations.end(), name) != operations.end()) {
      return operation(*receiver, node, span);
    }
    std::optional<AnyLayoutValue> factor;
    if (scope_.knows(name) && node.args.empty()) {
      factor = visit(ast::Name{name}, node.method.span);
    } else {
      factor = visit(ast::Call{node.method, node.args}, span);
    }
    if (!factor) return std::nullopt;
    return product(*receiver, *factor, span);
  }

  /// `a / b` divides, `a * b` multiplies.
  std::optional<AnyLayoutValue> visit(const ast::Binary& node, Span span) {
    if (node.op != ast::BinaryOp::div && node.op != ast::BinaryOp::mul) return visit(0, span);
    auto a = bind(*node.left);
    auto b = bind(*node.right);
    if (!a || !b) return std::nullopt;
    if (node.op == ast::BinaryOp::mul) return product(*a, *b, span);
    const auto *left = std::get_if<RegisterLayout>(&*a), *right = std::get_if<RegisterLayout>(&*b);
    if (left == nullptr || right == nullptr) return mixed(span);
    return check(any(isa::divide(*left, *right)), span, Code::layout_not_divisible);
  }

  std::optional<AnyLayoutValue> product(const AnyLayoutValue& a, const AnyLayoutValue& b,
                                        Span span) {
    if (const auto* left = std::get_if<RegisterLayout>(&a)) {
      const auto* right = std::get_if<RegisterLayout>(&b);
      return right != nullptr ? check(any(isa::compose(*left, *right)), span) : mixed(span);
    }
    const auto* right = std::get_if<MemoryLayout>(&b);
    if (right == nullptr) return mixed(span);
    return check(any(isa::compose(*std::get_if<MemoryLayout>(&a), *right)), span);
  }

  std::optional<AnyLayoutValue> operation(const AnyLayoutValue& layout, const ast::Method& node,
                                          Span span) {
    const std::string& name = node.method.text;
    if (name == "divide" || name == "left_divide") return division(layout, node, span);
    const auto args = integers(node.args);
    if (!args) return std::nullopt;
    const std::vector<int> dims(args->begin(), args->end());
    if (const auto* memory = std::get_if<MemoryLayout>(&layout)) {
      if (name == "permute") return check(any(isa::permute(*memory, dims)), span);
      if (name == "reshape") return check(any(isa::reshape(*memory, *args)), span);
      if (name == "swizzle" && dims.size() == 3) {
        return check(any(isa::swizzled(*memory, {dims[0], dims[1], dims[2]})), span);
      }
      return not_for(name, "a memory layout", span);
    }
    const auto& registers = *std::get_if<RegisterLayout>(&layout);
    if (name == "reduce") return check(any(isa::reduce(registers, dims)), span);
    if (name == "permute") return check(any(isa::permute(registers, dims)), span);
    if (name == "reshape") return check(any(isa::reshape(registers, *args)), span);
    if (name == "squeeze") return check(any(isa::squeeze(registers, dims)), span);
    if (name == "unsqueeze") return check(any(isa::unsqueeze(registers, dims)), span);
    return not_for(name, "a register layout", span);
  }

  std::optional<AnyLayoutValue> division(const AnyLayoutValue& layout, const ast::Method& node,
                                         Span span) {
    if (node.args.size() != 1) {
      scope_.diagnostics.error(Code::missing_operand, span,
                               fmt::format("`{}` takes one layout", node.method.text));
      return std::nullopt;
    }
    const auto other = bind(node.args[0].value);
    if (!other) return std::nullopt;
    const auto *a = std::get_if<RegisterLayout>(&layout), *b = std::get_if<RegisterLayout>(&*other);
    if (a == nullptr || b == nullptr) return mixed(span);
    auto quotient = node.method.text == "divide" ? isa::divide(*a, *b) : isa::left_divide(*a, *b);
    return check(any(std::move(quotient)), span, Code::layout_not_divisible);
  }

  /// layout([shape], [modes], [spatial], [local]) and memory_layout([shape], [modes], [strides]).
  std::optional<AnyLayoutValue> unified(const ast::Call& node, Span span) {
    const bool registers = node.callee.text == list_functions[0];
    const std::size_t count = registers ? 4 : 3;
    if (node.args.size() != count) {
      scope_.diagnostics.error(
          Code::missing_operand, span,
          registers ? "`layout` takes four lists: shape, mode shape, spatial modes, local modes"
                    : "`memory_layout` takes three lists: shape, mode shape, mode strides");
      return std::nullopt;
    }
    std::vector<Integers> lists;
    for (const ast::Argument& argument : node.args) {
      auto list = bind_integers(argument.value, scope_);
      if (!list) return std::nullopt;
      lists.push_back(std::move(*list));
    }
    if (!registers) return check(any(MemoryLayout::make(lists[0], lists[1], lists[2])), span);
    const auto narrow = [](const Integers& list) {
      std::vector<int> result;
      for (const std::int64_t x : list) {
        result.push_back(static_cast<int>(std::clamp<std::int64_t>(x, INT32_MIN, INT32_MAX)));
      }
      return result;
    };
    return check(any(RegisterLayout::make(lists[0], lists[1], narrow(lists[2]), narrow(lists[3]))),
                 span);
  }

  std::optional<Integers> integers(const std::vector<ast::Argument>& args) {
    Integers values;
    if (args.size() == 1 && classify(args[0].value, scope_) == ValueKind::list) {
      return bind_integers(args[0].value, scope_);
    }
    for (const ast::Argument& argument : args) {
      if (argument.name) {
        scope_.diagnostics.error(Code::unknown_operand, argument.span,
                                 "layout functions take plain integers");
        return std::nullopt;
      }
      const auto value = bind_integer(argument.value, scope_);
      if (!value) return std::nullopt;
      values.push_back(std::clamp<std::int64_t>(*value, INT32_MIN, INT32_MAX));
    }
    return values;
  }

  std::optional<AnyLayoutValue> check(Result<AnyLayoutValue> result, Span span,
                                      Code code = Code::bad_layout) {
    if (result) return std::move(*result);
    scope_.diagnostics.error(code, span, result.error().message);
    return std::nullopt;
  }

  std::optional<AnyLayoutValue> mixed(Span span) {
    scope_.diagnostics.error(Code::bad_layout, span,
                             "a register layout and a memory layout do not combine");
    return std::nullopt;
  }

  std::optional<AnyLayoutValue> not_for(std::string_view name, std::string_view kind, Span span) {
    scope_.diagnostics.error(
        Code::bad_layout, span,
        fmt::format("`{}` does not apply to {}{}", name, kind,
                    name == "swizzle" ? " or its three numbers are missing: base, "
                                        "bits, shift"
                                      : ""));
    return std::nullopt;
  }

  const BindScope& scope_;
};

}  // namespace

std::vector<std::string> layout_functions() {
  std::vector<std::string> names;
  for (const ExtentFunction& function : extent_functions()) names.emplace_back(function.name);
  for (const std::string_view name : list_functions) names.emplace_back(name);
  return names;
}

std::vector<std::string> layout_operations() { return {operations.begin(), operations.end()}; }

std::optional<AnyLayoutValue> bind_layout(const ast::Expr& expr, const BindScope& scope) {
  return LayoutBinder(scope).bind(expr);
}

bool is_layout_function(std::string_view name) {
  return find_extent_function(name) != nullptr || is_list_function(name);
}

std::optional<AnyLayout> load_layout(const SourceFile& source, Diagnostics& diagnostics) {
  const auto tree = parse_expression(source, diagnostics);
  if (!tree) return std::nullopt;
  const Constants none;
  const std::size_t errors_before = diagnostics.error_count();
  auto layout = bind_layout(*tree, BindScope{none, nullptr, diagnostics});
  // A misspelt name was replaced by the nearest, to find more faults, not to be drawn.
  if (diagnostics.error_count() > errors_before) return std::nullopt;
  return layout;
}

}  // namespace tilevm::frontend
