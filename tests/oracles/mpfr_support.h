// MPFR numbers for tests.
#pragma once

#include <mpfr.h>

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

}  // namespace tilevm::oracles
