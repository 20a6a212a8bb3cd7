#include "backend/emu/tensor_box.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

constexpr std::int64_t unit = 16;

}  // namespace

TensorBox::TensorBox(const emu::TensorMap& map, const int* begin, unsigned char* shared,
                     unsigned at, bool stores)
    : map_(map), shared_(shared), at_(at), stores_(stores) {
  for (std::size_t d = 0; d < map.rank; ++d) begin_[d] = begin[d];
}

std::size_t TensorBox::bytes() const {
  std::size_t bytes = map_.element_bytes;
  for (std::size_t d = 0; d < map_.rank; ++d) bytes *= map_.box[d];
  return bytes;
}

std::size_t TensorBox::span() const {
  const std::size_t row = std::size_t{map_.box[0]} * map_.element_bytes;
  const std::size_t pitch = map_.swizzle_bytes == 0 ? row : map_.swizzle_bytes;
  return bytes() / row * pitch;
}

std::optional<std::string> TensorBox::refused() const {
  const auto alignment = map_.swizzle_bytes == 0 ? 128 : 8 * map_.swizzle_bytes;
  if (at_ % alignment != 0) {
    return fmt::format(
        "a box of a tensor map is at byte {} of shared memory, which is not a multiple "
        "of {}",
        at_, alignment);
  }
  if (begin_[0] * map_.element_bytes % unit != 0) {
    return fmt::format(
        "a box of a tensor map begins at element {}, which is not a multiple of 16 "
        "bytes",
        begin_[0]);
  }
  for (std::size_t d = 0; stores_ && d < map_.rank; ++d) {
    if (begin_[d] < 0) {
      return fmt::format("a box that is stored begins at {}, below zero", begin_[d]);
    }
  }
  return std::nullopt;
}

std::int64_t TensorBox::innermost_end() const {
  const auto extent = static_cast<std::int64_t>(map_.extents[0]);
  if (!stores_) return extent;
  const std::int64_t bytes = extent * map_.element_bytes;
  return (bytes + unit - 1) / unit * unit / map_.element_bytes;
}

std::uint64_t TensorBox::shared_place(const std::array<std::uint64_t, 5>& at) const {
  std::uint64_t row = 0;
  for (std::size_t d = map_.rank; d-- > 1;) row = row * map_.box[d] + at[d];
  const std::uint64_t packed = std::uint64_t{map_.box[0]} * map_.element_bytes;
  const std::uint64_t pitch = map_.swizzle_bytes == 0 ? packed : map_.swizzle_bytes;
  const std::uint64_t place = at_ + row * pitch + at[0] * map_.element_bytes;
  if (map_.swizzle_bytes == 0) return place;
  const std::uint64_t mask = map_.swizzle_bytes / unit - 1;  // a row's units of 16 bytes, less one
  return place ^ ((place >> 7 & mask) << 4);
}

unsigned char* TensorBox::row_address(const std::array<std::uint64_t, 5>& at) const {
  unsigned char* address = map_.address;
  for (std::size_t d = 0; d < map_.rank; ++d) {
    const std::int64_t index = begin_[d] + static_cast<std::int64_t>(at[d]);
    const bool is_outside =
        d > 0 && (index < 0 || index >= static_cast<std::int64_t>(map_.extents[d]));
    if (is_outside) return nullptr;
    const std::int64_t inside = d == 0 && index < 0 ? 0 : index;
    address += inside * static_cast<std::int64_t>(map_.strides[d]);
  }
  return address;
}

std::uint64_t TensorBox::row_elements(const std::array<std::uint64_t, 5>& at) const {
  if (row_address(at) == nullptr) return 0;
  const std::int64_t first = begin_[0] < 0 ? 0 : begin_[0];
  const std::int64_t end = std::min<std::int64_t>(begin_[0] + map_.box[0], innermost_end());
  return end > first ? static_cast<std::uint64_t>(end - first) : 0;
}

unsigned char* TensorBox::global_address(const std::array<std::uint64_t, 5>& at) const {
  const std::int64_t index = begin_[0] + static_cast<std::int64_t>(at[0]);
  if (index < 0 || index >= innermost_end()) return nullptr;
  return row_address(at);
}

void TensorBox::move() const {
  constexpr std::array<unsigned char, 8> nan{0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f, 0xf7, 0x7f};
  for_each_index([&](const std::array<std::uint64_t, 5>& at) {
    unsigned char* const here = shared_ + shared_place(at);
    unsigned char* const there = global_address(at);
    if (stores_) {
      if (there != nullptr) std::memcpy(there, here, map_.element_bytes);
    } else if (there != nullptr) {
      std::memcpy(here, there, map_.element_bytes);
    } else if (map_.fill_nan) {
      std::memcpy(here, nan.data(), map_.element_bytes);
    } else {
      std::memset(here, 0, map_.element_bytes);
    }
  });
}

}  // namespace tilevm::backend
