// Elements of tensors as JSON.
#pragma once

#include <cstdint>

#include "isa/type/dtype.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// An element as JSON: integers exactly, floats as the nearest double.
[[nodiscard]] Json code_json(const isa::DType& type, std::uint64_t code);

}  // namespace tilevm::vm
