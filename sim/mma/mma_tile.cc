#include "sim/mma/mma_tile.h"

#include <algorithm>
#include <span>

#include "isa/base/check.h"
#include "isa/type/arith.h"
#include "isa/type/number.h"
#include "sim/mma/mma_model.h"

namespace tilevm::sim {
namespace {

using isa::MmaMethod;
using isa::MmaRounding;

/// Whether the kernel implements this rounding (round_half of mma_kernel.cc).
bool has_rounding(MmaRounding output) {
  switch (output) {
    case MmaRounding::f16_nearest_even:
    case MmaRounding::f32_toward_zero:
    case MmaRounding::e8m13_toward_zero:
      return true;
    case MmaRounding::none:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

isa::DType accumulator_type(const isa::MmaRule& rule) {
  return rule.output == MmaRounding::f16_nearest_even ? isa::f16 : isa::f32;
}

MmaPlan make_plan(const isa::MmaRule& rule, int k, bool sparse) {
  const bool is_split = rule.method == MmaMethod::fp8_split;
  return {float_fields(accumulator_type(rule)),
          k,
          is_split ? (k + 1) / 2 : rule.block * (sparse ? 2 : 1),
          rule.fraction_bits,
          rule.min_exponent,
          rule.output,
          is_split};
}

/// The blocks of fp8_split take k % 4 in {0, 1} first, where k numbers the products: of a sparse
/// instruction, every other group of four.
void fill_order(bool is_split, bool sparse, std::size_t k,
                std::array<std::size_t, mma_max_depth>& order) {
  std::size_t next = 0;
  for (const std::size_t half : {0, 1}) {
    for (std::size_t i = 0; i < k; ++i) {
      if ((is_split ? i >> (sparse ? 2 : 1) & 1 : 0) == half) order[next++] = i;
    }
  }
}

using F16Codes = std::array<std::uint16_t, 256>;

F16Codes f16_codes(const isa::DType& type) {
  F16Codes codes{};
  for (std::size_t code = 0; code < codes.size(); ++code) {
    codes[code] = static_cast<std::uint16_t>(isa::cast(type, isa::f16, code));
  }
  return codes;
}

/// Converts codes of an 8-bit float to codes of f16.
void widen(const isa::DType& type, std::span<std::uint32_t> codes) {
  static const F16Codes from_e4m3 = f16_codes(isa::f8e4m3), from_e5m2 = f16_codes(isa::f8e5m2);
  const F16Codes& table = type == isa::f8e4m3 ? from_e4m3 : from_e5m2;
  for (std::uint32_t& code : codes) code = table[code & 0xff];
}

/// Mantissas and exponents of an operand: its own, or made here, since the other operand needs
/// them. Only operands in the order of their codes have none.
template <std::size_t most>
struct Parts {
  template <class Operand>
  Parts(const MmaKernels& kernels, const FloatFields& fields, const Operand& operand, int count)
      : mantissa(operand.mantissa.data()), exponent(operand.exponent.data()) {
    if (operand.has_parts) return;
    kernels.decode(fields, operand.codes.data(), (static_cast<std::size_t>(count) + 15) / 16 * 16,
                   made_mantissa.data(), made_exponent.data());
    mantissa = made_mantissa.data();
    exponent = made_exponent.data();
  }

  const float* mantissa;
  const std::int32_t* exponent;
  alignas(64) std::array<float, most> made_mantissa;
  alignas(64) std::array<std::int32_t, most> made_exponent;
};

bool is_special(const isa::DType& type, std::uint32_t code) {
  return isa::decode(type, code).cls != isa::Number::Class::finite;
}

}  // namespace

bool MmaTile::supports(const isa::MmaRule& rule, int k, bool sparse) {
  const int products = sparse ? k / 2 : k;
  const bool blocks = rule.method == MmaMethod::blocks && rule.scaling == isa::MmaScaling::none;
  // The kernel's blocks are the halves of fp8_split only if the halves are equal.
  const bool split =
      rule.method == MmaMethod::fp8_split && products % 4 == 0 && products <= 2 * rule.block;
  return (blocks || split) && has_rounding(rule.output) &&
         rule.fraction_bits <= mma_max_fraction_bits && k >= 1 && k <= mma_max_depth &&
         (!sparse || k % 8 == 0);
}

MmaTile::MmaTile(const isa::MmaRule& rule, const isa::DType& a_type, const isa::DType& b_type,
                 int k, SimdLevel level, bool sparse)
    : rule_(rule),
      a_type_(a_type),
      b_type_(b_type),
      a_decoded_(rule.method == MmaMethod::fp8_split ? isa::f16 : a_type),
      b_decoded_(rule.method == MmaMethod::fp8_split ? isa::f16 : b_type),
      k_(k),
      sparse_(sparse),
      plan_(make_plan(rule, k, sparse)),
      kernels_(&mma_kernels(level)),
      value_kernels_(supports_values(plan_, sparse ? plan_.block / 2 : plan_.block)
                         ? &value_kernels(level)
                         : nullptr) {
  TILEVM_CHECK(supports(rule, k, sparse), "a rule that the kernel knows");
  fill_order(plan_.add_accumulator_last, sparse, static_cast<std::size_t>(k), order_);
}

void MmaTile::load_sparse_a(const std::uint32_t* codes, const std::uint32_t* places,
                            MmaOperandA& out) const {
  std::array<std::uint32_t, mma_max_codes_a> dense;
  std::fill_n(dense.begin(), static_cast<std::size_t>(k_) * mma_rows, 0U);
  out.stored.fill(0);
  for (std::size_t p = 0; p < static_cast<std::size_t>(k_) / 2; ++p) {
    for (std::size_t m = 0; m < mma_rows; ++m) {
      const std::size_t k = p / 2 * 4 + places[p * mma_rows + m];
      dense[k * mma_rows + m] = codes[p * mma_rows + m];
      out.stored[m] |= std::uint64_t{1} << k;
    }
  }
  load_a(dense.data(), out);
}

void MmaTile::load_a(const std::uint32_t* codes, MmaOperandA& out) const {
  const auto depth = static_cast<std::size_t>(k_);
  const std::size_t count = depth * mma_rows;
  std::copy_n(codes, count, out.codes.begin());
  std::array<std::uint32_t, mma_max_codes_a> reordered;
  const std::uint32_t* ordered = codes;
  if (is_reordered()) {
    for (std::size_t k = 0; k < depth; ++k) {
      std::copy_n(codes + order_[k] * mma_rows, mma_rows, reordered.begin() + k * mma_rows);
    }
    widen(a_type_, std::span(reordered).first(count));
    ordered = reordered.data();
  }
  out.special_rows = 0;
  if (!decode(ordered, count, a_decoded_, out)) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_special(a_type_, codes[i])) out.special_rows |= 1u << (i % mma_rows);
  }
}

void MmaTile::load_b(const std::uint32_t* codes, int n, MmaOperandB& out) const {
  TILEVM_CHECK(n >= 1 && n <= mma_max_columns, "columns of a tile");
  const auto depth = static_cast<std::size_t>(k_);
  const std::size_t count = static_cast<std::size_t>(n) * depth;
  const std::size_t padded = (count + 15) / 16 * 16;
  std::copy_n(codes, count, out.codes.begin());
  std::fill(out.codes.begin() + count, out.codes.begin() + padded, 0u);
  std::array<std::uint32_t, mma_max_codes_b> reordered;
  const std::uint32_t* ordered = out.codes.data();
  if (is_reordered()) {
    for (std::size_t i = 0; i < count; i += depth) {
      for (std::size_t k = 0; k < depth; ++k) reordered[i + k] = codes[i + order_[k]];
    }
    widen(b_type_, std::span(reordered).first(count));
    std::fill(reordered.begin() + count, reordered.begin() + padded, 0u);
    ordered = reordered.data();
  }
  out.columns = n;
  out.special_columns = 0;
  if (!decode(ordered, padded, b_decoded_, out)) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_special(b_type_, codes[i])) out.special_columns |= 1u << (i / depth);
  }
}

/// Decodes a multiple of 16 codes; says whether there is a NaN or an Inf.
template <class Operand>
bool MmaTile::decode(const std::uint32_t* ordered, std::size_t count, const isa::DType& type,
                     Operand& out) const {
  const FloatFields fields = float_fields(type);
  bool special = false;
  out.has_parts = value_kernels_ == nullptr;
  if (value_kernels_ != nullptr) {
    special = value_kernels_->decode(fields, ordered, count, out.values.data(), out.steps.data(),
                                     out.range);
    out.has_parts = !has_exact_products(plan_, out.range, {0, 0});
  }
  if (out.has_parts) {
    special = kernels_->decode(fields, ordered, count, out.mantissa.data(), out.exponent.data());
  }
  return special;
}

void MmaTile::multiply(const MmaOperandA& a, const MmaOperandB& b, const std::uint32_t* c,
                       std::uint32_t* d) const {
  constexpr std::uint32_t all_rows = (1u << mma_rows) - 1;
  alignas(64) std::array<std::uint32_t, std::size_t{mma_max_columns} * mma_rows> after;
  const bool exact = value_kernels_ != nullptr && has_exact_products(plan_, a.range, b.range);
  const BadRows bad =
      exact ? multiply_values(a, b, c, after.data()) : multiply_parts(a, b, c, after.data());
  for (int n = 0; n < b.columns; ++n) {
    std::uint32_t rows = (b.special_columns >> n & 1) != 0 ? all_rows : a.special_rows;
    rows |= bad[static_cast<std::size_t>(n)];
    for (int m = 0; rows >> m != 0; ++m) {
      if ((rows >> m & 1) != 0) redo(a, b, c + n * mma_rows, n, m, after.data() + n * mma_rows);
    }
  }
  std::copy_n(after.begin(), b.columns * mma_rows, d);
}

BadRows MmaTile::multiply_values(const MmaOperandA& a, const MmaOperandB& b, const std::uint32_t* c,
                                 std::uint32_t* d) const {
  BadRows bad;
  const ValueProduct product{a.values.data(), a.steps.data(), b.values.data(),
                             b.steps.data(),  b.columns,      a.range.least + b.range.least};
  value_kernels_->multiply(plan_, product, c, d, bad);
  return bad;
}

BadRows MmaTile::multiply_parts(const MmaOperandA& a, const MmaOperandB& b, const std::uint32_t* c,
                                std::uint32_t* d) const {
  const Parts<mma_max_codes_a> a_parts(*kernels_, float_fields(a_decoded_), a, k_ * mma_rows);
  const Parts<mma_max_codes_b> b_parts(*kernels_, float_fields(b_decoded_), b, k_ * b.columns);
  const isa::DType type = accumulator_type(rule_);
  BadRows bad{};
  for (int n = 0; n < b.columns; ++n, c += mma_rows, d += mma_rows) {
    std::array<std::int32_t, mma_rows> bad_lanes;
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(n) * k_;
    const bool any_bad =
        kernels_->column(plan_, a_parts.mantissa, a_parts.exponent, b_parts.mantissa + first,
                         b_parts.exponent + first, c, d, bad_lanes.data());
    for (std::size_t m = 0; m < mma_rows && any_bad; ++m) {
      bad[static_cast<std::size_t>(n)] |= bad_lanes[m] != 0 ? 1u << m : 0u;
    }
    for (std::size_t m = 0; m < mma_rows && plan_.add_accumulator_last; ++m) {
      d[m] = static_cast<std::uint32_t>(isa::apply(isa::BinaryOp::add, type, c[m], d[m]));
    }
  }
  return bad;
}

void MmaTile::redo(const MmaOperandA& a, const MmaOperandB& b, const std::uint32_t* c, int n, int m,
                   std::uint32_t* d) const {
  std::array<std::uint64_t, mma_max_depth> row, column;
  const auto depth = static_cast<std::size_t>(k_);
  std::size_t products = 0;
  for (std::size_t k = 0; k < depth; ++k) {
    if (sparse_ && (a.stored[static_cast<std::size_t>(m)] >> k & 1) == 0) continue;
    row[products] = a.codes[k * mma_rows + static_cast<std::size_t>(m)];
    column[products++] = b.codes[static_cast<std::size_t>(n) * depth + k];
  }
  d[m] = static_cast<std::uint32_t>(mma_reference(rule_, a_type_, b_type_,
                                                  std::span(row).first(products),
                                                  std::span(column).first(products), c[m]));
}

void mma_tile(const isa::MmaRule& rule, const isa::DType& a_type, const isa::DType& b_type, int n,
              int k, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
              std::uint32_t* d) {
  const MmaTile tile(rule, a_type, b_type, k);
  MmaOperandA operand_a;
  MmaOperandB operand_b;
  tile.load_a(a, operand_a);
  tile.load_b(b, n, operand_b);
  tile.multiply(operand_a, operand_b, c, d);
}

}  // namespace tilevm::sim
