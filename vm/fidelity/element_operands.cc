#include "vm/fidelity/element_operands.h"

#include <algorithm>
#include <vector>

#include "isa/type/number.h"

namespace tilevm::vm::fidelity {

namespace {

using isa::DType;
using isa::low_mask;

/// `width` bits: random; or truncated, with a remainder near zero or near half a unit in the last
/// place; or sparse.
std::uint64_t pattern(Random& random, int width) {
  if (width == 0) return 0;
  const std::uint64_t mask = low_mask(static_cast<unsigned>(width)), bits = random.next();
  const int kind = random.below(4);
  if (kind == 0) return bits & mask;
  if (kind == 1) {
    const std::uint64_t sparse = bits & random.next() & random.next();
    return (random.one_in(2) ? sparse : ~sparse) & mask;
  }
  const auto cut = static_cast<unsigned>(1 + random.below(width));
  const std::uint64_t half = kind == 2 ? std::uint64_t{1} << (cut - 1) : 0;
  const auto delta = static_cast<std::uint64_t>(random.below(3)) - 1;
  return ((bits & ~low_mask(cut)) + half + delta) & mask;
}

std::uint64_t float_code(const DType& type, std::uint64_t field, Random& random) {
  std::uint64_t mantissa = pattern(random, type.mantissa_bits);
  if (random.one_in(16)) mantissa = 0;
  const std::uint64_t sign = random.next() & 1;
  const unsigned unused = type.unused_bits();
  const std::uint64_t code = (sign << type.exponent_bits | field) << type.mantissa_bits | mantissa;
  return (code << unused | (random.next() & low_mask(unused))) & low_mask(type.bits);
}

std::uint64_t wide_float(const DType& type, std::uint64_t k, Random& random) {
  std::uint64_t field = k & low_mask(type.exponent_bits);
  if (type.exponent_bits > 8 && random.one_in(2)) {
    const int near_f32 = type.bias() - 160 + random.below(320);
    field = static_cast<std::uint64_t>(near_f32);
  }
  return float_code(type, field, random);
}

std::uint64_t wide_integer(const DType& type, Random& random) {
  const std::uint64_t mask = low_mask(type.bits), ends[] = {0, mask, mask >> 1, (mask >> 1) + 1};
  if (random.one_in(16)) return ends[random.below(4)];
  const int length = random.below(type.bits + 1);
  const std::uint64_t top = length == 0 ? 0 : std::uint64_t{1} << (length - 1);
  const std::uint64_t value = pattern(random, length) | top;
  return (type.is_signed_int() && random.one_in(2) ? 0 - value : value) & mask;
}

/// A nearby float: with an exponent at most a significand's width away.
std::uint64_t nearby(const DType& type, std::uint64_t a, Random& random) {
  if (!type.is_float()) return static_cast<std::uint64_t>(random.below(type.bits + 2));
  const int fields = 1 << type.exponent_bits, width = type.mantissa_bits + 3;
  const unsigned below = type.mantissa_bits + type.unused_bits();
  const int field = static_cast<int>(a >> below & low_mask(type.exponent_bits)) - width +
                    random.below(2 * width + 1);
  return float_code(type, static_cast<std::uint64_t>(std::clamp(field, 0, fields - 1)), random);
}

/// Zeros, ones, ends, and codes that are not numbers.
std::vector<std::uint64_t> special_codes(const DType& type) {
  const std::uint64_t mask = low_mask(type.bits), top = (mask >> 1) + 1;
  if (!type.is_float()) return {0, 1, 2, 3, mask, mask - 1, top, top - 1, top + 1};
  std::vector<std::uint64_t> codes;
  const std::uint64_t one = isa::encode(type, isa::number_from(1.0));
  const std::uint64_t smallest_normal = std::uint64_t{1}
                                        << (type.mantissa_bits + type.unused_bits());
  const std::uint64_t infinity = top - smallest_normal;
  for (const std::uint64_t magnitude : {std::uint64_t{0}, std::uint64_t{1}, smallest_normal - 1,
                                        smallest_normal, smallest_normal + 1, one - 1, one, one + 1,
                                        infinity - 1, infinity, infinity + 1, top - 1}) {
    codes.push_back(magnitude);
    codes.push_back(magnitude | top);
  }
  return codes;
}

std::vector<std::uint64_t> first_rows(const DType& type) {
  std::vector<std::uint64_t> rows = special_codes(type);
  const std::uint64_t top = std::uint64_t{1} << (type.bits - 1);
  const unsigned step = type.is_float() ? type.mantissa_bits : 0;
  for (std::uint64_t i = 0; i < (type.is_float() ? low_mask(type.exponent_bits) : type.bits); ++i) {
    const std::uint64_t power = type.is_float() ? i << step : std::uint64_t{1} << i;
    for (const std::uint64_t code : {power, power - 1, power + 1, power | top}) {
      rows.push_back(code & low_mask(type.bits));
    }
  }
  return rows;
}

}  // namespace

int significant_bits(const DType& type) { return static_cast<int>(type.bits - type.unused_bits()); }

std::uint64_t code_at(const DType& type, std::uint64_t k, Random& random) {
  // An odd factor permutes the codes, so that a part of them is a fair sample.
  const auto bits = static_cast<unsigned>(significant_bits(type));
  const unsigned unused = type.bits - bits;
  const std::uint64_t code = k * 0x9e3779b97f4a7c15 & low_mask(bits);
  return code << unused | (unused == 0 ? 0 : random.next() & low_mask(unused));
}

std::uint64_t wide_code(const DType& type, std::uint64_t k, Random& random) {
  return type.is_float() ? wide_float(type, k, random) : wide_integer(type, random);
}

std::uint64_t partner_of(const DType& type, std::uint64_t a, std::uint64_t k, Random& random) {
  const std::uint64_t mask = low_mask(type.bits), top = (mask >> 1) + 1;
  switch (random.below(8)) {
    case 0:
      return a;
    case 1:
      return (type.is_float() ? a ^ top : 0 - a) & mask;
    case 2:
      return (random.one_in(2) ? a + 1 : a - 1) & mask;
    case 3: {
      const std::vector<std::uint64_t> codes = special_codes(type);
      return codes[static_cast<std::size_t>(random.below(static_cast<int>(codes.size())))];
    }
    case 4:
    case 5:
      return nearby(type, a, random);
    default:
      return wide_code(type, k * 7 + 3, random);
  }
}

std::uint64_t row_code(const DType& type, std::uint64_t row) {
  const std::vector<std::uint64_t> rows = first_rows(type);
  if (row < rows.size()) return rows[row];
  return ((row - rows.size()) * 0x9e37 + 0x79b9) & low_mask(type.bits);
}

}  // namespace tilevm::vm::fidelity
