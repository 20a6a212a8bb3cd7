// The engines by their names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/run/engine.h"

namespace tilevm::vm {

/// Names of the engines there are.
[[nodiscard]] const std::vector<std::string>& engine_names();

/// Error: usage (unknown name), unavailable (no device, no driver, no compiler).
[[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(const std::string& name,
                                                          const EngineOptions& options);

}  // namespace tilevm::vm
