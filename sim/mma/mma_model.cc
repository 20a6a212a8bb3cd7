#include "sim/mma/mma_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "isa/base/check.h"
#include "isa/type/arith.h"
#include "isa/type/number.h"

namespace tilevm::sim {
namespace {

using isa::DType;
using isa::MmaMethod;
using isa::MmaRounding;
using isa::MmaRule;
using isa::MmaScaling;
using isa::Number;

constexpr std::size_t max_block = 64;

/// A term of a block's sum: (-1)^negative * significand * 2^(exponent - point). Alignment
/// uses `exponent`: that of the format's own field, or the sum of two.
struct Term {
  bool negative;
  std::uint64_t significand;
  int exponent;
  int point;
};

DType result_type(MmaRounding output) {
  return output == MmaRounding::f16_nearest_even ? isa::f16 : isa::f32;
}

std::uint64_t infinity_code(const DType& type, bool negative) {
  return isa::encode(type, Number{Number::Class::infinity, negative, 0, 0});
}

/// The effect of NaN and Inf operands on the result of a block.
struct SpecialValues {
  bool nan = false;
  bool positive_inf = false;
  bool negative_inf = false;

  void add_inf(bool negative) { (negative ? negative_inf : positive_inf) = true; }

  void add_product(const Number& a, const Number& b) {
    if (a.is_nan() || b.is_nan()) {
      nan = true;
    } else if (a.is_inf() || b.is_inf()) {
      if (a.is_zero() || b.is_zero()) {
        nan = true;
      } else {
        add_inf(a.negative != b.negative);
      }
    }
  }

  void add_accumulator(const Number& c) {
    nan = nan || c.is_nan();
    if (c.is_inf()) add_inf(c.negative);
  }

  /// The result, if NaN or Inf decide it.
  [[nodiscard]] std::optional<std::uint64_t> result(const DType& type) const {
    if (nan || (positive_inf && negative_inf)) return isa::canonical_nan(type);
    if (positive_inf || negative_inf) return infinity_code(type, negative_inf);
    return std::nullopt;
  }
};

/// A scale; a NaN scale takes effect in the multiplication.
Number decode_scale(MmaScaling scaling, std::uint8_t code) {
  if (scaling == MmaScaling::mxf4nvf4_ue4m3) return isa::decode(isa::f8e4m3, code & 0x7fu);
  if (code == 0xff) return Number{Number::Class::nan, false, 0, 0};
  return Number{Number::Class::finite, false, 1, code - 127};
}

/// value * 2^n, n the exponent of a ue8m0 scale.
Number scaled(Number value, const Number& scale) {
  if (scale.is_nan()) return scale;
  value.exponent += scale.exponent;
  return value;
}

/// The Terms of a block, zeros left out.
class Terms {
 public:
  void add_product(const Number& a, int a_point, const Number& b, int b_point) {
    add({a.negative != b.negative, a.significand * b.significand,
         a.exponent + a_point + b.exponent + b_point, a_point + b_point});
  }

  void add_accumulator(const Number& c, int point) {
    add({c.negative, c.significand, c.exponent + point, point});
  }

  /// A group of sum zero still counts for alignment; a group with a scale of zero does not.
  void add_group(std::int64_t quarters, const Number& a_scale, const Number& b_scale, int point) {
    const std::uint64_t scale = a_scale.significand * b_scale.significand;
    if (scale == 0) return;
    terms_[count_++] = {quarters < 0, static_cast<std::uint64_t>(std::abs(quarters)) * scale,
                        a_scale.exponent + b_scale.exponent + 2 * point, 2 * point + 2};
  }

  /// The sum of all terms, each magnitude truncated `fraction_bits` below the greatest exponent.
  /// Exact in a double: fewer than 2^7 products, each less than 2^(fraction_bits + 2), or five
  /// terms less than 2^(fraction_bits + 11), with at most 35 fraction bits.
  [[nodiscard]] double sum(const MmaRule& rule) const {
    int greatest = rule.min_exponent;
    for (std::size_t i = 0; i < count_; ++i) greatest = std::max(greatest, terms_[i].exponent);
    std::int64_t total = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Term& term = terms_[i];
      const int left = rule.fraction_bits - term.point - (greatest - term.exponent);
      const auto kept = static_cast<std::int64_t>(
          left >= 0 ? term.significand << left : term.significand >> std::min(63, -left));
      total += term.negative ? -kept : kept;
    }
    return std::ldexp(static_cast<double>(total), greatest - rule.fraction_bits);
  }

 private:
  void add(const Term& term) {
    if (term.significand != 0) terms_[count_++] = term;
  }

  std::array<Term, max_block + 1> terms_;
  std::size_t count_ = 0;
};

/// The operands of a block.
struct MmaOperands {
  const DType &a_type, &b_type;
  std::span<const std::uint64_t> a, b;
  MmaScaling scaling;
  const MmaScales& scales;

  /// The values whose product is term k.
  [[nodiscard]] std::pair<Number, Number> factors(std::size_t k) const {
    const Number x = isa::decode(a_type, a[k]), y = isa::decode(b_type, b[k]);
    if (scaling == MmaScaling::none) return {x, y};
    const auto [x_scale, y_scale] = scales_of(k);
    return {scaled(x, x_scale), scaled(y, y_scale)};
  }

  [[nodiscard]] std::pair<Number, Number> scales_of(std::size_t k) const {
    const std::size_t at = k / static_cast<std::size_t>(isa::products_per_scale(scaling));
    return {decode_scale(scaling, scales.a[at]), decode_scale(scaling, scales.b[at])};
  }

  /// The sum of products of f4e2m1, which are multiples of a quarter.
  [[nodiscard]] std::int64_t quarters(std::size_t begin, std::size_t end) const {
    std::int64_t sum = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const Number x = isa::decode(a_type, a[k]), y = isa::decode(b_type, b[k]);
      const auto product =
          static_cast<std::int64_t>(x.significand * y.significand << (x.exponent + y.exponent + 2));
      sum += x.negative != y.negative ? -product : product;
    }
    return sum;
  }
};

/// The sum of a block before it is rounded.
struct Block {
  SpecialValues specials;
  Terms terms;

  void add_products(const MmaOperands& in) {
    for (std::size_t k = 0; k < in.a.size(); ++k) {
      const auto [x, y] = in.factors(k);
      specials.add_product(x, y);
      terms.add_product(x, in.a_type.mantissa_bits, y, in.b_type.mantissa_bits);
    }
  }

  void add_groups(const MmaOperands& in, std::size_t group) {
    const int point = in.scaling == MmaScaling::mxf4nvf4_ue4m3 ? isa::f8e4m3.mantissa_bits : 0;
    for (std::size_t k = 0; k < in.a.size(); k += group) {
      const auto [x_scale, y_scale] = in.scales_of(k);
      specials.add_product(x_scale, y_scale);
      terms.add_group(in.quarters(k, std::min(k + group, in.a.size())), x_scale, y_scale, point);
    }
  }
};

/// How many scales of one operand go with so many products.
std::size_t count_scales(MmaScaling scaling, std::size_t products) {
  const auto per_scale = static_cast<std::size_t>(isa::products_per_scale(scaling));
  return per_scale == 0 ? 0 : (products + per_scale - 1) / per_scale;
}

/// IEEE addition, canonical NaN.
std::uint64_t ieee_add(const DType& type, std::uint64_t a, std::uint64_t b) {
  return isa::apply(isa::BinaryOp::add, type, a, b);
}

std::uint64_t fp8_split(const MmaRule& rule, const DType& a_type, const DType& b_type,
                        std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                        std::uint64_t c) {
  std::uint64_t accumulator = 0;
  for (const std::size_t half : {0, 1}) {
    std::array<std::uint64_t, max_block> a_half{}, b_half{};
    std::size_t count = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if ((k >> 1 & 1) != half) continue;
      a_half[count] = isa::cast(a_type, isa::f16, a[k]);
      b_half[count++] = isa::cast(b_type, isa::f16, b[k]);
    }
    accumulator = mma_block(rule, isa::f16, isa::f16, std::span(a_half).first(count),
                            std::span(b_half).first(count), accumulator);
  }
  return ieee_add(result_type(rule.output), c, accumulator);
}

std::uint64_t integer_sum(const DType& a_type, const DType& b_type,
                          std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c) {
  std::uint64_t sum = c;
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += isa::cast(a_type, isa::i32, a[k]) * isa::cast(b_type, isa::i32, b[k]);
  }
  return sum & 0xffffffff;
}

std::uint64_t f64_chain(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                        std::uint64_t c) {
  double sum = std::bit_cast<double>(c);
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum = std::fma(std::bit_cast<double>(a[k]), std::bit_cast<double>(b[k]), sum);
  }
  return std::isnan(sum) ? isa::canonical_nan(isa::f64) : std::bit_cast<std::uint64_t>(sum);
}

/// Drops bits below `digits` significant bits, or below 2^least.
double truncate(double value, int digits, int least) {
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int unit = std::max(exponent - digits, least);
  return std::ldexp(std::trunc(std::ldexp(value, -unit)), unit);
}

std::uint32_t encode_truncated(double value) {
  // A value of 24 bits is exact in f32 unless it is too large; a value too large becomes Inf.
  return static_cast<std::uint32_t>(isa::encode(isa::f32, isa::number_from(value)));
}

}  // namespace

std::uint32_t round_block_sum(MmaRounding output, double value) {
  std::uint32_t code = 0;
  switch (output) {
    case MmaRounding::f32_toward_zero:
      code = encode_truncated(truncate(value, 24, -149));
      break;
    case MmaRounding::e8m13_toward_zero:
      code = encode_truncated(truncate(value, 14, -139));
      break;
    case MmaRounding::f16_nearest_even:
      code = static_cast<std::uint32_t>(isa::encode(isa::f16, isa::number_from(value)));
      return (code & 0x7fff) == 0 ? 0 : code;
    case MmaRounding::none:
      TILEVM_CHECK(false, "integers and f64 have no block sum");
  }
  return (code & 0x7fffffff) == 0 ? 0 : code;
}

std::uint64_t mma_block(const MmaRule& rule, const DType& a_type, const DType& b_type,
                        std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                        std::uint64_t c, const MmaScales& scales) {
  TILEVM_CHECK(a.size() == b.size() && a.size() <= max_block, "operands of one block");
  const std::size_t scale_count = count_scales(rule.scaling, a.size());
  TILEVM_CHECK(scales.a.size() == scale_count && scales.b.size() == scale_count,
               "scales of one block");
  const DType type = result_type(rule.output);
  const Number accumulator = isa::decode(type, c);
  const MmaOperands operands{a_type, b_type, a, b, rule.scaling, scales};
  Block block;
  if (rule.group != 0) {
    block.add_groups(operands, static_cast<std::size_t>(rule.group));
  } else {
    block.add_products(operands);
  }
  block.specials.add_accumulator(accumulator);
  if (const auto decided = block.specials.result(type)) return *decided;
  block.terms.add_accumulator(accumulator, type.mantissa_bits);
  return round_block_sum(rule.output, block.terms.sum(rule));
}

std::uint64_t mma_reference(const MmaRule& rule, const DType& a_type, const DType& b_type,
                            std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                            std::uint64_t c, const MmaScales& scales) {
  TILEVM_CHECK(a.size() == b.size(), "operands of equal length");
  switch (rule.method) {
    case MmaMethod::fp8_split:
      TILEVM_CHECK(a.size() <= 2 * static_cast<std::size_t>(rule.block), "k of one instruction");
      return fp8_split(rule, a_type, b_type, a, b, c);
    case MmaMethod::integer:
      return integer_sum(a_type, b_type, a, b, c);
    case MmaMethod::f64_chain:
      return f64_chain(a, b, c);
    case MmaMethod::blocks:
      break;
  }
  const auto block = static_cast<std::size_t>(rule.block);
  for (std::size_t k = 0; k < a.size(); k += block) {
    const std::size_t count = std::min(block, a.size() - k);
    const std::size_t first = count_scales(rule.scaling, k);
    const std::size_t scale_count = count_scales(rule.scaling, count);
    c = mma_block(rule, a_type, b_type, a.subspan(k, count), b.subspan(k, count), c,
                  {scales.a.subspan(first, scale_count), scales.b.subspan(first, scale_count)});
  }
  return c;
}

}  // namespace tilevm::sim
