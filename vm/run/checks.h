// The simulator's checks by their names.
#pragma once

#include <string_view>

#include "isa/base/result.h"
#include "sim/api/sim.h"

namespace tilevm::vm {

/// `--check`: "all", "none", or a list with commas. Error (usage): a check that there is not.
[[nodiscard]] Result<sim::Checks> parse_checks(std::string_view list);

}  // namespace tilevm::vm
