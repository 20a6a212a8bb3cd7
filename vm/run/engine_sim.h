// The engine that simulates.
#pragma once

#include <memory>

#include "vm/run/engine.h"

namespace tilevm::vm {

[[nodiscard]] std::unique_ptr<Engine> make_sim_engine(const EngineOptions& options);

}  // namespace tilevm::vm
