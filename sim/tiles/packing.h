// Elements narrower than a byte, unpacked to lanes (lanes.h) and packed again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// Reads the elements, narrower than a byte, of the threads [first, first + count) into lanes:
/// thread after thread, in local order. Up to 8 bytes after the last thread's stream may be read.
void unpack(const Tile& tile, const std::uint8_t* registers, std::size_t first, std::size_t count,
            std::uint8_t* lanes);

/// Writes lanes back as such elements; padding bits of a thread's last byte become zero.
void pack(const Tile& tile, const std::uint8_t* lanes, std::size_t first, std::size_t count,
          std::uint8_t* registers);

}  // namespace tilevm::sim
