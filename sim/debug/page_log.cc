#include "sim/debug/page_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tilevm::sim::debug {
namespace {

/// Bytes of an entry of a table, beside its own memory.
constexpr std::size_t entry_bytes = 64;

}  // namespace

void save_pages(std::uint8_t* buffer, std::size_t buffer_bytes, std::size_t begin, std::size_t end,
                Pages& pages) {
  end = std::min(end, buffer_bytes);
  for (std::size_t page = begin / page_bytes; page * page_bytes < end; ++page) {
    std::uint8_t* const first = buffer + page * page_bytes;
    const auto [entry, fresh] = pages.try_emplace(first);
    if (!fresh) continue;
    entry->second.assign(first, first + std::min(page_bytes, buffer_bytes - page * page_bytes));
  }
}

void swap_pages(Pages& pages) {
  for (auto& [memory, bytes] : pages) std::swap_ranges(bytes.begin(), bytes.end(), memory);
}

void merge_pages(Pages& pages, Pages&& other) {
  if (pages.empty()) {
    pages = std::move(other);
  } else {
    pages.merge(other);
  }
}

std::size_t bytes_of(const Pages& pages) { return pages.size() * (page_bytes + entry_bytes); }

}  // namespace tilevm::sim::debug
