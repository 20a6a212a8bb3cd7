// Counts what instructions cost that exchange values between threads through shared memory
// (isa/program/exchange.h): as the emitted code does it, the same in every execution.
#pragma once

#include <optional>

#include "isa/program/program.h"
#include "sim/api/counters.h"

namespace tilevm::sim {

/// The traffic of one execution; nothing for an instruction that exchanges nothing.
[[nodiscard]] std::optional<AccessCounts> count_exchange(const isa::Kernel& kernel,
                                                         const isa::InstStmt& stmt);

}  // namespace tilevm::sim
