// An element of a stream of bits, with the residue that it was stored with.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/naive/element.h"
#include "vm/naive/residue_memory.h"

namespace tilevm::vm::naive {

/// `residues` are those of the stream; null without a ring. Modulo a prime an element that was not
/// stored as it is read is what its bits say; in the free algebra it is an expression of what it is
/// cut out of.
[[nodiscard]] Element read_element(const ElementArithmetic& arithmetic, const std::uint8_t* stream,
                                   const ResidueMemory* residues, const isa::DType& type,
                                   std::uint64_t bit);

}  // namespace tilevm::vm::naive
