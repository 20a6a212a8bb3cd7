// Content hashes: short names for results, stable forever and equal on every platform.
#pragma once

#include <cstdint>

#include "isa/base/hash.h"
#include "vm/data/tensor.h"

namespace tilevm::vm {

/// Hash of type, shape and every element: XXH64 of the data with the XXH64 of "f16[64,64]" as its
/// seed. Bits that mean nothing (after the last element, the low 13 of a tf32) count as zero.
[[nodiscard]] std::uint64_t content_hash(const HostTensor& tensor);

}  // namespace tilevm::vm
