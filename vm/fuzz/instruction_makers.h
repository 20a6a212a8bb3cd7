// How each instruction of the schema is generated. An instruction without a maker does not compile.
#pragma once

#include <cstddef>
#include <vector>

#include "vm/fuzz/kernel_builder.h"

namespace tilevm::vm::fuzz {

/// Adds the instruction with this index in isa::Instruction, with what it needs around it. Where it
/// cannot stand (a semaphore in a loop), nothing is added.
void make_instruction(KernelBuilder& builder, std::size_t instruction);

/// An instruction's index, by how often it is to be drawn.
[[nodiscard]] std::size_t draw_instruction(Draw& draw);

}  // namespace tilevm::vm::fuzz
