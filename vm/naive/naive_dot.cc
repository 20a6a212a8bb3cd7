#include "vm/naive/naive_dot.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "isa/base/check.h"
#include "isa/numeric/mma_rules.h"
#include "isa/type/arith.h"
#include "isa/type/fma.h"
#include "isa/type/number.h"

namespace tilevm::vm::naive {
namespace {

using isa::DType;
using isa::MmaRounding;
using isa::MmaRule;
using isa::Number;

using Codes = std::vector<std::uint64_t>;

/// A float code by its fields. `exponent` is that of the field, at least the smallest normal one;
/// the value is significand * 2^(exponent - fraction_bits).
struct Fields {
  bool negative = false, nan = false, infinite = false, zero = false;
  std::int64_t significand = 0;
  int exponent = 0;
  int fraction_bits = 0;
};

Fields fields_of(const DType& type, std::uint64_t code) {
  const unsigned unused_bits = type.unused_bits();
  code >>= unused_bits;
  const std::uint64_t mantissa = code & ((std::uint64_t{1} << type.mantissa_bits) - 1);
  const std::uint64_t field =
      (code >> type.mantissa_bits) & ((std::uint64_t{1} << type.exponent_bits) - 1);
  const Number number = isa::decode(type, code << unused_bits);
  Fields fields;
  fields.negative = number.negative;
  fields.nan = number.is_nan();
  fields.infinite = number.is_inf();
  fields.zero = number.is_zero();
  fields.fraction_bits = type.mantissa_bits;
  fields.exponent = std::max<int>(static_cast<int>(field), 1) - type.bias();
  fields.significand = static_cast<std::int64_t>(mantissa);
  if (field != 0) fields.significand += std::int64_t{1} << type.mantissa_bits;
  return fields;
}

/// A number that is added: significand * 2^(exponent - fraction_bits).
struct Term {
  bool negative;
  std::int64_t significand;
  int exponent;
  int fraction_bits;
};

/// A term in units of 2^unit, what is smaller cut off.
std::int64_t in_units(const Term& term, int unit) {
  const int shift = term.exponent - term.fraction_bits - unit;
  std::int64_t magnitude = term.significand;
  if (shift >= 0) magnitude <<= shift;
  if (shift < 0) magnitude = shift <= -63 ? 0 : magnitude >> -shift;
  return term.negative ? -magnitude : magnitude;
}

/// total * 2^unit with at most so many significant bits, the others cut off; no bit is below
/// 2^least.
std::uint64_t truncated_f32(std::int64_t total, int unit, int digits, int least) {
  const bool negative = total < 0;
  auto magnitude = static_cast<std::uint64_t>(negative ? -total : total);
  while (magnitude != 0 && ((magnitude >> digits) != 0 || unit < least)) {
    magnitude >>= 1;
    ++unit;
  }
  if (magnitude == 0) return 0;
  return isa::encode(isa::f32, Number{Number::Class::finite, negative, magnitude, unit});
}

std::uint64_t rounded(MmaRounding rounding, std::int64_t total, int unit) {
  switch (rounding) {
    case MmaRounding::f32_toward_zero:
      return truncated_f32(total, unit, 24, -149);
    case MmaRounding::e8m13_toward_zero:
      return truncated_f32(total, unit, 14, -139);
    case MmaRounding::f16_nearest_even: {
      const bool negative = total < 0;
      const auto magnitude = static_cast<std::uint64_t>(negative ? -total : total);
      const std::uint64_t code =
          isa::encode(isa::f16, Number{Number::Class::finite, negative, magnitude, unit});
      return code == 0x8000 ? 0 : code;
    }
    case MmaRounding::none:
      break;
  }
  TILEVM_CHECK(false, "a rule that adds in blocks rounds");
}

DType result_type(const MmaRule& rule) {
  return rule.output == MmaRounding::f16_nearest_even ? isa::f16 : isa::f32;
}

/// Finite terms to be added, and what other terms there were.
struct Sum {
  bool nan = false, positive_infinite = false, negative_infinite = false;
  std::vector<Term> terms = {};

  void add_infinite(bool negative) { (negative ? negative_infinite : positive_infinite) = true; }
};

/// c + the sum, rounded once.
std::uint64_t rounded_sum(const MmaRule& rule, Sum sum, std::uint64_t c) {
  const DType type = result_type(rule);
  const Fields z = fields_of(type, c);
  sum.nan |= z.nan;
  if (z.infinite) sum.add_infinite(z.negative);
  if (!z.nan && !z.infinite && !z.zero) {
    sum.terms.push_back({z.negative, z.significand, z.exponent, z.fraction_bits});
  }
  if (sum.nan || (sum.positive_infinite && sum.negative_infinite)) return isa::canonical_nan(type);
  if (sum.positive_infinite || sum.negative_infinite) {
    return isa::encode(type, Number{Number::Class::infinity, sum.negative_infinite, 0, 0});
  }
  int greatest = rule.min_exponent;
  for (const Term& term : sum.terms) greatest = std::max(greatest, term.exponent);
  const int unit = greatest - rule.fraction_bits;
  std::int64_t total = 0;
  for (const Term& term : sum.terms) total += in_units(term, unit);
  return rounded(rule.output, total, unit);
}

/// The product of two elements; nothing if it is zero, or neither finite nor zero, which `sum`
/// gets.
std::optional<Term> product_of(const Fields& x, const Fields& y, Sum& sum) {
  const bool negative = x.negative != y.negative;
  if (x.nan || y.nan || (x.infinite && y.zero) || (x.zero && y.infinite)) {
    sum.nan = true;
  } else if (x.infinite || y.infinite) {
    sum.add_infinite(negative);
  } else if (!x.zero && !y.zero) {
    return Term{negative, x.significand * y.significand, x.exponent + y.exponent,
                x.fraction_bits + y.fraction_bits};
  }
  return std::nullopt;
}

/// c + the sum of products, rounded once.
std::uint64_t block_sum(const MmaRule& rule, const DType& a_type, const DType& b_type,
                        const Codes& a, const Codes& b, std::uint64_t c) {
  Sum sum;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto product = product_of(fields_of(a_type, a[k]), fields_of(b_type, b[k]), sum);
    if (product) sum.terms.push_back(*product);
  }
  return rounded_sum(rule, std::move(sum), c);
}

/// The products whose k % 4 is below 2, or the others, of operands that became f16.
std::uint64_t half_sum(const MmaRule& rule, const DType& a_type, const DType& b_type,
                       const Codes& a, const Codes& b, bool upper, std::uint64_t c) {
  Codes x, y;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if ((k % 4 >= 2) != upper) continue;
    x.push_back(isa::cast(a_type, isa::f16, a[k]));
    y.push_back(isa::cast(b_type, isa::f16, b[k]));
  }
  return block_sum(rule, isa::f16, isa::f16, x, y, c);
}

std::uint64_t integer_sum(const DType& a_type, const DType& b_type, const Codes& a, const Codes& b,
                          std::uint64_t c) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    c += isa::cast(a_type, isa::i64, a[k]) * isa::cast(b_type, isa::i64, b[k]);
  }
  return c & 0xffffffff;
}

/// One instruction.
std::uint64_t instruction(const MmaRule& rule, const DType& a_type, const DType& b_type,
                          const Codes& a, const Codes& b, std::uint64_t c) {
  switch (rule.method) {
    case isa::MmaMethod::integer:
      return integer_sum(a_type, b_type, a, b, c);
    case isa::MmaMethod::f64_chain:
      for (std::size_t k = 0; k < a.size(); ++k) c = isa::apply_fma(isa::f64, a[k], b[k], c);
      return c;
    case isa::MmaMethod::fp8_split: {
      const std::uint64_t lower = half_sum(rule, a_type, b_type, a, b, false, 0);
      const std::uint64_t both = half_sum(rule, a_type, b_type, a, b, true, lower);
      return isa::apply(isa::BinaryOp::add, result_type(rule), c, both);
    }
    case isa::MmaMethod::blocks:
      break;
  }
  const auto size = static_cast<std::size_t>(rule.block);
  for (std::size_t begin = 0; begin < a.size(); begin += size) {
    const auto first = static_cast<std::ptrdiff_t>(begin);
    const auto last = static_cast<std::ptrdiff_t>(std::min(begin + size, a.size()));
    c = block_sum(rule, a_type, b_type, Codes(a.begin() + first, a.begin() + last),
                  Codes(b.begin() + first, b.begin() + last), c);
  }
  return c;
}

/// The scale of a group of products: sig * 2^exponent, NaN or not.
struct Scale {
  bool nan = false;
  std::int64_t significand = 1;
  int exponent = 0, fraction_bits = 0;
};

/// The scales of a and of b multiplied.
Scale joint_scale(const DType& type, std::uint64_t a, std::uint64_t b) {
  const Fields x = fields_of(type, a), y = fields_of(type, b);
  if (type == isa::f8e8m0) {
    return {x.nan || y.nan, 1, static_cast<int>(a) - 127 + static_cast<int>(b) - 127, 0};
  }
  return {x.nan || y.nan, x.significand * y.significand, x.exponent + y.exponent,
          x.fraction_bits + y.fraction_bits};
}

/// A block of block-scaled products: `shared` of them side by side have a scale each. Without
/// groups each product is a term, otherwise the exact sum of a group.
std::uint64_t scaled_block(const isa::MmaShape& shape, const MmaRule& rule, const Codes& a,
                           const Codes& b, const Codes& a_scales, const Codes& b_scales,
                           std::uint64_t c) {
  const std::size_t shared = a.size() / a_scales.size();
  const std::size_t group = rule.group == 0 ? 1 : static_cast<std::size_t>(rule.group);
  Sum sum;
  for (std::size_t first = 0; first < a.size(); first += group) {
    const Scale scale =
        joint_scale(shape.scale, a_scales[first / shared], b_scales[first / shared]);
    sum.nan |= scale.nan;
    // In units of the least product of the types: exact, since a group has floats of 4 bits.
    std::int64_t units = 0;
    for (std::size_t k = first; k < first + group; ++k) {
      auto product = product_of(fields_of(shape.a, a[k]), fields_of(shape.b, b[k]), sum);
      if (!product) continue;
      if (group == 1) {
        product->exponent += scale.exponent;
        sum.terms.push_back(*product);
      } else {
        const std::int64_t magnitude = product->significand
                                       << (product->exponent + 2 - product->fraction_bits);
        units += product->negative ? -magnitude : magnitude;
      }
    }
    // A group is a term of its scales' exponent, even where its sum is zero.
    if (group > 1 && scale.significand != 0) {
      sum.terms.push_back({units < 0, (units < 0 ? -units : units) * scale.significand,
                           scale.exponent, scale.fraction_bits + 2});
    }
  }
  return rounded_sum(rule, std::move(sum), c);
}

std::uint64_t by_scaled_instructions(const isa::MmaShape& shape, const MmaRule& rule,
                                     const DotOperands& operands) {
  const auto part = [](const Codes& codes, std::size_t i, std::int64_t count) {
    const auto first = static_cast<std::ptrdiff_t>(i) * static_cast<std::ptrdiff_t>(count);
    return Codes(codes.begin() + first, codes.begin() + first + static_cast<std::ptrdiff_t>(count));
  };
  std::uint64_t c = operands.c;
  for (std::size_t i = 0; i < operands.a.size() / static_cast<std::size_t>(shape.k); ++i) {
    c = scaled_block(shape, rule, part(operands.a, i, shape.k), part(operands.b, i, shape.k),
                     part(operands.a_scales, i, shape.scales()),
                     part(operands.b_scales, i, shape.scales()), c);
  }
  return c;
}

std::uint64_t by_instructions(const isa::MmaShape& shape, const isa::Target& target,
                              const DotOperands& operands) {
  const auto rule = isa::mma_rule(target, shape);
  TILEVM_CHECK(rule.has_value(), "a planned instruction has a rule");
  if (shape.scaling != isa::MmaScaling::none) return by_scaled_instructions(shape, *rule, operands);
  const auto step = static_cast<std::ptrdiff_t>(shape.stored_k());
  const auto size = static_cast<std::ptrdiff_t>(operands.a.size());
  std::uint64_t c = operands.c;
  for (std::ptrdiff_t k = 0; k < size; k += step) {
    c = instruction(*rule, shape.a, shape.b,
                    Codes(operands.a.begin() + k, operands.a.begin() + k + step),
                    Codes(operands.b.begin() + k, operands.b.begin() + k + step), c);
  }
  return c;
}

/// Every bit of a bipolar code is -1 or +1.
std::int64_t bipolar_value(const DType& type, std::uint64_t code) {
  std::int64_t value = 0;
  for (int i = 0; i < type.bits; ++i) {
    const std::int64_t weight = std::int64_t{1} << i;
    value += (code >> i & 1) != 0 ? weight : -weight;
  }
  return value;
}

/// An operand of a chain as the accumulator's type, exactly; of integers modulo 2^n, so a negative
/// operand of an unsigned chain wraps.
std::uint64_t converted(const DType& from, const DType& to, std::uint64_t code) {
  if (to.is_float()) return isa::cast(from, to, code);
  return isa::cast(isa::i64, to, isa::cast(from, isa::i64, code));
}

}  // namespace

std::uint64_t dot_element(const isa::DotPlan& plan, const isa::Target& target,
                          const DotOperands& operands) {
  switch (plan.method) {
    case isa::DotMethod::mma: {
      if (!plan.transposed) return by_instructions(*plan.shape, target, operands);
      const DotOperands exchanged{operands.b_type, operands.a_type, operands.c_type,
                                  operands.b,      operands.a,      operands.c};
      return by_instructions(*plan.shape, target, exchanged);
    }
    case isa::DotMethod::bipolar: {
      std::uint64_t sum = operands.c;
      for (std::size_t k = 0; k < operands.a.size(); ++k) {
        sum += static_cast<std::uint64_t>(bipolar_value(operands.a_type, operands.a[k]) *
                                          bipolar_value(operands.b_type, operands.b[k]));
      }
      return sum & 0xffffffff;
    }
    case isa::DotMethod::chain: {
      std::uint64_t sum = operands.c;
      for (std::size_t k = 0; k < operands.a.size(); ++k) {
        sum = isa::apply_fma(operands.c_type,
                             converted(operands.a_type, operands.c_type, operands.a[k]),
                             converted(operands.b_type, operands.c_type, operands.b[k]), sum);
      }
      return sum;
    }
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::vm::naive
