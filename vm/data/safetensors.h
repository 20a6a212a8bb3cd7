// The .safetensors format: 8 bytes with the length of a JSON header, the header, the data of all
// tensors, dense and in row-major order (github.com/huggingface/safetensors, README, "Format").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "vm/data/tensor.h"
#include "vm/text/byte_source.h"

namespace tilevm::vm {

struct SafeTensor {
  std::string name;
  std::string type;                 ///< type as the file says: "BF16"
  std::optional<isa::DType> dtype;  ///< nothing for a type that tilevm has not
  isa::Shape shape;
  std::uint64_t offset = 0, bytes = 0;  ///< range of bytes in the file
};

/// The tensors of a file, in the order of their data. Error (program): the header is damaged or
/// longer than 64 MiB, a name or another key occurs twice, or data is missing, shared by two
/// tensors, or nobody's.
[[nodiscard]] Result<std::vector<SafeTensor>> read_safetensors(const ByteSource& file);

/// A tensor under a name.
struct NamedTensor {
  std::string name;
  const HostTensor* tensor = nullptr;
};

/// The bytes of a file; the types must be such as is_safetensors_type says.
[[nodiscard]] Bytes safetensors_bytes(std::vector<NamedTensor> tensors);

/// Whether the format has this type, with elements of whole bytes.
[[nodiscard]] bool is_safetensors_type(const isa::DType& dtype);

}  // namespace tilevm::vm
