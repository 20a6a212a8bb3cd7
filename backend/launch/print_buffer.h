// The memory in which a launch records its prints; the layout is in prelude/print.cuh.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "isa/base/result.h"
#include "isa/program/print.h"

namespace tilevm::backend {

/// Reads so many bytes of a print buffer from an offset on.
using PrintBufferReader = std::function<Status(void* to, std::size_t bytes, std::size_t offset)>;

/// The print buffer of a launch of that many blocks, before it.
[[nodiscard]] std::vector<std::uint8_t> make_print_buffer(std::uint64_t blocks);

/// Its size in bytes, and the bytes with which it begins; the rest is zeros.
[[nodiscard]] std::size_t print_buffer_bytes(std::uint64_t blocks);
[[nodiscard]] std::vector<std::uint8_t> print_buffer_head(std::uint64_t blocks);

/// What a finished launch recorded. Errors: program (the launch faulted, or wrote over the buffer).
[[nodiscard]] Result<isa::LaunchPrints> read_print_buffer(const PrintBufferReader& buffer,
                                                          int kernel,
                                                          const std::array<std::int64_t, 3>& grid,
                                                          const std::vector<isa::PrintSite>& sites);

}  // namespace tilevm::backend
