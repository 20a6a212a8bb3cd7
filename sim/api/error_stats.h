// How far results are from what they would be without rounding: sums and maxima of errors
// (docs/reference/checks.md, Shadow evaluation).
#pragma once

#include <array>
#include <cstdint>

#include "isa/type/dtype.h"

namespace tilevm::sim {

/// A sum of numbers from 0 on that does not depend on their order, so that host threads may share
/// the work: fixed point, 64 bits before and 64 after the point. A term from 2^63 on, or a sum
/// from 2^64 on, makes it infinite.
class FixedSum {
 public:
  void add(double term);
  FixedSum& operator+=(const FixedSum& other);
  [[nodiscard]] double value() const;

  friend bool operator==(const FixedSum&, const FixedSum&) = default;

 private:
  __extension__ using Fixed = unsigned __int128;
  static constexpr Fixed infinite = ~Fixed{0};

  void add_fixed(Fixed term);

  Fixed sum_ = 0;
};

/// An element of a tile or a tensor.
struct ErrorLocation {
  std::array<std::int64_t, 3> block{};  ///< x, y, z
  std::uint64_t element = 0;            ///< index in row-major order

  friend bool operator==(const ErrorLocation&, const ErrorLocation&) = default;
};

/// Errors of one kind.
struct ErrorSpread {
  std::uint64_t count = 0;
  double max = 0;
  ErrorLocation worst;  ///< where the maximum is, in the earliest block; nowhere if it is 0
  FixedSum sum;

  void add(double error, const ErrorLocation& location);
  ErrorSpread& operator+=(const ErrorSpread& other);
  [[nodiscard]] double mean() const {
    return count == 0 ? 0 : sum.value() / static_cast<double>(count);
  }

  friend bool operator==(const ErrorSpread&, const ErrorSpread&) = default;

 private:
  void raise(double error, const ErrorLocation& location);
};

/// What comparing the elements of a tile with their references gave.
struct ErrorStats {
  std::uint64_t elements = 0;    ///< number of elements that were compared
  std::uint64_t not_finite = 0;  ///< NaN or Inf in result or reference; in no spread
  ErrorSpread ulp;               ///< errors in units of the last place
  ErrorSpread relative;          ///< only where the reference is not 0, unless both are

  ErrorStats& operator+=(const ErrorStats& other);
  /// Whether all results equal their references.
  [[nodiscard]] bool exact() const { return not_finite == 0 && ulp.max == 0; }

  friend bool operator==(const ErrorStats&, const ErrorStats&) = default;
};

/// Compares results of one type with their references.
class ErrorMeter {
 public:
  explicit ErrorMeter(const isa::DType& type);

  /// The unit in the last place at a value: the distance of neighbouring numbers of the type. Below
  /// the normal numbers that of the least, above them that of the largest. 1 for integers.
  [[nodiscard]] double ulp(double value) const;
  void add(double result, double reference, const ErrorLocation& location, ErrorStats& stats) const;

 private:
  bool is_float_;
  int mantissa_bits_;
  int least_exponent_, largest_exponent_;  ///< exponents of normal numbers
};

}  // namespace tilevm::sim
