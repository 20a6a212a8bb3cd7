// Loops: how they are written, and how often their bodies run.
#pragma once

#include <cstdint>

#include "backend/select/passes.h"

namespace tilevm::backend {

/// SteppedLoop where steps cannot pass the end of the range, else CountedLoop.
[[nodiscard]] Form select_loop(const isa::ForStmt& loop, const Selection& selection);

/// From this many iterations on a loop is long.
inline constexpr std::int64_t long_trip_count = 8;

/// How often a statement runs in one run of the kernel, by the loops around it: exact below
/// long_trip_count as far as ranges are constants, and long_trip_count for everything else.
[[nodiscard]] std::int64_t trip_count(const isa::Statements& statements, isa::StmtId id);

}  // namespace tilevm::backend
