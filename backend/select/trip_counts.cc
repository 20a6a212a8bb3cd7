#include "backend/select/trip_counts.h"

#include <algorithm>
#include <variant>

namespace tilevm::backend {
namespace {

using isa::Expr;

/// Steps of one never pass the end of a range, so they never overflow.
bool steps_by_one(const Expr& step) {
  return step.constant_int() == std::int64_t{1} || step.constant_int() == std::int64_t{-1};
}

/// Small constant ranges stay clear of overflow, too.
bool is_small_range(const isa::ForStmt& loop) {
  constexpr std::int64_t small = 1 << 30;
  for (const Expr* expr : {&loop.begin, &loop.end, &loop.step}) {
    const auto value = expr->constant_int();
    if (!value || *value <= -small || *value >= small) return false;
  }
  return isa::is_signed(loop.begin.kind());
}

bool counts_down(const Expr& step) {
  const auto value = step.constant_value();
  return value && isa::is_signed(value->kind) && value->as_int() < 0;
}

/// Iterations of one run of a loop, as far as they are known; at least one.
std::int64_t iterations(const isa::Stmt& stmt) {
  const auto* loop = std::get_if<isa::ForStmt>(&stmt.node);
  if (loop == nullptr || !is_small_range(*loop)) return long_trip_count;
  const std::int64_t span = *loop->end.constant_int() - *loop->begin.constant_int();
  const std::int64_t step = *loop->step.constant_int();
  return std::max<std::int64_t>(1, (span + step + (step > 0 ? -1 : 1)) / step);
}

}  // namespace

Form select_loop(const isa::ForStmt& loop, const Selection& selection) {
  const bool in_steps = steps_by_one(loop.step) || is_small_range(loop);
  if (in_steps && !selection.definitions.written_inside(selection.statements, loop.id, loop.var)) {
    return SteppedLoop{counts_down(loop.step)};
  }
  return CountedLoop{};
}

std::int64_t trip_count(const isa::Statements& statements, isa::StmtId id) {
  std::int64_t count = 1;
  for (isa::StmtId loop = statements.loop(id); loop.valid(); loop = statements.loop(loop)) {
    count =
        std::min(count * std::min(iterations(statements[loop]), long_trip_count), long_trip_count);
  }
  return count;
}

}  // namespace tilevm::backend
