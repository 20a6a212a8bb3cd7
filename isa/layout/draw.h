// Pictures of layouts as text, for terminals, docs and failing tests (vm/picture draws files).
#pragma once

#include <string>

#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// A text table with one cell "thread:local" an element ("0,4:1" where replicas hold it in threads
/// 0 and 4, "0..3:1" for a run, "0,2,4,..:1" for many). Rank 1 is drawn as rows of 8 columns, rank
/// > 2 as one table per leading index. At most `max_cells` cells; a last line counts the others.
/// `color` paints the background by thread, modulo 8.
[[nodiscard]] std::string draw_text(const RegisterLayout& layout, bool color = false,
                                    std::int64_t max_cells = 1 << 14);

/// One paragraph: text form, shape, threads x locals, replicas, canonical attributes, contiguity.
[[nodiscard]] std::string describe(const RegisterLayout& layout);

/// Offsets of a memory layout as a table; as offset@bank if element_bits (at most 128) > 0, where
/// bank is offset * element_bits / 32 % 32 (shared memory: 32 banks of 32 bits).
/// `color` paints the background by bank, four banks a colour.
[[nodiscard]] std::string draw_text(const MemoryLayout& layout, int element_bits = 0,
                                    bool color = false);

}  // namespace tilevm::isa
