// The engine that runs kernels on a GPU.
#pragma once

#include <memory>
#include <string>

#include "backend/engine/engine.h"
#include "isa/base/result.h"
#include "vm/run/engine.h"

namespace tilevm::vm {

/// Error (unavailable): no driver, no device, no compiler.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_cuda_engine(const EngineOptions& options);

/// A GPU that programs can be compiled for and run on.
struct CudaMachine {
  backend::CudaEngine engine;
  isa::Target target;
  std::string compiler;  ///< description of the compiler
};
/// Error (unavailable): no driver, no device, no compiler. The device as backend::Device::open.
[[nodiscard]] Result<CudaMachine> open_cuda(int ordinal = -1, backend::BuildOptions build = {});

/// Error (usage): the program is for another architecture than the device's.
[[nodiscard]] Status check_target(const isa::VerifiedProgram& program, const isa::Target& device);

}  // namespace tilevm::vm
