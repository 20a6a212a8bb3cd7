// The makers of the engines, one a file.
#pragma once

#include <memory>

#include "isa/base/result.h"
#include "vm/vm.h"

namespace tilevm::vm {

[[nodiscard]] std::unique_ptr<Engine> make_sim_engine(const EngineOptions& options);
/// Error (unavailable): no driver, no device, no compiler.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_cuda_engine();

}  // namespace tilevm::vm
