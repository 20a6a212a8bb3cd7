#include "sim/state/scalar_code.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "isa/inst/expr.h"

using namespace tilevm;
using isa::Expr;
using isa::ScalarBinary;
using isa::ScalarKind;

namespace {

constexpr int variable_count = 6;  // one of each kind

std::uint64_t canonical(ScalarKind kind, std::uint64_t bits) {
  return isa::convert({ScalarKind::i64, bits}, kind).bits;
}

/// A random expression; small values make comparisons and zero divisors likely.
Expr random_expr(int depth) {
  const auto choice = *rc::gen::inRange(0, depth > 0 ? 6 : 2);
  if (choice == 0) return Expr::constant(*rc::gen::inRange<std::int64_t>(-3, 4));
  if (choice == 1) {
    const auto v = *rc::gen::inRange(0, variable_count);
    return Expr::variable({v}, "v", static_cast<ScalarKind>(v), Span{1, 2});
  }
  const Expr a = random_expr(depth - 1);
  if (choice == 2) return Expr::convert(a, static_cast<ScalarKind>(*rc::gen::inRange(0, 6)));
  if (choice == 3) {
    const auto op = static_cast<isa::ScalarUnary>(*rc::gen::inRange(0, 3));
    return isa::supports(op, a.kind()) ? Expr::unary(op, a, Span{3, 4}) : a;
  }
  const Expr b = random_expr(depth - 1);
  const auto op = static_cast<ScalarBinary>(*rc::gen::inRange(0, 18));
  const auto place = static_cast<std::uint32_t>(*rc::gen::inRange(5, 500));
  return isa::supports(op, a.kind(), b.kind()) ? Expr::binary(op, a, b, Span{place, place}) : b;
}

}  // namespace

TEST_CASE("compiled expressions give what the tree gives, value or fault") {
  CHECK(rc::check("evaluate", [] {
    const Expr expr = random_expr(5);
    std::vector<std::uint64_t> variables;
    for (int v = 0; v < variable_count; ++v) {
      const auto bits = static_cast<std::uint64_t>(*rc::gen::inRange<std::int64_t>(-4, 5));
      variables.push_back(canonical(static_cast<ScalarKind>(v), bits));
    }
    Span expected_place{}, place{};
    const auto expected = isa::evaluate(
        expr,
        [&](isa::VarId var) {
          return isa::Scalar{static_cast<ScalarKind>(var.index),
                             variables[static_cast<std::size_t>(var.index)]};
        },
        &expected_place);
    std::uint64_t bits = 0;
    const bool ok = sim::ScalarCode(expr).evaluate(variables.data(), bits, place);
    RC_ASSERT((ok == expected.has_value()));
    if (ok) {
      RC_ASSERT((bits == expected->bits));
    } else {
      RC_ASSERT((place == expected_place));
    }
  }));
}

TEST_CASE("a deep expression needs no more than its own stack") {
  Expr expr = Expr::variable({0}, "v", ScalarKind::i32);
  for (int i = 0; i < 200; ++i) {
    expr = Expr::binary(ScalarBinary::add, Expr::variable({0}, "v", ScalarKind::i32), expr);
  }
  const std::uint64_t one = 1;
  std::uint64_t bits = 0;
  Span place{};
  REQUIRE(sim::ScalarCode(expr).evaluate(&one, bits, place));
  CHECK(bits == 201);
}
