// What memory held before: pages are saved before they are written for the first time since a
// snapshot, so that the snapshot's memory can be brought back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilevm::sim::debug {

inline constexpr std::size_t page_bytes = 512;

/// Pieces of memory by their address: at most page_bytes each, none across the end of a buffer.
using Pages = std::unordered_map<std::uint8_t*, std::vector<std::uint8_t>>;

/// Saves the pages of bytes [begin, end) of a buffer that are not saved yet.
void save_pages(std::uint8_t* buffer, std::size_t buffer_bytes, std::size_t begin, std::size_t end,
                Pages& pages);

/// Exchanges memory with what is saved.
void swap_pages(Pages& pages);

/// Adds the pages of `other` that are missing in `pages`.
void merge_pages(Pages& pages, Pages&& other);

/// What the pages take, in bytes.
[[nodiscard]] std::size_t bytes_of(const Pages& pages);

}  // namespace tilevm::sim::debug
