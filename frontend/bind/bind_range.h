// The range of a `for`: `range(end)`, `range(begin, end)` or `range(begin, end, step)`, each with
// `unroll=n` where the program says how many copies of the body the machine code has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"

namespace tilevm::frontend {

struct BoundRange {
  isa::Expr begin, end, step;  ///< range of one kind of integers; step is not a constant zero
  std::int64_t unroll = 0;     ///< 0: not given

  /// Whether begin, end and step are constants and the range has no value.
  [[nodiscard]] bool is_empty() const;
};

/// Nothing after a report.
[[nodiscard]] std::optional<BoundRange> bind_range(const std::vector<ast::Argument>& arguments,
                                                   const BindScope& scope);

}  // namespace tilevm::frontend
