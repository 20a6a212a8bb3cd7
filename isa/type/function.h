// Functions of one element, by their definition (isa/type/function_sequences.h).
#pragma once

#include <cstdint>

#include "isa/type/dtype.h"
#include "isa/type/operations.h"

namespace tilevm::isa {

/// A function on a code of a type that it is defined on.
[[nodiscard]] std::uint64_t apply_function(UnaryOp op, const DType& type, std::uint64_t code);

}  // namespace tilevm::isa
