// The header of a .safetensors file: a JSON object that says of each tensor what it is and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/layout/shape.h"

namespace tilevm::vm {

/// A tensor as the header says; `begin` and `end` are bytes of the data.
struct HeaderEntry {
  std::string name;
  std::string type;  ///< "BF16"
  isa::Shape shape;
  std::uint64_t begin = 0, end = 0;
};

/// The tensors of a header, in its order. Error (program): what is wrong with it, also a key that
/// occurs twice in an object.
[[nodiscard]] Result<std::vector<HeaderEntry>> parse_safetensors_header(std::string_view text);

}  // namespace tilevm::vm
