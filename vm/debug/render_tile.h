// Tiles, elements and memory as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/debug/reply.h"
#include "vm/debug/words.h"

namespace tilevm::vm {

/// An element: its value, or its code in another form; "?" if it is undefined.
[[nodiscard]] std::string element_text(const isa::DType& dtype, const sim::debug::Element& element,
                                       Format format);

[[nodiscard]] std::string scalar_text(const isa::Scalar& scalar, Format format);
/// "outside of the view [100], `x[105]`"; of several elements it is the first.
[[nodiscard]] std::string outside_text(const sim::debug::reply::OutsideView& outside,
                                       bool several = false);
/// The indices of a block: "[0, 2]".
[[nodiscard]] std::string block_text(const std::vector<std::int64_t>& block);

[[nodiscard]] std::string tile_text(const sim::debug::reply::Tile& tile, const SourceFile& source,
                                    Format format);
[[nodiscard]] std::string thread_text(const sim::debug::reply::ThreadTile& tile, Format format);
/// The thread's bit stream, and which bits are which element.
[[nodiscard]] std::string thread_bits_text(const sim::debug::reply::ThreadTile& tile);
[[nodiscard]] std::string memory_text(const sim::debug::reply::MemoryShown& memory,
                                      const SourceFile& source, Format format);

}  // namespace tilevm::vm
