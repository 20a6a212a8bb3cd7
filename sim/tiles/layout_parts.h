// A register layout as tables: since digits are independent, an element's index is a thread's share
// plus a place's share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/inst/tensor_type.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"

namespace tilevm::sim {

/// index[d] == thread_part(t)[d] + local_part(i)[d].
struct LayoutParts {
  explicit LayoutParts(const isa::RegisterLayout& layout);
  /// One thread that holds all elements in row-major order.
  explicit LayoutParts(const isa::Shape& shape);

  std::size_t rank, threads, locals;
  std::vector<std::int32_t> thread_parts, local_parts;  ///< [thread][dim], [local][dim]
  /// The threads that are the first to hold their elements, ascending; all if nothing is
  /// replicated.
  std::vector<std::int32_t> first_threads;

  [[nodiscard]] const std::int32_t* thread_part(std::size_t t) const {
    return thread_parts.data() + t * rank;
  }
  [[nodiscard]] const std::int32_t* local_part(std::size_t i) const {
    return local_parts.data() + i * rank;
  }
  /// The index of the element at place i of thread t.
  [[nodiscard]] isa::Index index(std::size_t t, std::size_t i) const;
};

/// The location of a tile in the register slab, and how its elements are packed.
struct Tile {
  std::size_t offset = 0;        ///< byte in the slab
  std::size_t thread_bytes = 0;  ///< bytes of one thread's stream
  std::size_t threads = 0, locals = 0;
  unsigned bits = 0;       ///< bits of one element
  std::size_t shadow = 0;  ///< the first of its elements in ShadowValues::registers

  [[nodiscard]] std::size_t bytes() const { return threads * thread_bytes; }
  /// Whether the whole tile is one dense array of elements.
  [[nodiscard]] bool is_dense() const { return locals * bits == thread_bytes * 8; }
};
/// The stride of each dimension, if the layout is nothing but strides.
[[nodiscard]] std::optional<std::vector<std::int64_t>> plain_strides(
    const isa::MemoryLayout& layout);

[[nodiscard]] Tile make_tile(const isa::RegisterType& type, std::size_t offset);

}  // namespace tilevm::sim
