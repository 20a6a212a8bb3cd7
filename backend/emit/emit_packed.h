// Registers of tensor-core instructions, gathered from the packed words of a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "backend/ptx/emit_mma.h"
#include "isa/dot/dot_plan.h"

namespace tilevm::backend {

/// An operand's tile and the form of its fragments' registers.
struct PackedOperand {
  std::string tile;
  int bits;  ///< bits of an element
  MmaRegisters registers;
};

/// Where a register's elements begin in its fragment.
[[nodiscard]] std::size_t first_of(const PackedOperand& operand, int register_index);

/// The number of the word of a register's elements, if its elements are neighbours that fill one
/// word.
[[nodiscard]] std::optional<std::int32_t> whole_word(const PackedOperand& operand,
                                                     const isa::Fragment& fragment,
                                                     int register_index);

/// A register's value: "a[2]", or its elements put together.
[[nodiscard]] std::string gather(const PackedOperand& operand, const isa::Fragment& fragment,
                                 int register_index);

/// The values of all registers, separated by commas.
[[nodiscard]] std::string gather_all(const PackedOperand& operand, const isa::Fragment& fragment);

}  // namespace tilevm::backend
