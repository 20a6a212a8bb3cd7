#include "sim/mma/scaled_tile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "isa/base/check.h"
#include "isa/type/number.h"
#include "sim/mma/mma_model.h"

namespace tilevm::sim {
namespace {

using isa::MmaScaling;

constexpr auto rows_of_tile = static_cast<std::size_t>(mma_rows);

/// Twice the value of each code of f4e2m1.
constexpr std::array<std::int16_t, 16> doubled = {0, 1,  2,  3,  4,  6,  8,  12,
                                                  0, -1, -2, -3, -4, -6, -8, -12};

/// The sums of the products of a group, for 16 rows: in quarters.
using Quarters = std::array<std::int16_t, rows_of_tile>;

Quarters sum_group(const std::int16_t* a, const std::int16_t* b, std::size_t count) {
  Quarters sums{};
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t m = 0; m < rows_of_tile; ++m) {
      sums[m] = static_cast<std::int16_t>(sums[m] + a[k * rows_of_tile + m] * b[k]);
    }
  }
  return sums;
}

/// 2^exponent, of a normal double.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The code of a value in f32, toward zero; zero without a sign, Inf from 2^128 on.
std::uint32_t truncate_to_f32(double value) {
  const std::uint32_t sign = value < 0 ? 0x80000000 : 0;
  const double magnitude = std::abs(value);
  if (magnitude >= 0x1p128) return sign | 0x7f800000;
  const auto nearest = static_cast<float>(magnitude);
  const std::uint32_t code = std::bit_cast<std::uint32_t>(nearest) - (nearest > magnitude ? 1 : 0);
  return code == 0 ? 0 : sign | code;
}

/// An f32 accumulator: (-1)^negative * significand * 2^(exponent - 23).
struct Accumulator {
  std::int64_t significand;  ///< significand with its sign
  int exponent;
};

Accumulator decode_f32(std::uint32_t code) {
  const std::uint32_t field = code >> 23 & 0xff, fraction = code & 0x7fffff;
  const std::int64_t significand = field == 0 ? fraction : fraction | 0x800000;
  return {code >> 31 != 0 ? -significand : significand,
          static_cast<int>(std::max<std::uint32_t>(field, 1)) - 127};
}

/// A magnitude times 2^left, truncated, with the sign of `term`.
std::int64_t shifted(std::int64_t term, int left) {
  const std::int64_t magnitude = std::abs(term);
  const std::int64_t kept = left >= 0 ? magnitude << left : magnitude >> std::min(63, -left);
  return term < 0 ? -kept : kept;
}

}  // namespace

ScaledTile::ScaledTile(const isa::MmaRule& rule, const isa::MmaShape& shape, SimdLevel level)
    : rule_(rule),
      a_type_(shape.a),
      b_type_(shape.b),
      k_(static_cast<std::size_t>(shape.k)),
      scales_(static_cast<std::size_t>(shape.scales())),
      plan_{float_fields(isa::f32),
            static_cast<int>(shape.k),
            rule.block,
            rule.fraction_bits,
            rule.min_exponent,
            rule.output,
            false},
      kernels_(&mma_kernels(level)) {
  TILEVM_CHECK(rule.scaling != MmaScaling::none && rule.method == isa::MmaMethod::blocks &&
                   shape.m == mma_rows && shape.k <= mma_max_depth &&
                   rule.output == isa::MmaRounding::f32_toward_zero && scales_ <= most_scales,
               "a block-scaled instruction that the kernel knows");
  TILEVM_CHECK(has_groups() ? static_cast<std::size_t>(rule.block) >= k_
                            : rule.fraction_bits <= mma_max_fraction_bits,
               "a block-scaled instruction that the kernel knows");
}

/// False for NaN.
bool ScaledTile::decode_scale(std::uint32_t code, std::size_t at, DecodedScales& out) const {
  out.codes[at] = static_cast<std::uint8_t>(code);
  if (rule_.scaling == MmaScaling::mxf4nvf4_ue4m3) {
    const isa::Number scale = isa::decode(isa::f8e4m3, code & 0x7f);
    out.significand[at] = static_cast<std::int32_t>(scale.significand);
    out.exponent[at] = scale.exponent + isa::f8e4m3.mantissa_bits;
    return !scale.is_nan();
  }
  out.significand[at] = 1;
  out.exponent[at] = static_cast<std::int32_t>(code) - 127;
  return code != 0xff;
}

void ScaledTile::load_a(const std::uint32_t* codes, const std::uint32_t* scales,
                        ScaledOperandA& out) const {
  MmaOperandA& elements = out.elements;
  const std::size_t count = k_ * rows_of_tile, length = k_ / scales_;
  std::copy_n(codes, count, elements.codes.begin());
  elements.special_rows = 0;
  for (std::size_t s = 0; s < scales_; ++s) {
    for (std::size_t m = 0; m < rows_of_tile; ++m) {
      const bool is_number =
          decode_scale(scales[s * rows_of_tile + m], m * scales_ + s, out.scales);
      if (!is_number) elements.special_rows |= 1U << m;
    }
  }
  if (has_groups()) {
    for (std::size_t i = 0; i < count; ++i) out.halves[i] = doubled[codes[i] & 15];
    return;
  }
  const bool special = kernels_->decode(float_fields(a_type_), codes, count,
                                        elements.mantissa.data(), elements.exponent.data());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t m = i % rows_of_tile;
    elements.exponent[i] += out.scales.exponent[m * scales_ + i / rows_of_tile / length];
    if (special && isa::decode(a_type_, codes[i]).cls != isa::Number::Class::finite) {
      elements.special_rows |= 1U << m;
    }
  }
}

void ScaledTile::load_b(const std::uint32_t* codes, const std::uint32_t* scales, int n,
                        ScaledOperandB& out) const {
  TILEVM_CHECK(n >= 1 && n <= mma_max_columns, "columns of a tile");
  MmaOperandB& elements = out.elements;
  const std::size_t columns = static_cast<std::size_t>(n), count = columns * k_,
                    length = k_ / scales_;
  std::copy_n(codes, count, elements.codes.begin());
  elements.columns = n;
  elements.special_columns = 0;
  for (std::size_t i = 0; i < columns * scales_; ++i) {
    if (!decode_scale(scales[i], i, out.scales)) elements.special_columns |= 1U << (i / scales_);
  }
  if (has_groups()) {
    for (std::size_t i = 0; i < count; ++i) out.halves[i] = doubled[codes[i] & 15];
    return;
  }
  // The kernel decodes multiples of 16 codes, and every k is one.
  const bool special = kernels_->decode(float_fields(b_type_), codes, count,
                                        elements.mantissa.data(), elements.exponent.data());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t column = i / k_;
    elements.exponent[i] += out.scales.exponent[column * scales_ + i % k_ / length];
    if (special && isa::decode(b_type_, codes[i]).cls != isa::Number::Class::finite) {
      elements.special_columns |= 1U << column;
    }
  }
}

ScaledTile::Rows ScaledTile::multiply_column(const ScaledOperandA& a, const ScaledOperandB& b,
                                             int n, const std::uint32_t* c,
                                             std::uint32_t* d) const {
  if (has_groups()) return add_groups(a, b, n, c, d);
  const std::size_t first = static_cast<std::size_t>(n) * k_;
  std::array<std::int32_t, rows_of_tile> bad;
  const bool any_bad = kernels_->column(
      plan_, a.elements.mantissa.data(), a.elements.exponent.data(),
      b.elements.mantissa.data() + first, b.elements.exponent.data() + first, c, d, bad.data());
  Rows rows = 0;
  for (std::size_t m = 0; m < rows_of_tile && any_bad; ++m) rows |= bad[m] != 0 ? 1U << m : 0U;
  return rows;
}

/// A group of sum zero still counts for alignment; a group with a scale of zero does not.
ScaledTile::Rows ScaledTile::add_groups(const ScaledOperandA& a, const ScaledOperandB& b, int n,
                                        const std::uint32_t* c, std::uint32_t* d) const {
  const auto group = static_cast<std::size_t>(rule_.group);
  const std::size_t groups = k_ / group, column = static_cast<std::size_t>(n);
  const int point = rule_.scaling == MmaScaling::mxf4nvf4_ue4m3 ? isa::f8e4m3.mantissa_bits : 0;
  std::array<Quarters, mma_max_depth / 16> sums;
  for (std::size_t g = 0; g < groups; ++g) {
    sums[g] = sum_group(a.halves.data() + g * group * rows_of_tile,
                        b.halves.data() + column * k_ + g * group, group);
  }
  Rows rows = 0;
  for (std::size_t m = 0; m < rows_of_tile; ++m) {
    if ((c[m] & 0x7f800000) == 0x7f800000) {
      rows |= 1U << m;
      continue;
    }
    const Accumulator accumulator = decode_f32(c[m]);
    int greatest = rule_.min_exponent;
    if (accumulator.significand != 0) greatest = std::max(greatest, accumulator.exponent);
    std::array<std::int64_t, mma_max_depth / 16> terms;
    std::array<int, mma_max_depth / 16> exponents;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t scale = g * scales_ / groups;
      const std::size_t at_a = m * scales_ + scale, at_b = column * scales_ + scale;
      const std::int32_t significand = a.scales.significand[at_a] * b.scales.significand[at_b];
      terms[g] = std::int64_t{sums[g][m]} * significand;
      exponents[g] = a.scales.exponent[at_a] + b.scales.exponent[at_b];
      if (significand == 0) exponents[g] = rule_.min_exponent;
      greatest = std::max(greatest, exponents[g]);
    }
    const int unit = rule_.fraction_bits - greatest;
    std::int64_t total = shifted(accumulator.significand, unit + accumulator.exponent - 23);
    for (std::size_t g = 0; g < groups; ++g) {
      total += shifted(terms[g], unit + exponents[g] - 2 * point - 2);
    }
    d[m] = truncate_to_f32(static_cast<double>(total) * power_of_two(-unit));
  }
  return rows;
}

void ScaledTile::multiply(const ScaledOperandA& a, const ScaledOperandB& b, const std::uint32_t* c,
                          std::uint32_t* d) const {
  constexpr Rows all_rows = (1U << mma_rows) - 1;
  for (int n = 0; n < b.elements.columns; ++n, c += mma_rows, d += mma_rows) {
    std::array<std::uint32_t, rows_of_tile> before, after{};
    std::copy_n(c, rows_of_tile, before.begin());
    Rows rows = multiply_column(a, b, n, before.data(), after.data());
    rows |= (b.elements.special_columns >> n & 1) != 0 ? all_rows : a.elements.special_rows;
    for (int m = 0; rows >> m != 0; ++m) {
      const auto row = static_cast<std::size_t>(m);
      if ((rows >> m & 1) != 0) after[row] = redo(a, b, n, m, before[row]);
    }
    std::copy_n(after.begin(), rows_of_tile, d);
  }
}

std::uint32_t ScaledTile::redo(const ScaledOperandA& a, const ScaledOperandB& b, int n, int m,
                               std::uint32_t c) const {
  std::array<std::uint64_t, mma_max_depth> row, column;
  const auto m_at = static_cast<std::size_t>(m), n_at = static_cast<std::size_t>(n);
  for (std::size_t k = 0; k < k_; ++k) {
    row[k] = a.elements.codes[k * rows_of_tile + m_at];
    column[k] = b.elements.codes[n_at * k_ + k];
  }
  const MmaScales scales{std::span(a.scales.codes).subspan(m_at * scales_, scales_),
                         std::span(b.scales.codes).subspan(n_at * scales_, scales_)};
  return static_cast<std::uint32_t>(mma_reference(rule_, a_type_, b_type_, std::span(row).first(k_),
                                                  std::span(column).first(k_), c, scales));
}

}  // namespace tilevm::sim
