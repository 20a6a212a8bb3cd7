// MPFR numbers for tests.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "isa/type/dtype.h"
#include "isa/type/number.h"

namespace tilevm::oracles {

/// An mpfr_t that is initialised with a precision.
class Real {
 public:
  explicit Real(int precision) { mpfr_init2(value_, precision); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): MPFR's functions take it as it is
  operator mpfr_ptr() { return value_; }

 private:
  mpfr_t value_;
};

/// While it lives, results of this thread that have the precision of a float type, once they have
/// gone through `code`, are rounded as that type rounds: to nearest even, with its subnormals and
/// its overflow.
class FormatRange {
 public:
  explicit FormatRange(const isa::DType& type) : type_(type) {
    // MPFR's significands lie in [1/2, 1).
    mpfr_set_emin(2 - type.bias() - type.mantissa_bits);
    mpfr_set_emax(type.bias() + 1);
  }
  ~FormatRange() {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
  FormatRange(const FormatRange&) = delete;
  FormatRange& operator=(const FormatRange&) = delete;

  [[nodiscard]] static int precision(const isa::DType& type) { return type.mantissa_bits + 1; }

  /// The code of a result and what its function returned.
  [[nodiscard]] std::uint64_t code(mpfr_ptr result, int ternary) const {
    mpfr_subnormalize(result, ternary, MPFR_RNDN);
    return isa::encode(type_, isa::number_from(mpfr_get_d(result, MPFR_RNDN)));
  }

 private:
  isa::DType type_;
};

/// The distance of a finite or infinite result from the exact one, in units of the last place of
/// f32 there. An Inf counts as 2^128, and is right for everything beyond the largest finite value.
inline double error_in_ulp(float got, mpfr_ptr exact, mpfr_ptr scratch) {
  if (std::isinf(got)) {
    const bool beyond = mpfr_zero_p(exact) == 0 && mpfr_get_exp(exact) > 128;
    const bool same_sign = std::signbit(got) == (mpfr_signbit(exact) != 0);
    if (beyond && same_sign) return 0;
    mpfr_set_si_2exp(scratch, got > 0 ? 1 : -1, 128, MPFR_RNDN);
  } else {
    mpfr_set_flt(scratch, got, MPFR_RNDN);
  }
  mpfr_sub(scratch, scratch, exact, MPFR_RNDN);
  const long exponent = mpfr_zero_p(exact) != 0 ? -149 : mpfr_get_exp(exact);
  const long last_place = std::clamp(exponent - 24, -149L, 104L);
  return std::fabs(std::ldexp(mpfr_get_d(scratch, MPFR_RNDN), static_cast<int>(-last_place)));
}

}  // namespace tilevm::oracles
