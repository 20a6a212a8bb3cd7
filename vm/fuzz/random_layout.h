// Random layouts of registers and of memory, by drawing the digits of which they are made.
#pragma once

#include <cstdint>

#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "vm/fuzz/draw.h"

namespace tilevm::vm::fuzz {

/// The extents of a tile of at most `most` elements, with boundary extents (1, odd, prime) often.
[[nodiscard]] isa::Shape random_shape(Draw& draw, int rank, std::int64_t most);

/// A layout of a shape over so many threads. Threads that the shape does not need hold replicas.
[[nodiscard]] isa::RegisterLayout random_layout(Draw& draw, std::int64_t threads,
                                                const isa::Shape& shape);

/// The layout with elements in the same threads, at other places inside each.
[[nodiscard]] isa::RegisterLayout with_other_places(Draw& draw, const isa::RegisterLayout& layout);

/// A layout of the same threads with so many places in each. Threads hold replicas only where those
/// of `from` do, so that a View to it claims nothing new.
[[nodiscard]] isa::RegisterLayout random_view(Draw& draw, const isa::RegisterLayout& from,
                                              std::int64_t places);

/// A memory layout that gives each element a place of its own: permuted modes, gaps, a swizzle.
[[nodiscard]] isa::MemoryLayout random_memory(Draw& draw, const isa::Shape& shape);

}  // namespace tilevm::vm::fuzz
