// The engine that simulates.
#pragma once

#include <memory>

#include "vm/run/engine.h"

namespace tilevm::vm {

/// What the kernels do with a tensor of an entry, through any of their parameters.
[[nodiscard]] isa::PointerUse use_of(const isa::VerifiedProgram& program, const Entry& entry,
                                     std::size_t tensor);

[[nodiscard]] std::unique_ptr<Engine> make_sim_engine(const EngineOptions& options);

}  // namespace tilevm::vm
