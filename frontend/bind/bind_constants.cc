#include "frontend/bind/bind_constants.h"
#include "frontend/bind/bind_body.h"
#include "frontend/bind/expressions.h"
#include "frontend/bind/inlining.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frontend/syntax/grammar.h"
#include "frontend/syntax/lines.h"
#include "isa/base/shown.h"
#include "isa/base/suggest.h"

namespace tilevm::frontend {
namespace {

std::optional<ConstantValue> layout_constant(const ast::Expr& expr, const BindScope& scope) {
  auto layout = bind_layout(expr, scope);
  if (!layout) return std::nullopt;
  return std::visit([](auto& value) { return ConstantValue(std::move(value)); }, *layout);
}

std::optional<ConstantValue> scalar_constant(const ast::Expr& expr, const BindScope& scope) {
  const auto value = bind_scalar(expr, scope);
  if (!value) return std::nullopt;
  if (value->constant_value()) return ConstantValue(*value->constant_value());
  scope.diagnostics.error(Code::not_a_constant, expr.span, "the value is not known here");
  return std::nullopt;
}

/// A constant of the sort that its expression has.
std::optional<ConstantValue> any_constant(const ast::Expr& expr, const BindScope& scope) {
  const ValueKind kind = classify(expr, scope);
  if (kind == ValueKind::scalar || kind == ValueKind::unknown) return scalar_constant(expr, scope);
  if (kind == ValueKind::tensor) {
    scope.diagnostics.error(Code::not_a_constant, expr.span,
                            "a constant is a number, a type, a layout or a list of them; tensors "
                            "exist in kernels");
    return std::nullopt;
  }
  const auto value = bind_value(expr, scope);
  if (!value || !scope.spend(cost_of(*value), expr.span)) return std::nullopt;
  auto constant = to_constant(*value);
  if (!constant) {
    scope.diagnostics.error(Code::not_a_constant, expr.span, "the value is not known here");
  }
  return constant;
}

/// Converts a scalar to the kind of an annotation or of the default, if nothing is lost.
std::optional<isa::Scalar> converted(const isa::Scalar& value, isa::ScalarKind kind) {
  if (value.kind == kind) return value;
  const bool to_float = kind == isa::ScalarKind::f32;
  if (!value.is_integer() || kind == isa::ScalarKind::boolean) return std::nullopt;
  const isa::Scalar result = isa::convert(value, kind);
  const isa::Scalar back = isa::convert(result, value.kind);
  const bool same_sign =
      to_float ||
      (value.kind == isa::ScalarKind::u64
           ? result.as_int() >= 0
           : (value.as_int() < 0) == (result.as_int() < 0 && kind != isa::ScalarKind::u64));
  if (back != value || !same_sign) return std::nullopt;
  return result;
}

/// A given value as one of the same sort as the default's; nothing, with the reason, if it is none.
/// An integer without annotation may grow from i32 to i64; every other scalar keeps its kind.
std::optional<ConstantValue> fitted(const ConstantValue& given, const ConstantValue& old,
                                    bool annotated, std::string& reason) {
  if (given.index() != old.index()) {
    reason = fmt::format("the constant is {}, this is {}", kind_name(old), kind_name(given));
    return std::nullopt;
  }
  const auto* scalar = std::get_if<isa::Scalar>(&given);
  if (scalar == nullptr) return given;
  const isa::Scalar& before = *std::get_if<isa::Scalar>(&old);
  if (scalar->is_integer() && before.is_integer() && !annotated) return given;
  const auto same = converted(*scalar, before.kind);
  if (same) return *same;
  reason =
      fmt::format("{} is not a value of {}", isa::to_string(*scalar), isa::to_string(before.kind));
  return std::nullopt;
}

/// Every item, those of included files where they are included.
void add_in_order(const std::vector<ast::Item>& items, std::vector<const ast::Item*>& all) {
  for (const ast::Item& item : items) {
    all.push_back(&item);
    if (const auto* include = std::get_if<ast::Include>(&item.node)) {
      add_in_order(include->items, all);
    }
  }
}
std::vector<const ast::Item*> in_order(const std::vector<ast::Item>& items) {
  std::vector<const ast::Item*> all;
  add_in_order(items, all);
  return all;
}

/// Whether a text contains a name that is not a part of a longer one.
bool names_word(std::string_view text, std::string_view name) {
  const auto in_name = [&](std::size_t at) { return at < text.size() && is_word_byte(text[at]); };
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if (!(at > 0 && in_name(at - 1)) && !in_name(at + name.size())) return true;
  }
  return false;
}

}  // namespace

bool ConstantBinder::bind(const ast::Program& tree, Diagnostics& diagnostics) {
  const std::vector<const ast::Item*> items = in_order(tree.items);
  std::vector<std::pair<std::size_t, Diagnostics>> found;  // with the item that they are about
  const auto take = [&](std::size_t item) {
    found.emplace_back(item, std::exchange(diagnostics_, Diagnostics{most_diagnostics}));
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (const auto* node = std::get_if<ast::ConstDecl>(&items[i]->node)) bind(*node);
    take(i);
  }
  finish();
  take(0);
  std::size_t broken = items.size();  // the first requirement that does not hold
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto* node = std::get_if<ast::Require>(&items[i]->node);
    if (node != nullptr && !check(*node)) broken = std::min(broken, i);
    take(i);
  }
  for (const auto& [item, of_item] : found) {
    for (const Diagnostic& diagnostic : of_item.sorted()) {
      if (item <= broken || diagnostic.code == Code::require_failed) diagnostics.report(diagnostic);
    }
  }
  return broken == items.size();
}

void ConstantBinder::bind(const ast::ConstDecl& tree) {
  if (tree.values.size() != tree.names.size()) {
    diagnostics_.error(
        Code::result_count, tree.names[0].span,
        fmt::format("{} names, but {} values", tree.names.size(), tree.values.size()));
    for (const ast::Identifier& name : tree.names) constants_[name.text] = {{}, name.span, true};
    return;
  }
  for (std::size_t i = 0; i < tree.names.size(); ++i) bind_one(tree, i);
}

void ConstantBinder::bind_one(const ast::ConstDecl& tree, std::size_t i) {
  const ast::Identifier& name = tree.names[i];
  const auto existing = constants_.find(name.text);
  if (existing != constants_.end()) {
    add_note(diagnostics_.error(Code::duplicate_name, name.span,
                                fmt::format("constant `{}` exists already", name.text)),
             "the first one is here", existing->second.span);
    return;
  }
  if (isa::parse_dtype(name.text) || isa::parse_scalar_kind(name.text)) {
    diagnostics_.error(Code::duplicate_name, name.span,
                       fmt::format("`{}` is the name of a type", name.text));
    return;
  }
  const ConstantBody body(constants_, functions_, target_, inlining_, diagnostics_);
  auto value = evaluate(tree.values[i], body.scope(), tree);
  if (value) value = overridden(tree, i, *value);
  if (!value) {
    constants_[name.text] = {{}, name.span, true};
    for (std::size_t d = 0; d < defines_.size(); ++d) {
      if (defines_[d].name == name.text) used_[d] = true;
    }
    return;
  }
  if (tree.choices) check_choices(tree, name, *value, tree.values[i].span);
  constants_[name.text] = {std::move(*value), name.span, false};
}

std::optional<ConstantValue> ConstantBinder::evaluate(const ast::Expr& expr, const BindScope& scope,
                                                      const ast::ConstDecl& tree) const {
  const std::string annotation = tree.annotation ? tree.annotation->text : "";
  if (annotation.empty()) return any_constant(expr, scope);
  if (annotation == "dtype") {
    const auto type = bind_dtype(expr, scope);
    if (!type) return std::nullopt;
    return *type;
  }
  if (annotation == "layout") return layout_constant(expr, scope);
  const auto value = scalar_constant(expr, scope);
  if (!value) return value;
  const auto kind = isa::parse_scalar_kind(annotation);
  if (!kind) {
    scope.diagnostics.error(
        Code::unknown_type, tree.annotation->span,
        fmt::format("unknown annotation `{}`; a constant is dtype, layout, i32, "
                    "i64, u32, u64, f32 or bool",
                    annotation));
    return std::nullopt;
  }
  const isa::Scalar scalar = *std::get_if<isa::Scalar>(&*value);
  const auto result = converted(scalar, *kind);
  if (!result) {
    scope.diagnostics.error(
        Code::value_not_representable, expr.span,
        fmt::format("{} is not a value of {}", isa::to_string(scalar), annotation));
    return std::nullopt;
  }
  return *result;
}

/// The value of `-D` instead of the default; nothing after a report.
std::optional<ConstantValue> ConstantBinder::overridden(const ast::ConstDecl& tree, std::size_t i,
                                                        const ConstantValue& value) {
  std::optional<ConstantValue> result = value;
  for (std::size_t d = 0; d < defines_.size(); ++d) {
    if (defines_[d].name != tree.names[i].text) continue;
    used_[d] = true;
    const SourceFile text("-D", defines_[d].value);
    Diagnostics own;
    const auto parsed = parse_expression(text, own);
    const BindScope scope{constants_, nullptr, own};
    const auto given = parsed ? evaluate(*parsed, scope, tree) : std::nullopt;
    std::string reason = own.has_errors() ? own.sorted()[0].message : "";
    result = given ? fitted(*given, value, tree.annotation.has_value(), reason) : std::nullopt;
    if (result) continue;
    diagnostics_.error(Code::bad_define, tree.names[i].span,
                       fmt::format("-D {}={}: {}", defines_[d].name, shortened(defines_[d].value),
                                   shortened(reason, 400)));
    return std::nullopt;
  }
  return result;
}

void ConstantBinder::check_choices(const ast::ConstDecl& tree, const ast::Identifier& name,
                                   const ConstantValue& value, Span span) {
  const ConstantBody body(constants_, functions_, target_, inlining_, diagnostics_);
  isa::Tunable tunable{name.text, {}, to_string(value)};
  bool found = false;
  for (const ast::Expr& choice : *tree.choices) {
    const auto candidate = evaluate(choice, body.scope(), tree);
    if (!candidate) return;
    tunable.choices.push_back(to_string(*candidate));
    found = found || tunable.choices.back() == tunable.value;
  }
  if (!found) {
    const bool given = std::any_of(defines_.begin(), defines_.end(),
                                   [&](const Define& each) { return each.name == name.text; });
    std::string list;
    for (const std::string& choice : tunable.choices) list += (list.empty() ? "" : ", ") + choice;
    // The default is the file's fault, what -D gives is the command line's.
    diagnostics_.error(given ? Code::bad_define : Code::value_not_representable, span,
                       fmt::format("`{}` is {}, which is none of its choices: {}", name.text,
                                   tunable.value, list));
  }
  tunables_.push_back(std::move(tunable));
}

/// A requirement that has no value, for errors that were reported, does not fail.
bool ConstantBinder::check(const ast::Require& tree) {
  const SourceFile& source = inlining_.source;
  const ConstantBody body(constants_, functions_, target_, inlining_, diagnostics_);
  const auto value = scalar_constant(tree.condition, body.scope());
  if (!value) return true;
  const auto& scalar = *std::get_if<isa::Scalar>(&*value);
  if (isa::convert(scalar, isa::ScalarKind::boolean).as_bool()) return true;
  auto& error = diagnostics_.error(
      Code::require_failed, tree.condition.span,
      tree.message ? *tree.message
                   : fmt::format("`{}` does not hold", source.text(tree.condition.span)));
  std::string values;
  for (const auto& [name, constant] : constants_) {
    const auto* number = std::get_if<isa::Scalar>(&constant.value);
    if (number == nullptr || constant.poisoned) continue;
    if (!names_word(source.text(tree.condition.span), name)) continue;
    values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", name, isa::to_string(*number));
  }
  if (!values.empty()) add_note(error, "here " + values);
  return false;
}

void ConstantBinder::finish() {
  std::vector<std::string> known;
  for (const auto& [name, constant] : constants_) known.push_back(name);
  for (std::size_t d = 0; d < defines_.size(); ++d) {
    if (used_[d]) continue;
    const std::string near = nearest(defines_[d].name, known);
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    diagnostics_.error(
        Code::unknown_define, {},
        fmt::format("-D {}: the file has no such constant{}", shortened(defines_[d].name),
                    !near.empty()   ? fmt::format("; did you mean `{}`?", near)
                    : known.empty() ? "; it has none"
                                    : "; it has " + list));
  }
}

}  // namespace tilevm::frontend
