// Whole Dots of every class against plain loops over the definition of one output element.
#include <doctest/doctest.h>

#include <cmath>

#include "isa/dot/dot.h"
#include "isa/numeric/mma_rules.h"
#include "isa/type/number.h"
#include "sim/mma/mma_model.h"
#include "tests/unit/sim/dot_running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

using isa::DType;

/// f(row of a, column of b, c) for every element.
template <class F>
Codes each_element(const Extents& size, const Operands& in, F&& f) {
  Codes d;
  for (std::size_t y = 0; y < size.m; ++y) {
    for (std::size_t x = 0; x < size.n; ++x) {
      Codes row(size.k), column(size.k);
      for (std::size_t k = 0; k < size.k; ++k) {
        row[k] = in.a[y * size.k + k];
        column[k] = in.b[k * size.n + x];
      }
      d.push_back(f(row, column, in.c[y * size.n + x]));
    }
  }
  return d;
}

/// A chain of instructions of depth `step`.
std::uint64_t chain_of(const isa::MmaRule& rule, const DType& a, const DType& b, std::size_t step,
                       const Codes& row, const Codes& column, std::uint64_t c) {
  for (std::size_t k = 0; k < row.size(); k += step) {
    c = mma_reference(rule, a, b, std::span(row).subspan(k, step),
                      std::span(column).subspan(k, step), c);
  }
  return c;
}

std::int64_t bipolar_value(const DType& type, std::uint64_t code) {
  std::int64_t value = 0;
  for (unsigned bit = 0; bit < type.bits; ++bit) {
    value += ((code >> bit & 1) != 0 ? 1 : -1) * (std::int64_t{1} << bit);
  }
  return value;
}

}  // namespace

TEST_CASE("every instruction of every target computes chains of the model") {
  int instructions = 0;
  for (const int sm : {80, 89, 90, 100, 120}) {
    const isa::Target target{sm, false};
    for (const isa::MmaShape& shape : isa::mma_shapes()) {
      if (shape.min_sm > sm) continue;
      ++instructions;
      CAPTURE(sm);
      CAPTURE(shape.name);
      CAPTURE(to_string(shape.a));
      CAPTURE(to_string(shape.b));
      CAPTURE(to_string(shape.accumulator));
      const Extents size = extents_of(shape);
      const auto dot = program_of(shape, shape.a, shape.b, size, target);
      const auto rule = *isa::mma_rule(target, shape.a, shape.b, shape.accumulator);
      Random random(static_cast<std::uint64_t>(instructions));
      for (int i = 0; i < 3; ++i) {
        const Operands in = random_operands(random, shape.a, shape.b, shape.accumulator, size);
        CHECK(run_dot(dot, shape.a, shape.b, shape.accumulator, size, in) ==
              each_element(size, in, [&](const Codes& row, const Codes& column, std::uint64_t c) {
                return chain_of(rule, shape.a, shape.b, static_cast<std::size_t>(shape.k), row,
                                column, c);
              }));
      }
    }
  }
  CHECK(instructions > 200);
}

TEST_CASE("bipolar operands of all widths give the exact sum, by bits and by values") {
  Random random(1);
  for (int a_bits = 1; a_bits <= 8; ++a_bits) {
    for (int b_bits = 1; b_bits <= 8; ++b_bits) {
      const DType a = isa::bipolar(a_bits), b = isa::bipolar(b_bits);
      for (const isa::MmaShape* shape : isa::dot_shapes({}, a, b, isa::i32)) {
        const Extents size = extents_of(*shape);
        const auto dot = program_of(*shape, a, b, size, {});
        const Operands in = random_operands(random, a, b, isa::i32, size);
        CAPTURE(a_bits);
        CAPTURE(b_bits);
        CAPTURE(shape->name);
        CHECK(run_dot(dot, a, b, isa::i32, size, in) ==
              each_element(size, in, [&](const Codes& row, const Codes& column, std::uint64_t c) {
                std::int64_t sum = static_cast<std::int32_t>(c);
                for (std::size_t k = 0; k < row.size(); ++k) {
                  sum += bipolar_value(a, row[k]) * bipolar_value(b, column[k]);
                }
                return static_cast<std::uint64_t>(static_cast<std::uint32_t>(sum));
              }));
      }
    }
  }
}

namespace {

/// One step of a chain by its definition.
std::uint64_t multiply_add(const DType& type, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (type.is_integer()) return (a * b + c) & isa::low_mask(type.bits);
  if (type == isa::f64 || type == isa::f32) {
    const auto value = [&](std::uint64_t code) { return isa::to_double(isa::decode(type, code)); };
    const double sum = type == isa::f64
                           ? std::fma(value(a), value(b), value(c))
                           : std::fma(static_cast<float>(value(a)), static_cast<float>(value(b)),
                                      static_cast<float>(value(c)));
    return isa::encode(type, isa::number_from(sum));
  }
  // Exact, in integers: a product has 22 bits, c has 11.
  const isa::Number x = isa::decode(type, a), y = isa::decode(type, b), z = isa::decode(type, c);
  if (x.cls != isa::Number::Class::finite || y.cls != isa::Number::Class::finite ||
      z.cls != isa::Number::Class::finite) {
    const double sum = isa::to_double(x) * isa::to_double(y) + isa::to_double(z);
    return isa::encode(type, isa::number_from(sum));
  }
  const bool negative = x.negative != y.negative;
  const std::uint64_t product = x.significand * y.significand;
  const int exponent = x.exponent + y.exponent;
  if (product == 0 || z.significand == 0) {
    if (product == 0 && z.significand == 0 && negative != z.negative) return 0;
    return isa::encode(
        type,
        product == 0 ? z : isa::Number{isa::Number::Class::finite, negative, product, exponent});
  }
  // Further apart than that, the smaller one only tells on which side of the larger the sum lies.
  const bool c_above = z.exponent > exponent;
  const int gap = std::min(36, std::abs(z.exponent - exponent));
  const std::int64_t left = static_cast<std::int64_t>(product) << (c_above ? 0 : gap);
  const std::int64_t right = static_cast<std::int64_t>(z.significand) << (c_above ? gap : 0);
  const std::int64_t sum = (negative ? -left : left) + (z.negative ? -right : right);
  return isa::encode(
      type, {isa::Number::Class::finite, sum < 0, static_cast<std::uint64_t>(std::abs(sum)),
             c_above ? z.exponent - gap : exponent - gap});
}

/// An operand as a code of the accumulator's type; what is negative wraps.
std::uint64_t operand_of(const DType& type, const DType& c, std::uint64_t code) {
  if (!type.is_bipolar() || !c.is_integer()) return isa::cast(type, c, code);
  return static_cast<std::uint64_t>(bipolar_value(type, code)) & isa::low_mask(c.bits);
}

struct ChainClass {
  DType a, b, c;
};

}  // namespace

TEST_CASE("without tensor cores each element is a chain of multiply-adds") {
  const Extents size{6, 8, 11};
  const std::vector<ChainClass> classes{{isa::f32, isa::f32, isa::f32},
                                        {isa::f64, isa::f64, isa::f64},
                                        {isa::f16, isa::f16, isa::f16},
                                        {isa::bf16, isa::bf16, isa::bf16},
                                        {isa::f16, isa::bf16, isa::f32},
                                        {isa::tf32, isa::f8e4m3, isa::f32},
                                        {isa::f8e5m2, isa::f8e4m3, isa::f16},
                                        {isa::f32, isa::tf32, isa::f64},
                                        {isa::small_float(3, 2), isa::small_float(2, 1), isa::bf16},
                                        {isa::signed_int(7), isa::bipolar(8), isa::f16},
                                        {isa::u16, isa::i16, isa::f32},
                                        {isa::u32, isa::i32, isa::f64},
                                        {isa::i32, isa::u32, isa::i32},
                                        {isa::bipolar(3), isa::u1, isa::u32},
                                        {isa::i8, isa::i64, isa::i64},
                                        {isa::u32, isa::i32, isa::u64}};
  for (const ChainClass& type : classes) {
    CAPTURE(to_string(type.a));
    CAPTURE(to_string(type.b));
    CAPTURE(to_string(type.c));
    const auto dot =
        program(type.a, type.b, type.c, size, "spatial(2, 1).replicated(4).column_local(3, 11)",
                "replicated(2).local(1, 2).spatial(1, 4).local(11, 1)",
                "spatial(2, 1).local(3, 2).spatial(1, 4)");
    Random random(5);
    for (int i = 0; i < 40; ++i) {
      const Operands in = random_operands(random, type.a, type.b, type.c, size);
      CHECK(run_dot(dot, type.a, type.b, type.c, size, in) ==
            each_element(size, in, [&](const Codes& row, const Codes& column, std::uint64_t c) {
              for (std::size_t k = 0; k < row.size(); ++k) {
                c = multiply_add(type.c, operand_of(type.a, type.c, row[k]),
                                 operand_of(type.b, type.c, column[k]), c);
              }
              return c;
            }));
    }
  }
}

TEST_CASE("one thread may hold everything") {
  const Extents size{3, 5, 7};
  const auto dot = program(isa::f32, isa::f32, isa::f32, size, "local(3, 7)", "column_local(7, 5)",
                           "local(3, 5)");
  Operands in{Codes(21), Codes(35), Codes(15)};
  for (std::size_t i = 0; i < 21; ++i) in.a[i] = isa::encode(isa::f32, isa::number_from(double(i)));
  for (std::size_t i = 0; i < 35; ++i) in.b[i] = isa::encode(isa::f32, isa::number_from(double(i)));
  const Codes d = run_dot(dot, isa::f32, isa::f32, isa::f32, size, in);
  // Row 2 by column 4: sum of (14 + k) (5 k + 4).
  CHECK(isa::to_double(isa::decode(isa::f32, d[14])) == 14 * 133 + 5 * 91 + 4 * 21);
}

TEST_CASE("what a generation does not have it does not compute") {
  const auto plan = [](int sm, const DType& type, const DType& c, const isa::MmaShape& shape) {
    return isa::plan_dot({type, shape.a_layout}, {type, shape.b_layout}, {c, shape.c_layout},
                         {sm, false}, nullptr);
  };
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    if (shape.a != shape.b) continue;
    for (const isa::Target& target : isa::known_targets()) {
      CAPTURE(shape.name);
      CAPTURE(to_string(shape.a));
      CAPTURE(to_string(target));
      const auto found = plan(target.sm, shape.a, shape.accumulator, shape);
      const bool in_parts = shape.a == isa::f64;  // of m8n8k4
      CHECK(found.has_value() == (shape.min_sm <= target.sm || in_parts));
      if (found && shape.min_sm <= target.sm) CHECK(found->shape == &shape);
    }
  }
}
