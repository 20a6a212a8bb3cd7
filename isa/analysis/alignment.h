// What is known of the divisibility of scalars and of the offsets in layouts: how wide an access
// may be.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/analysis/definitions.h"
#include "isa/layout/memory_layout.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// The largest power of two that divides a value, up to a limit that no access needs; of zero the
/// limit.
[[nodiscard]] std::int64_t power_of_two_in(std::int64_t value);

/// Powers of two that divide the scalars of a kernel, from the statements that give them values.
class Divisibility {
 public:
  Divisibility(const Kernel& kernel, const Definitions& definitions);

  /// The largest power of two that is known to divide an integer; zero has the largest there is.
  [[nodiscard]] std::int64_t of(const Expr& expr) const;

 private:
  [[nodiscard]] std::int64_t of(const Expr::Binary& binary) const;
  std::vector<std::int64_t> of_variable_;
};

/// Whether `count` (a power of two) elements that begin at a multiple of `count` along a dimension
/// follow one another in memory, from an offset on that is a multiple of `count`.
[[nodiscard]] bool keeps_together(const MemoryLayout& layout, int dim, std::int64_t count);

}  // namespace tilevm::isa
