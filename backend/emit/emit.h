// From a verified program to CUDA C++ text.
//
// The text has two parts: the device prelude (prelude.h: every instruction that is not plain C++),
// then one __global__ function per kernel, which is plain C++ over the prelude's functions. It
// includes no headers, so NVRTC and nvcc take it as it is. Comments quote the program and #line
// gives its line numbers, so NVIDIA's tools show lines of the .tile file. A program always gives
// the same text, byte for byte.
#pragma once

#include <cstdint>
#include <span>

#include "backend/emit/cuda_source.h"
#include "backend/select/select.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// The CUDA C++ of all kernels of a program. Pure and total: whatever verifies is emitted.
[[nodiscard]] CudaSource emit_cuda(const SelectedProgram& selected);
/// Selects the forms, then writes them.
[[nodiscard]] CudaSource emit_cuda(const isa::VerifiedProgram& program);

/// What the text is compiled for.
enum class MachineKind : std::uint8_t {
  gpu,
  /// The C++ compiler of this machine: the same kernels, over other bodies of the prelude's
  /// functions for what only a GPU can do (backend/prelude/emulated.cuh, backend/emu).
  emulated,
};

/// The kernels of several programs in one text, all of them selected with the same options. Their
/// entries have different names.
[[nodiscard]] CudaSource emit_together(std::span<const SelectedProgram> programs,
                                       MachineKind machine);

}  // namespace tilevm::backend
