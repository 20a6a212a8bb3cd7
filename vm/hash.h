// Content hashes: short names for results, stable forever and equal on every platform.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vm/tensor.h"

namespace tilevm::vm {

/// XXH64 as published (Yann Collet, "xxHash fast digest algorithm", version 0.1.1).
[[nodiscard]] std::uint64_t xxh64(std::span<const std::uint8_t> bytes, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t xxh64(std::string_view text, std::uint64_t seed = 0);

/// Hash of type, shape and every element: XXH64 of the data with the XXH64 of "f16[64,64]" as its
/// seed. Bits that mean nothing (behind the last element, the low 13 of a tf32) count as zero.
[[nodiscard]] std::uint64_t content_hash(const HostTensor& tensor);

/// 16 lower-case hexadecimal digits.
[[nodiscard]] std::string format_hash(std::uint64_t hash);

}  // namespace tilevm::vm
