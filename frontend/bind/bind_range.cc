#include "frontend/bind/bind_range.h"
#include "frontend/bind/expressions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tilevm::frontend {
namespace {

constexpr std::size_t most_numbers = 3;

std::optional<isa::Expr> bind_number(const ast::Expr& tree, const BindScope& scope) {
  auto bound = bind_scalar(tree, scope);
  if (!bound) return std::nullopt;
  if (!isa::is_integer(bound->kind())) {
    scope.diagnostics.error(
        Code::scalar_type, tree.span,
        fmt::format("a range is made of integers, this is {}", isa::to_string(bound->kind())));
    return std::nullopt;
  }
  return bound;
}

/// The arguments without a name: begin, end and step, converted to one kind.
std::optional<std::vector<isa::Expr>> bind_numbers(const std::vector<ast::Argument>& arguments,
                                                   const BindScope& scope) {
  std::vector<isa::Expr> numbers;
  isa::ScalarKind kind = isa::ScalarKind::i32;
  for (const ast::Argument& argument : arguments) {
    if (argument.name) continue;
    if (numbers.size() == most_numbers) {
      scope.diagnostics.error(Code::misplaced, argument.span,
                              "a range has a begin, an end and a step, and this is a fourth");
      return std::nullopt;
    }
    auto number = bind_number(argument.value, scope);
    if (!number) return std::nullopt;
    kind = std::max(kind, number->kind());
    numbers.push_back(std::move(*number));
  }
  if (numbers.empty()) {
    scope.diagnostics.error(Code::missing_operand, arguments.front().span,
                            "a range needs its end: `range(end)` or `range(begin, end)`");
    return std::nullopt;
  }
  if (numbers.size() == 1) numbers.insert(numbers.begin(), isa::Expr::constant(0));
  if (numbers.size() == 2) numbers.push_back(isa::Expr::constant(1));
  for (isa::Expr& number : numbers) number = isa::Expr::convert(number, kind, number.span());
  if (numbers[2].constant_int() == std::int64_t{0}) {
    scope.diagnostics.error(Code::misplaced, numbers[2].span(), "a range with step 0 never ends");
    return std::nullopt;
  }
  return numbers;
}

/// `unroll=`, the one argument with a name.
std::optional<std::int64_t> bind_unroll(const std::vector<ast::Argument>& arguments,
                                        const BindScope& scope) {
  std::optional<std::int64_t> unroll;
  for (const ast::Argument& argument : arguments) {
    if (!argument.name) continue;
    if (argument.name->text != "unroll") {
      scope.diagnostics.error(
          Code::unknown_operand, argument.name->span,
          fmt::format("a range has no `{}`; there is `unroll`", argument.name->text));
      return std::nullopt;
    }
    if (unroll) {
      scope.diagnostics.error(Code::duplicate_operand, argument.span, "`unroll` is given twice");
      return std::nullopt;
    }
    unroll = bind_integer(argument.value, scope);
    if (!unroll) return std::nullopt;
  }
  return unroll.value_or(0);
}

}  // namespace

bool BoundRange::is_empty() const {
  const auto first = begin.constant_value(), last = end.constant_value(),
             by = step.constant_value();
  if (!first || !last || !by) return false;
  const isa::Scalar zero = isa::convert(isa::Scalar::i32(0), by->kind);
  const bool counts_up = isa::apply(isa::ScalarBinary::gt, *by, zero)->as_bool();
  return isa::apply(counts_up ? isa::ScalarBinary::ge : isa::ScalarBinary::le, *first, *last)
      ->as_bool();
}

std::optional<BoundRange> bind_range(const std::vector<ast::Argument>& arguments,
                                     const BindScope& scope) {
  auto numbers = bind_numbers(arguments, scope);
  const auto unroll = bind_unroll(arguments, scope);
  if (!numbers || !unroll) return std::nullopt;
  return BoundRange{std::move((*numbers)[0]), std::move((*numbers)[1]), std::move((*numbers)[2]),
                    *unroll};
}

}  // namespace tilevm::frontend
