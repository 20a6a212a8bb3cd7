#include "sim/api/error_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isa/type/number.h"

namespace tilevm::sim {
namespace {

constexpr double two_to_64 = 0x1p64;

/// Blocks in the order of the grid, x fastest.
bool comes_before(const ErrorLocation& a, const ErrorLocation& b) {
  return std::lexicographical_compare(a.block.rbegin(), a.block.rend(), b.block.rbegin(),
                                      b.block.rend());
}

}  // namespace

void FixedSum::add(double term) {
  if (!(term < two_to_64 / 2)) return add_fixed(infinite);
  const double whole = std::floor(term);
  const auto fraction = static_cast<std::uint64_t>((term - whole) * two_to_64);
  add_fixed((static_cast<Fixed>(whole) << 64) | fraction);
}

FixedSum& FixedSum::operator+=(const FixedSum& other) {
  add_fixed(other.sum_);
  return *this;
}

void FixedSum::add_fixed(Fixed term) { sum_ = infinite - sum_ < term ? infinite : sum_ + term; }

double FixedSum::value() const {
  if (sum_ == infinite) return std::numeric_limits<double>::infinity();
  return static_cast<double>(sum_) / two_to_64;
}

void ErrorSpread::raise(double error, const ErrorLocation& location) {
  if (error == 0 || error < max || (error == max && !comes_before(location, worst))) return;
  max = error;
  worst = location;
}

void ErrorSpread::add(double error, const ErrorLocation& location) {
  ++count;
  sum.add(error);
  raise(error, location);
}

ErrorSpread& ErrorSpread::operator+=(const ErrorSpread& other) {
  count += other.count;
  sum += other.sum;
  raise(other.max, other.worst);
  return *this;
}

ErrorStats& ErrorStats::operator+=(const ErrorStats& other) {
  elements += other.elements;
  not_finite += other.not_finite;
  ulp += other.ulp;
  relative += other.relative;
  return *this;
}

ErrorMeter::ErrorMeter(const isa::DType& type)
    : is_float_(type.is_float()),
      mantissa_bits_(type.mantissa_bits),
      least_exponent_(is_float_ ? type.least_exponent() : 0),
      largest_exponent_(std::ilogb(isa::to_double(isa::decode(type, isa::max_code(type))))) {}

double ErrorMeter::ulp(double value) const {
  if (!is_float_) return 1;
  const int exponent = value == 0 ? least_exponent_ : std::ilogb(value);
  return std::ldexp(1.0, std::clamp(exponent, least_exponent_, largest_exponent_) - mantissa_bits_);
}

void ErrorMeter::add(double result, double reference, const ErrorLocation& location,
                     ErrorStats& stats) const {
  ++stats.elements;
  if (result == reference || (std::isnan(result) && std::isnan(reference))) {
    stats.ulp.add(0, location);
    stats.relative.add(0, location);
    return;
  }
  if (!std::isfinite(result) || !std::isfinite(reference)) {
    ++stats.not_finite;
    return;
  }
  const double error = std::abs(result - reference);
  stats.ulp.add(error / ulp(reference), location);
  if (reference != 0) stats.relative.add(error / std::abs(reference), location);
}

}  // namespace tilevm::sim
