#include "sim/state/context.h"

#include <fmt/format.h>

#include <string>

namespace tilevm::sim {
namespace {

/// The way out of an operation that wraps around.
std::string advice_on_wrapping(const isa::Expr::Binary& binary, isa::ScalarKind kind) {
  if (is_wide(kind)) return "no integer of a program is wider, so make the operands smaller";
  const isa::Expr& first = binary.a.is_constant() ? binary.b : binary.a;
  return fmt::format("compute it in 64 bits, with `i64({})` in place of `{}`",
                     isa::to_string(first), isa::to_string(first));
}

}  // namespace

bool Context::report_scalar_fault(const ScalarFault& found) {
  if (!found.wrapped) {
    return fail(Code::run_division_by_zero, found.span,
                "the divisor of this integer division is zero; test it before");
  }
  const isa::ScalarKind kind = found.wrapped->kind();
  const auto* binary = std::get_if<isa::Expr::Binary>(&found.wrapped->node());
  const isa::Expr a = isa::Expr::constant(isa::Scalar{kind, found.a});
  const isa::Expr b = isa::Expr::constant(isa::Scalar{binary->b.kind(), found.b});
  const isa::Scalar wrapped =
      *isa::apply(binary->op, isa::Scalar{kind, found.a}, isa::Scalar{binary->b.kind(), found.b});
  return fail(
      Code::address_wraps, found.span,
      fmt::format("`{}` is part of an address and wraps around: {} does not hold the exact "
                  "result of {} and {}, and gives {}; {}",
                  isa::to_string(*found.wrapped), to_string(kind), isa::to_string(a),
                  isa::to_string(b), isa::to_string(wrapped), advice_on_wrapping(*binary, kind)));
}

}  // namespace tilevm::sim
