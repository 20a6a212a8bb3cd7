// The engine that runs emitted kernels on an emulated GPU (backend/emu).
#pragma once

#include <memory>

#include "vm/run/engine.h"

namespace tilevm::vm {

/// Error (unavailable): no C++ compiler.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_emu_engine(const EngineOptions& options);

}  // namespace tilevm::vm
