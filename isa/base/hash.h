// A hash of bytes: stable forever and equal on every platform.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilevm {

/// XXH64 as published (Yann Collet, "xxHash fast digest algorithm", version 0.1.1).
[[nodiscard]] std::uint64_t xxh64(std::span<const std::uint8_t> bytes, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t xxh64(std::string_view text, std::uint64_t seed = 0);

/// 16 lower-case hexadecimal digits.
[[nodiscard]] std::string format_hash(std::uint64_t hash);

}  // namespace tilevm
