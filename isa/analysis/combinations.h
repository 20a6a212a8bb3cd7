// Stores that combine elements with those of memory: what depends on their order.
#pragma once

#include <optional>

#include "isa/base/source.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Whether a kernel combines elements with those of memory.
[[nodiscard]] bool combines_in_memory(const Kernel& kernel);

/// Whether a kernel combines elements of memory in different ways, by operation or by type: what
/// remains then depends on the order, if two of them meet in one element.
[[nodiscard]] bool combines_differently(const Kernel& kernel);

/// Where a kernel adds floats to memory: the order of such sums, which their last bits depend on,
/// is defined by nothing. The first such statement.
[[nodiscard]] std::optional<Span> find_unordered_sum(const Kernel& kernel);

}  // namespace tilevm::isa
