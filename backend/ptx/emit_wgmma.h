// The instructions of warp groups as functions of the emitted text, derived from their
// descriptions.
#pragma once

#include <cstddef>
#include <string>

#include "isa/dot/mma_shapes.h"

namespace tilevm::backend {

/// An instruction, and where its left matrix is.
struct WgmmaUse {
  const isa::MmaShape* shape = nullptr;
  bool a_in_registers = false;
};

/// "wgmma_m64n128k16_f32_f16_f16_rs".
[[nodiscard]] std::string wgmma_function_name(const WgmmaUse& use);

/// The definition of the function, a template of the factors 1 or -1 of a and of b, and of whether
/// each has m or n, instead of k, beside one another: the registers of d by reference, the
/// registers or the descriptor of a, the descriptor of b, whether d is added. Source: PTX ISA,
/// "wgmma.mma_async".
[[nodiscard]] std::string wgmma_function(const WgmmaUse& use);

/// The function of an emulated kernel: it asks the machine (backend/emu/lane.h) for instruction
/// `number`.
[[nodiscard]] std::string emulated_wgmma_function(const WgmmaUse& use, std::size_t number);

}  // namespace tilevm::backend
