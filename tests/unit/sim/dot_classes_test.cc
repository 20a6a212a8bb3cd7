// Whole Dots of every class against plain loops over the definition of one output element.
#include <doctest/doctest.h>

#include <cmath>

#include "isa/dot.h"
#include "isa/numeric/mma_rules.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/mma_model.h"
#include "tests/unit/sim/running.h"
#include "vm/fidelity/random_operands.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;
using namespace tilevm::vm::fidelity;

namespace {

using isa::DType;
using Codes = std::vector<std::uint64_t>;

struct Extents {
  std::size_t m, n, k;
};

Buffer pack(std::string name, const DType& type, const Codes& codes) {
  Buffer result{std::move(name),
                std::vector<std::uint8_t>(isa::bytes_for_bits(codes.size() * type.bits))};
  isa::pack_bits(result.bytes.data(), 0, type.bits, codes);
  return result;
}

Codes unpack(const Buffer& buffer, const DType& type, std::size_t count) {
  Codes codes(count);
  isa::unpack_bits(buffer.bytes.data(), 0, type.bits, codes);
  return codes;
}

/// One block: d = a b + c with the given layouts.
isa::VerifiedProgram program(const DType& a, const DType& b, const DType& c, const Extents& size,
                             const std::string& a_layout, const std::string& b_layout,
                             const std::string& c_layout, const isa::Target& target = {}) {
  const auto m = std::to_string(size.m), n = std::to_string(size.n), k = std::to_string(size.k);
  return load(
      "def f<1>(" + to_string(a) + "* a_ptr, " + to_string(b) + "* b_ptr, " + to_string(c) +
          "* c_ptr, " + to_string(c) + "* d_ptr):\n" +
          "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[" + m + ", " + k + "]), layout=" + a_layout +
          ")\n" + "    b = LoadGlobal(ViewGlobal(b_ptr, shape=[" + k + ", " + n +
          "]), layout=" + b_layout + ")\n" + "    c = LoadGlobal(ViewGlobal(c_ptr, shape=[" + m +
          ", " + n + "]), layout=" + c_layout + ")\n" +
          "    StoreGlobal(Dot(a, b, c), ViewGlobal(d_ptr, shape=[" + m + ", " + n + "]))\n",
      {}, target);
}

struct Operands {
  Codes a, b, c;
};

Operands random_operands(Random& random, const DType& a, const DType& b, const DType& c,
                         const Extents& size) {
  const Spreads spreads = random_spreads(random, a, b, c);
  return {random_codes(random, a, size.m * size.k, spreads.a),
          random_codes(random, b, size.k * size.n, spreads.b),
          random_codes(random, c, size.m * size.n, spreads.c)};
}

Codes run_dot(const isa::VerifiedProgram& dot, const DType& a, const DType& b, const DType& c,
              const Extents& size, const Operands& in) {
  std::vector<Buffer> memory{pack("a", a, in.a), pack("b", b, in.b), pack("c", c, in.c),
                             pack("d", c, Codes(size.m * size.n, 0))};
  run_well(dot, {0, 1, 2, 3}, memory);
  return unpack(memory[3], c, size.m * size.n);
}

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

/// Three by two fragments in each thread, three steps of k: no larger instruction fits.
isa::VerifiedProgram program_of(const isa::MmaShape& shape, const DType& a, const DType& b,
                                const Extents& size, const isa::Target& target) {
  return program(a, b, shape.accumulator, size, "local(3, 3)." + to_string(shape.a_layout),
                 "local(3, 2)." + to_string(shape.b_layout),
                 "local(3, 2)." + to_string(shape.c_layout), target);
}

Extents extents_of(const isa::MmaShape& shape) {
  return {3 * static_cast<std::size_t>(shape.m), 2 * static_cast<std::size_t>(shape.n),
          3 * static_cast<std::size_t>(shape.k)};
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

namespace {

constexpr std::string_view f8_a = "local(2, 1).spatial(8, 4).local(1, 4)",
                           f8_b = "column_spatial(4, 8).local(4, 1)",
                           c_layout = "local(2, 1).spatial(8, 4).local(1, 2)";

/// The first element of a Dot whose first row and column are given.
std::uint64_t first_element(int sm, const DType& type, const Codes& row, const Codes& column,
                            std::uint64_t c) {
  const Extents size{16, 8, 16};
  const bool is_f16 = type == isa::f16;
  const auto dot =
      program(type, type, isa::f32, size,
              is_f16 ? "column_local(2, 2).spatial(8, 4).local(1, 2)" : std::string(f8_a),
              is_f16 ? "local(2, 1).column_spatial(4, 8).local(2, 1)" : std::string(f8_b),
              std::string(c_layout), {sm, false});
  Operands in{Codes(256, 0), Codes(128, 0), Codes(128, 0)};
  for (std::size_t k = 0; k < row.size(); ++k) in.a[k] = row[k], in.b[k * 8] = column[k];
  in.c[0] = c;
  return run_dot(dot, type, type, isa::f32, size, in)[0];
}

}  // namespace

TEST_CASE("each generation gives its own bits") {
  // f16, 2^24 - 2^24 + 2^-2: sm_80 and sm_89 add k 8 .. 15 after k 0 .. 7, later ones all at once.
  Codes row(16, 0), column(16, 0);
  row[0] = 0x6c00, column[0] = 0x6c00, row[1] = 0xec00, column[1] = 0x6c00;
  row[8] = 0x3800, column[8] = 0x3800;
  for (const int sm : {80, 86, 89})
    CHECK(first_element(sm, isa::f16, row, column, 0) == 0x3e800000);
  for (const int sm : {90, 100, 120}) CHECK(first_element(sm, isa::f16, row, column, 0) == 0);
  // f8e4m3, 1 * 1 + (1 + 3 * 2^-23): sm_89 keeps 13 bits; sm_90 and sm_100 round to nearest in an
  // addition at the end; sm_120 truncates.
  const auto fp8 = [](int sm) {
    return first_element(sm, isa::f8e4m3, {0x38}, {0x38}, 0x3f800003);
  };
  CHECK(fp8(89) == 0x40000000);
  CHECK(fp8(90) == 0x40000002);
  CHECK(fp8(100) == 0x40000002);
  CHECK(fp8(120) == 0x40000001);
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
