// Scalar expressions: one meaning for every operator, and folding that agrees with it.
#include "isa/inst/expr.h"

#include <cstdint>
#include <limits>

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace {

using namespace tilevm;
using namespace tilevm::isa;

Scalar of(ScalarKind kind, std::int64_t value) { return convert(Scalar::i64(value), kind); }

std::int64_t compute(ScalarBinary op, std::int32_t a, std::int32_t b) {
  return apply(op, Scalar::i32(a), Scalar::i32(b)).value().as_int();
}

constexpr std::int32_t i32_min = std::numeric_limits<std::int32_t>::min();

}  // namespace

TEST_CASE("integers wrap, division truncates toward zero") {
  CHECK(compute(ScalarBinary::add, 2147483647, 1) == i32_min);
  CHECK(compute(ScalarBinary::mul, 65536, 65536) == 0);
  CHECK(compute(ScalarBinary::div, -7, 2) == -3);
  CHECK(compute(ScalarBinary::mod, -7, 2) == -1);
  CHECK(compute(ScalarBinary::div, i32_min, -1) == i32_min);
  CHECK(compute(ScalarBinary::mod, i32_min, -1) == 0);
}

TEST_CASE("division by zero has no value") {
  CHECK_FALSE(apply(ScalarBinary::div, Scalar::i32(1), Scalar::i32(0)));
  CHECK_FALSE(apply(ScalarBinary::mod, of(ScalarKind::u64, 1), of(ScalarKind::u64, 0)));
}

TEST_CASE("the count of a shift is unsigned and clamps at the width") {
  CHECK(compute(ScalarBinary::shl, 1, 31) == i32_min);
  CHECK(compute(ScalarBinary::shl, 1, 32) == 0);
  CHECK(compute(ScalarBinary::shl, 1, -1) == 0);
  CHECK(compute(ScalarBinary::shr, -8, 1) == -4);
  CHECK(compute(ScalarBinary::shr, -8, 64) == -1);
  CHECK(apply(ScalarBinary::shr, of(ScalarKind::u32, -8), Scalar::i32(40))->bits == 0);
  CHECK(apply(ScalarBinary::shl, Scalar::i64(1), Scalar::i32(40))->as_int() == std::int64_t{1}
                                                                                   << 40);
}

TEST_CASE("a conversion from f32 truncates, saturates, and takes NaN for zero") {
  CHECK(convert(Scalar::f32(-1.9F), ScalarKind::i32).as_int() == -1);
  CHECK(convert(Scalar::f32(3e9F), ScalarKind::i32).as_int() == 2147483647);
  CHECK(convert(Scalar::f32(-1.0F), ScalarKind::u32).bits == 0);
  CHECK(convert(Scalar::f32(1e20F), ScalarKind::u64).bits == ~std::uint64_t{0});
  CHECK(convert(Scalar::f32(-1e20F), ScalarKind::i64).as_int() ==
        std::numeric_limits<std::int64_t>::min());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(convert(Scalar::f32(nan), ScalarKind::i32).bits == 0);
  CHECK(Scalar::f32(-nan).bits == 0x7fffffff);
}

TEST_CASE("operands take their common kind, shifts the kind of the left one") {
  const auto var = [](int i, ScalarKind kind) {
    return Expr::variable(VarId{i}, "v" + std::to_string(i), kind);
  };
  const Expr i = var(0, ScalarKind::i32), u = var(1, ScalarKind::u32), w = var(2, ScalarKind::i64);
  CHECK(Expr::binary(ScalarBinary::add, i, u).kind() == ScalarKind::u32);
  CHECK(Expr::binary(ScalarBinary::add, u, w).kind() == ScalarKind::i64);
  CHECK(Expr::binary(ScalarBinary::shl, i, w).kind() == ScalarKind::i32);
  CHECK(Expr::binary(ScalarBinary::lt, i, w).kind() == ScalarKind::boolean);
  CHECK(to_string(Expr::binary(ScalarBinary::mul, Expr::binary(ScalarBinary::add, i, i), i)) ==
        "(v0 + v0) * v0");
  CHECK(to_string(Expr::binary(ScalarBinary::sub, i, Expr::binary(ScalarBinary::sub, i, i))) ==
        "v0 - (v0 - v0)");
}

TEST_CASE("a constant left side decides a logical operator alone") {
  const Expr zero_division = Expr::binary(
      ScalarBinary::eq, Expr::binary(ScalarBinary::div, Expr::constant(1), Expr::constant(0)),
      Expr::constant(0));
  const Expr guarded =
      Expr::binary(ScalarBinary::logical_and, Expr::constant(Scalar::of(false)), zero_division);
  REQUIRE(guarded.constant_value());
  CHECK_FALSE(guarded.constant_value()->as_bool());
}

TEST_CASE("evaluation names the place of a division by zero") {
  const Expr x = Expr::variable(VarId{0}, "x", ScalarKind::i32);
  const Expr quotient = Expr::binary(ScalarBinary::div, Expr::constant(8), x, Span{3, 8});
  const auto value_of = [](VarId) { return Scalar::i32(0); };
  Span fault;
  CHECK_FALSE(evaluate(quotient, value_of, &fault));
  CHECK(fault == Span{3, 8});
  CHECK(evaluate(quotient, [](VarId) { return Scalar::i32(3); })->as_int() == 2);
}

TEST_CASE("folding constants and evaluating variables agree") {
  CHECK(rc::check("fold == evaluate", [](std::int32_t a, std::int32_t b) {
    const auto op = static_cast<ScalarBinary>(*rc::gen::inRange(0, 18));
    const auto ka = static_cast<ScalarKind>(*rc::gen::inRange(0, 5));
    const auto kb = static_cast<ScalarKind>(*rc::gen::inRange(0, 5));
    const Scalar x = of(ka, a), y = of(kb, b);
    const Expr folded = Expr::binary(op, Expr::constant(x), Expr::constant(y));
    const Expr open =
        Expr::binary(op, Expr::variable(VarId{0}, "a", ka), Expr::variable(VarId{1}, "b", kb));
    const auto value = evaluate(open, [&](VarId v) { return v.index == 0 ? x : y; });
    RC_ASSERT(folded.kind() == open.kind());
    RC_ASSERT(folded.constant_value() == value);
  }));
}
