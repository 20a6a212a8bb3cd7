// Ranges of the scalars of a kernel: interval arithmetic over block indices, loop variables and
// constants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/analysis/definitions.h"
#include "isa/program/program.h"

namespace tilevm::isa {

struct Interval {
  std::int64_t low, high;
};

/// What is known of the values that scalars take, from the statements that give them values.
/// Nothing is known of a variable that is written more than once.
class ValueRanges {
 public:
  ValueRanges(const Kernel& kernel, const Definitions& definitions);

  /// An interval that holds all values of an integer. If there is one, no term wraps around.
  [[nodiscard]] std::optional<Interval> of(const Expr& expr) const;
  /// The value farthest from zero that an operation of isa::may_wrap reaches for some values of its
  /// operands, if its type does not hold it.
  [[nodiscard]] std::optional<std::string> wrapping(const Expr& expr) const;

 private:
  [[nodiscard]] std::optional<Interval> of(const Expr::Binary& binary) const;
  std::vector<std::optional<Interval>> of_variable_;
};

}  // namespace tilevm::isa
