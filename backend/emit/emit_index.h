// Text of index arithmetic: digits of a thread or a place, offsets in memory layouts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"

namespace tilevm::backend {

/// The share of a tile dimension's index that the digits of x give (x is less than `bound`), or "".
[[nodiscard]] std::string share(std::string_view x, std::int64_t bound,
                                const std::vector<isa::RegisterLayout::Term>& terms, int dim);

/// Whether the thread is the first that holds its elements: "tv::thread() / 4 % 2 == 0", or "" if
/// every thread is.
[[nodiscard]] std::string first_holder(std::string_view thread, const isa::RegisterLayout& layout);

/// "a + b", without what is empty or zero.
[[nodiscard]] std::string sum(const std::string& a, const std::string& b);

/// The offset in elements of the element at i0_, i1_, ... (or another letter) in a memory layout.
[[nodiscard]] std::string layout_offset(const isa::MemoryLayout& layout,
                                        std::string_view letter = "i");

}  // namespace tilevm::backend
