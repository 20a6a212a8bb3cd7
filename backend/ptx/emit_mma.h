// Tensor-core instructions as functions of the emitted text, derived from their descriptions.
#pragma once

#include <cstddef>
#include <string>

#include "isa/dot/dot.h"

namespace tilevm::backend {

/// Registers of one operand of an mma instruction in one thread.
struct MmaRegisters {
  int bits = 32;  ///< bits of a register: 32, or 64 for f64
  int count = 0;
  int elements = 1;  ///< elements of a register, low bits first
  isa::RegisterElement element = {};
};
[[nodiscard]] MmaRegisters mma_registers(const isa::RegisterElement& element,
                                         const isa::RegisterLayout& fragment);
/// The registers of operands that fill their bits of a register.
[[nodiscard]] inline MmaRegisters mma_registers(const isa::DType& type,
                                                const isa::RegisterLayout& fragment) {
  return mma_registers(isa::RegisterElement{type.bits}, fragment);
}

/// The name of a type in PTX; one bit is b1 there.
[[nodiscard]] std::string ptx_type(const isa::DType& type);

/// "mma_m16n8k16_f32_f16_f16_f32": extents and the types of D, A, B, C, as PTX writes them.
[[nodiscard]] std::string mma_function_name(const isa::MmaShape& shape);

/// The definition of the function: c registers by reference, then those of a and of b; c += a * b.
/// The function of a sparse instruction is a template of the selector, and the register of places
/// is last. A block-scaled one is a template of the bytes where the scales begin in the last two
/// registers. Source: PTX ISA, "mma", "mma.sp", "Block scaling for mma.sync".
[[nodiscard]] std::string mma_function(const isa::MmaShape& shape);

/// The function of an emulated kernel: it asks the machine (backend/emu/lane.h) for instruction
/// `number`.
[[nodiscard]] std::string emulated_mma_function(const isa::MmaShape& shape, std::size_t number);

}  // namespace tilevm::backend
