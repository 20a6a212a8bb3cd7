#include "isa/analysis/value_ranges.h"

#include <algorithm>
#include <limits>
#include <variant>

#include <fmt/format.h>

#include "isa/base/check.h"

namespace tilevm::isa {
namespace {

// Products of two bounded values; __extension__ takes no `using`.
__extension__ typedef __int128 wide;                   // NOLINT(modernize-use-using)
constexpr std::int64_t bound = std::int64_t{1} << 40;  // no interval reaches beyond

struct WideInterval {
  wide low, high;
};

std::optional<Interval> within_bound(const std::optional<WideInterval>& range) {
  if (!range || range->low < -bound || range->high > bound) return std::nullopt;
  return Interval{static_cast<std::int64_t>(range->low), static_cast<std::int64_t>(range->high)};
}

/// What sums, differences, products and left shifts by a known count reach, before they wrap.
std::optional<WideInterval> exact(ScalarBinary op, const Interval& a, const Interval& b) {
  const wide low = a.low, high = a.high;
  if (op == ScalarBinary::add) return WideInterval{low + b.low, high + b.high};
  if (op == ScalarBinary::sub) return WideInterval{low - b.high, high - b.low};
  if (op == ScalarBinary::mul) {
    const wide ends[] = {low * b.low, low * b.high, high * b.low, high * b.high};
    return WideInterval{*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
  }
  if (op != ScalarBinary::shl || b.low != b.high || b.low < 0 || b.low > 62) return std::nullopt;
  const wide factor = wide{1} << b.low;
  return WideInterval{low * factor, high * factor};
}

/// The integers that a kind holds; nothing for what is not an integer.
std::optional<WideInterval> limits_of(ScalarKind kind) {
  if (!is_integer(kind)) return std::nullopt;
  const wide states = wide{1} << (is_wide(kind) ? 64 : 32);
  if (is_signed(kind)) return WideInterval{-states / 2, states / 2 - 1};
  return WideInterval{0, states - 1};
}

/// The integers of a kind, as far as intervals reach; nothing for what is not an integer.
std::optional<Interval> values_of(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::i32:
      return Interval{std::numeric_limits<std::int32_t>::min(),
                      std::numeric_limits<std::int32_t>::max()};
    case ScalarKind::u32:
      return Interval{0, std::numeric_limits<std::uint32_t>::max()};
    case ScalarKind::i64:
      return Interval{-bound, bound};
    case ScalarKind::u64:
      return Interval{0, bound};
    case ScalarKind::boolean:
    case ScalarKind::f32:
      return std::nullopt;
  }
  TILEVM_NO_ENUMERATOR();
}

/// The interval, if a scalar of the kind holds all of it.
std::optional<Interval> held_by(ScalarKind kind, std::optional<Interval> range) {
  const auto values = values_of(kind);
  if (!range || !values || range->low < values->low || range->high > values->high) {
    return std::nullopt;
  }
  return range;
}

}  // namespace

/// Statements are visited in the order of the text, in which a variable is defined before its uses.
ValueRanges::ValueRanges(const Kernel& kernel, const Definitions& definitions)
    : of_variable_(kernel.variables.size()) {
  const auto set = [&](VarId var, std::optional<Interval> range) {
    if (definitions.written_once(var)) of_variable_[static_cast<std::size_t>(var.index)] = range;
  };
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
      if (description(inst->inst).result != ResultKind::indices) return;
      for (std::size_t i = 0; i < inst->results.size() && i < kernel.grid.size(); ++i) {
        const auto extent = kernel.grid[i].constant_int();
        if (extent && *extent > 0) set(inst->results[i], Interval{0, *extent - 1});
      }
    } else if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
      set(scalar->target, of(scalar->value));
    } else if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
      const auto begin = of(loop->begin), end = of(loop->end);
      const auto step = loop->step.constant_int();
      if (begin && end && step && *step > 0 && end->high > begin->low) {
        set(loop->var, Interval{begin->low, end->high - 1});
      }
    }
  });
}

std::optional<Interval> ValueRanges::of(const Expr& expr) const {
  if (const auto value = expr.constant_int()) return Interval{*value, *value};
  if (const auto* variable = std::get_if<Expr::Variable>(&expr.node())) {
    return of_variable_[static_cast<std::size_t>(variable->var.index)];
  }
  if (const auto* conversion = std::get_if<Expr::Convert>(&expr.node())) {
    return held_by(expr.kind(), of(conversion->a));
  }
  if (const auto* binary = std::get_if<Expr::Binary>(&expr.node())) {
    return held_by(expr.kind(), of(*binary));
  }
  if (const auto* select = std::get_if<Expr::Select>(&expr.node())) {
    const auto a = of(select->a), b = of(select->b);
    if (!a || !b) return std::nullopt;
    return Interval{std::min(a->low, b->low), std::max(a->high, b->high)};
  }
  return std::nullopt;
}

std::optional<std::string> ValueRanges::wrapping(const Expr& expr) const {
  const auto* binary = std::get_if<Expr::Binary>(&expr.node());
  const auto held = limits_of(expr.kind());
  if (binary == nullptr || !held) return std::nullopt;
  const auto a = of(binary->a), b = of(binary->b);
  const auto range = a && b ? exact(binary->op, *a, *b) : std::nullopt;
  if (!range || (range->low >= held->low && range->high <= held->high)) return std::nullopt;
  return fmt::format("{}", range->high > held->high ? range->high : range->low);
}

std::optional<Interval> ValueRanges::of(const Expr::Binary& binary) const {
  const auto a = of(binary.a), b = of(binary.b);
  if (!a || !b) return std::nullopt;
  switch (binary.op) {
    case ScalarBinary::add:
    case ScalarBinary::sub:
    case ScalarBinary::mul:
      return within_bound(exact(binary.op, *a, *b));
    case ScalarBinary::div:
      if (b->low != b->high || b->low <= 0) return std::nullopt;
      return Interval{a->low / b->low, a->high / b->low};
    case ScalarBinary::mod:
      if (b->low != b->high || b->low <= 0 || a->low < 0) return std::nullopt;
      return Interval{0, std::min(a->high, b->low - 1)};
    case ScalarBinary::minimum:
      return Interval{std::min(a->low, b->low), std::min(a->high, b->high)};
    case ScalarBinary::maximum:
      return Interval{std::max(a->low, b->low), std::max(a->high, b->high)};
    case ScalarBinary::shl:
    case ScalarBinary::shr:
    case ScalarBinary::bit_and:
    case ScalarBinary::bit_or:
    case ScalarBinary::bit_xor:
    case ScalarBinary::eq:
    case ScalarBinary::ne:
    case ScalarBinary::lt:
    case ScalarBinary::le:
    case ScalarBinary::gt:
    case ScalarBinary::ge:
    case ScalarBinary::logical_and:
    case ScalarBinary::logical_or:
      return std::nullopt;  // nothing is known
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::isa
