// A second, slow definition of every element type of 16 bits or fewer, for comparison: values as
// long double, which holds all of them and the middle of any two neighbours exactly; rounding by
// search in the list of all values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "isa/type/dtype.h"

namespace tilevm::isa::oracle {

using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64, "the oracle needs 64 bits of precision");

inline Real nan() { return std::numeric_limits<Real>::quiet_NaN(); }
inline Real infinity() { return std::numeric_limits<Real>::infinity(); }

inline Real float_value(const DType& t, std::uint64_t code) {
  const int e_bits = t.exponent_bits, m_bits = t.mantissa_bits;
  const Real sign = (code >> (e_bits + m_bits)) & 1 ? -1 : 1;  // without a sign there is no bit
  const auto field = static_cast<int>(code >> m_bits) & ((1 << e_bits) - 1);
  const auto fraction = static_cast<int>(code) & ((1 << m_bits) - 1);
  const int last_field = (1 << e_bits) - 1, last_fraction = (1 << m_bits) - 1;
  const bool ieee = t.bits > 8 || (e_bits == 5 && m_bits == 2);
  if (ieee && field == last_field) return fraction != 0 ? nan() : sign * infinity();
  const bool ocp_e4m3 = e_bits == 4 && m_bits == 3;
  const bool ocp_e8m0 = m_bits == 0;
  if ((ocp_e4m3 || ocp_e8m0) && field == last_field && fraction == last_fraction) return nan();
  const int bias = (1 << (e_bits - 1)) - 1;
  const Real unit = std::ldexp(Real{1}, -m_bits);
  if (field == 0 && !ocp_e8m0) return sign * fraction * unit * std::ldexp(Real{1}, 1 - bias);
  return sign * (1 + fraction * unit) * std::ldexp(Real{1}, field - bias);
}

/// The value of a code of a type of at most 16 bits.
inline Real value(const DType& t, std::uint64_t code) {
  switch (t.kind) {
    case TypeKind::floating:
      return float_value(t, code);
    case TypeKind::unsigned_int:
      return static_cast<Real>(code);
    case TypeKind::signed_int: {
      const bool top = (code >> (t.bits - 1)) & 1;
      return static_cast<Real>(code) - (top ? std::ldexp(Real{1}, t.bits) : 0);
    }
    case TypeKind::bipolar:
      break;
  }
  Real sum = 0;
  for (int i = 0; i < t.bits; ++i) sum += ((code >> i) & 1 ? 1 : -1) * std::ldexp(Real{1}, i);
  return sum;
}

/// Casts to one type, with the list of its values made once.
class Caster {
 public:
  explicit Caster(const DType& to) : to_(to) {
    const bool has_sign = to.is_float() && to.bits > to.exponent_bits + to.mantissa_bits;
    const std::uint64_t codes = std::uint64_t{1} << (has_sign ? to.bits - 1 : to.bits);
    for (std::uint64_t code = 0; code < codes; ++code) {
      const Real v = value(to, code);
      if (std::isfinite(v)) values_.push_back({v, code});
    }
    std::sort(values_.begin(), values_.end(),
              [](const Entry& a, const Entry& b) { return a.value < b.value; });
  }

  /// The code of Cast, for a value that is not an integer's.
  [[nodiscard]] std::uint64_t cast(Real v) const {
    if (to_.is_float()) return to_float(v);
    if (to_.is_bipolar()) return std::isnan(v) ? std::uint64_t{1} << (to_.bits - 1) : nearest_up(v);
    if (std::isnan(v)) return 0;
    v = std::clamp(std::trunc(v), values_.front().value, values_.back().value);
    return find(v);
  }

  /// The code of Cast from another integer type.
  [[nodiscard]] std::uint64_t cast_wrapping(std::int64_t v) const {
    return static_cast<std::uint64_t>(v) & ((std::uint64_t{1} << to_.bits) - 1);
  }

 private:
  struct Entry {
    Real value;
    std::uint64_t code;
  };

  [[nodiscard]] std::vector<Entry>::const_iterator at_least(Real v) const {
    return std::lower_bound(values_.begin(), values_.end(), v,
                            [](const Entry& e, Real x) { return e.value < x; });
  }

  /// Exact, while a distance from v might not be.
  static Real middle(const Entry& a, const Entry& b) { return (a.value + b.value) / 2; }

  [[nodiscard]] std::uint64_t find(Real v) const { return at_least(v)->code; }

  [[nodiscard]] std::uint64_t nearest_up(Real v) const {
    const auto high = at_least(v);
    if (high == values_.end()) return values_.back().code;
    if (high == values_.begin()) return high->code;
    const auto low = high - 1;
    return v < middle(*low, *high) ? low->code : high->code;
  }

  /// Rounds a magnitude, by search among the values of positive codes.
  [[nodiscard]] std::uint64_t magnitude(Real v) const {
    const bool wide = to_.bits > 8;
    const Entry& last = values_.back();
    const Real last_gap = last.value - (values_.end() - 2)->value;
    if (v >= last.value) {
      // One step beyond the last value there is Inf; the tie goes to it since the last is odd.
      const bool overflow = wide && v >= last.value + last_gap / 2;
      return last.code + (overflow ? 1 : 0);
    }
    const auto high = at_least(v);
    if (high->value == v || high == values_.begin()) return high->code;
    const auto low = high - 1;
    const Real half_way = middle(*low, *high);
    if (v != half_way) return v < half_way ? low->code : high->code;
    // The significand of a power of two is 1, which is odd.
    return low->code % 2 == 0 && to_ != f8e8m0 ? low->code : high->code;
  }

  [[nodiscard]] std::uint64_t to_float(Real v) const {
    if (std::isnan(v)) {
      if (to_.bits == 16) return 0x7fff;
      const bool has_nan = to_ == f8e4m3 || to_ == f8e5m2 || to_ == f7e4m3u;
      if (to_ == f8e8m0) return 0xff;
      return has_nan ? 0x7f : values_.back().code;
    }
    if (to_ == f8e8m0 || to_ == f7e4m3u) return std::signbit(v) ? 0 : magnitude(v);
    const std::uint64_t sign = std::signbit(v) ? std::uint64_t{1} << (to_.bits - 1) : 0;
    return sign | magnitude(std::fabs(v));
  }

  DType to_;
  std::vector<Entry> values_;  ///< ascending; of a float only codes without sign
};

/// Every type that this oracle knows.
inline std::vector<DType> types() {
  std::vector<DType> result;
  for (const DType& t : all_dtypes()) {
    if (t.bits <= 16) result.push_back(t);
  }
  return result;
}

inline std::uint64_t code_count(const DType& t) { return std::uint64_t{1} << t.bits; }

}  // namespace tilevm::isa::oracle
