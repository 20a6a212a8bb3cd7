#include "isa/analysis/alignment.h"

#include <algorithm>
#include <variant>

#include "isa/base/check.h"

namespace tilevm::isa {
namespace {

constexpr std::int64_t largest = 1 << 20;

}  // namespace

std::int64_t power_of_two_in(std::int64_t value) {
  if (value == 0) return largest;
  const std::uint64_t bits = static_cast<std::uint64_t>(value);
  const std::uint64_t lowest = bits & (~bits + 1);
  return lowest >= static_cast<std::uint64_t>(largest) ? largest
                                                       : static_cast<std::int64_t>(lowest);
}

/// Statements are visited in the order of the text, in which a variable is defined before its uses.
/// Nothing is known of a variable that is written more than once.
Divisibility::Divisibility(const Kernel& kernel, const Definitions& definitions)
    : of_variable_(kernel.variables.size(), 1) {
  const auto set = [&](VarId var, std::int64_t multiple) {
    if (definitions.written_once(var)) of_variable_[static_cast<std::size_t>(var.index)] = multiple;
  };
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
      set(scalar->target, of(scalar->value));
    } else if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
      set(loop->var, std::min(of(loop->begin), of(loop->step)));
    }
  });
}

std::int64_t Divisibility::of(const Expr& expr) const {
  if (!is_integer(expr.kind())) return 1;
  if (const auto value = expr.constant_value()) return power_of_two_in(value->as_int());
  if (const auto* variable = std::get_if<Expr::Variable>(&expr.node())) {
    return of_variable_[static_cast<std::size_t>(variable->var.index)];
  }
  if (const auto* conversion = std::get_if<Expr::Convert>(&expr.node())) return of(conversion->a);
  if (const auto* binary = std::get_if<Expr::Binary>(&expr.node())) return of(*binary);
  if (const auto* select = std::get_if<Expr::Select>(&expr.node())) {
    return std::min(of(select->a), of(select->b));
  }
  return 1;
}

/// Arithmetic wraps at a power of two that is larger than the limit, so divisibility stays.
std::int64_t Divisibility::of(const Expr::Binary& binary) const {
  switch (binary.op) {
    case ScalarBinary::add:
    case ScalarBinary::sub:
      return std::min(of(binary.a), of(binary.b));
    case ScalarBinary::mul:
      return std::min(largest, of(binary.a) * of(binary.b));
    case ScalarBinary::mod:
    case ScalarBinary::minimum:
    case ScalarBinary::maximum:
      return std::min(of(binary.a), of(binary.b));
    case ScalarBinary::div:
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
      return 1;  // nothing is known
  }
  TILEVM_NO_ENUMERATOR();
}

bool keeps_together(const MemoryLayout& layout, int dim, std::int64_t count) {
  if (layout.swizzle() && (std::int64_t{1} << layout.swizzle()->base) % count != 0) return false;
  if (layout.shape()[static_cast<std::size_t>(dim)] % count != 0) return false;
  std::size_t mode = layout.mode_shape().size();
  bool together = count == 1;
  for (int d = layout.rank() - 1; d >= 0; --d) {
    const std::int64_t extent = layout.shape()[static_cast<std::size_t>(d)];
    for (std::int64_t divisor = 1; divisor < extent;) {
      --mode;
      const std::int64_t size = layout.mode_shape()[mode], stride = layout.mode_strides()[mode];
      if (d == dim && divisor == 1 && stride == 1 && size % count == 0) {
        together = true;
      } else if (stride % count != 0) {
        return false;
      }
      divisor *= size;
    }
  }
  return together;
}

}  // namespace tilevm::isa
