// Arithmetic of f16 and bf16 in the simulator's loops against MPFR: one rounding to nearest even,
// with subnormals, overflow, signed zeros and NaN, at every level of vector instructions.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "isa/inst/elementwise.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/mma/chain_kernel.h"
#include "tests/oracles/mpfr_support.h"
#include "tests/oracles/sampling.h"

namespace tilevm::oracles {
namespace {

using isa::BinaryOp;
using isa::DType;
using Codes = std::vector<std::uint64_t>;

constexpr std::array types{isa::f16, isa::bf16};
constexpr std::uint64_t per_operation = (std::uint64_t{1} << 20) / fewer;

double value_of(const DType& type, std::uint64_t code) {
  return isa::to_double(isa::decode(type, code));
}

struct Operation {
  BinaryOp op;
  int (*exact)(mpfr_ptr result, mpfr_srcptr a, mpfr_srcptr b, mpfr_rnd_t mode);
};

constexpr std::array operations{
    Operation{BinaryOp::add, mpfr_add}, Operation{BinaryOp::sub, mpfr_sub},
    Operation{BinaryOp::mul, mpfr_mul}, Operation{BinaryOp::div, mpfr_div},
    Operation{BinaryOp::mod, mpfr_fmod}};

/// Codes whose exponents lie around `center`.
Codes codes_near(Random& random, const DType& type, int center, std::size_t count) {
  return vm::fidelity::random_codes(random, type, count, {center, 1 + random.below(20), 100});
}
int any_exponent(Random& random, const DType& type) {
  return random.below(1 << type.exponent_bits);
}

Codes expected(const Operation& operation, const DType& type, const Codes& a, const Codes& b) {
  const int precision = FormatRange::precision(type);
  const FormatRange range(type);
  Real x(precision), y(precision), result(precision);
  Codes codes;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mpfr_set_d(x, value_of(type, a[i]), MPFR_RNDN);
    mpfr_set_d(y, value_of(type, b[i]), MPFR_RNDN);
    const int ternary = operation.exact(result, x, y, MPFR_RNDN);
    codes.push_back(range.code(result, ternary));
  }
  return codes;
}

Codes computed(BinaryOp op, const DType& type, sim::SimdLevel level, const Codes& a,
               const Codes& b) {
  const std::vector<std::uint16_t> x(a.begin(), a.end()), y(b.begin(), b.end());
  std::vector<std::uint16_t> result(x.size());
  sim::binary_loop(op, type, level)(reinterpret_cast<const std::uint8_t*>(x.data()),
                                    reinterpret_cast<const std::uint8_t*>(y.data()),
                                    reinterpret_cast<std::uint8_t*>(result.data()), x.size());
  return {result.begin(), result.end()};
}

}  // namespace

TEST_CASE("sums, products, quotients and remainders round once") {
  for (const DType& type : types) {
    for (const Operation& operation : operations) {
      CAPTURE(to_string(type));
      const std::string name(isa::describe(operation.op).mnemonic);
      CAPTURE(name);
      Random random(1);
      for (std::uint64_t done = 0; done < per_operation; done += 4096) {
        const int center = any_exponent(random, type);
        const bool near = random.one_in(2);
        const Codes a = codes_near(random, type, center, 4096);
        const Codes b = codes_near(random, type, near ? center : any_exponent(random, type), 4096);
        const Codes wanted = expected(operation, type, a, b);
        for (const sim::SimdLevel level : sim::simd_levels()) {
          CAPTURE(to_string(level));
          REQUIRE(computed(operation.op, type, level, a, b) == wanted);
        }
      }
    }
  }
}

namespace {

/// a[m] b[n] + c[m][n], one multiply-add for each element.
struct Products {
  static constexpr std::size_t m = 32, n = 32;
  Codes a, b, c;
};

Products random_products(Random& random, const DType& type) {
  const int a = any_exponent(random, type), b = any_exponent(random, type);
  const int c = a + b - type.bias() + random.below(2 * type.mantissa_bits + 8) - type.mantissa_bits;
  return {codes_near(random, type, a, Products::m), codes_near(random, type, b, Products::n),
          codes_near(random, type, c, Products::m * Products::n)};
}

std::vector<float> floats(const DType& type, const Codes& codes) {
  std::vector<float> values;
  for (const std::uint64_t code : codes) {
    values.push_back(static_cast<float>(value_of(type, code)));
  }
  return values;
}

Codes expected(const DType& type, const Products& in) {
  const int precision = FormatRange::precision(type);
  const FormatRange range(type);
  Real x(precision), y(precision), z(precision), result(precision);
  Codes codes;
  for (std::size_t i = 0; i < in.c.size(); ++i) {
    mpfr_set_d(x, value_of(type, in.a[i / Products::n]), MPFR_RNDN);
    mpfr_set_d(y, value_of(type, in.b[i % Products::n]), MPFR_RNDN);
    mpfr_set_d(z, value_of(type, in.c[i]), MPFR_RNDN);
    const int ternary = mpfr_fma(result, x, y, z, MPFR_RNDN);
    codes.push_back(range.code(result, ternary));
  }
  return codes;
}

/// As codes, so that zeros have signs and one NaN is as good as another; of a number that the type
/// does not hold, a code that it does not have.
Codes computed(sim::ChainType chain, const DType& type, sim::SimdLevel level, const Products& in) {
  const auto a = floats(type, in.a), b = floats(type, in.b);
  auto c = floats(type, in.c);
  sim::multiply<float>(chain, {Products::m, Products::n, 1, a.data(), b.data(), c.data()}, level);
  Codes codes;
  for (const float value : c) {
    const isa::Number number = isa::number_from(static_cast<double>(value));
    codes.push_back(isa::representable(type, number) ? isa::encode(type, number) : 1 << 16);
  }
  return codes;
}

}  // namespace

TEST_CASE("multiply-adds of f16 and bf16 round once") {
  for (const auto& [type, chain] :
       {std::pair{isa::f16, sim::ChainType::f16}, {isa::bf16, sim::ChainType::bf16}}) {
    CAPTURE(to_string(type));
    Random random(2);
    for (std::uint64_t done = 0; done < per_operation; done += Products::m * Products::n) {
      const Products in = random_products(random, type);
      const Codes wanted = expected(type, in);
      for (const sim::SimdLevel level : sim::simd_levels()) {
        CAPTURE(to_string(level));
        REQUIRE(computed(chain, type, level, in) == wanted);
      }
    }
  }
}

}  // namespace tilevm::oracles
