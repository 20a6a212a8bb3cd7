#include "backend/emu/memory_map.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

long long distance(const void* from, const void* to) {
  return static_cast<long long>(reinterpret_cast<std::uintptr_t>(to) -
                                reinterpret_cast<std::uintptr_t>(from));
}

}  // namespace

void MemoryMap::add(std::string name, const unsigned char* begin, std::size_t bytes,
                    std::size_t reach) {
  buffers_.push_back({std::move(name), {begin, reach}, bytes});
}

const emu::Range* MemoryMap::find(const void* address, std::size_t bytes) const {
  for (const Buffer& buffer : buffers_) {
    const auto offset = static_cast<std::uint64_t>(distance(buffer.range.begin, address));
    if (offset < buffer.range.size && buffer.range.size - offset >= bytes) return &buffer.range;
  }
  return nullptr;
}

std::string describe_offset(long long offset, std::size_t bytes, const std::string& name) {
  const auto size = static_cast<long long>(bytes);
  if (offset < 0) return fmt::format("{} bytes before {} ({} bytes)", -offset, name, bytes);
  if (offset < size) return fmt::format("byte {} of {} ({} bytes)", offset, name, bytes);
  return fmt::format("{} bytes past the end of {} ({} bytes)", offset - size, name, bytes);
}

long long bytes_away(long long offset, std::size_t bytes) {
  const long long past = offset - static_cast<long long>(bytes);
  return offset < 0 ? -(offset + 1) : past > 0 ? past : 0;
}

long long MemoryMap::bytes_away_of(const Buffer& buffer, const void* address) {
  return bytes_away(distance(buffer.range.begin, address), buffer.bytes);
}

const MemoryMap::Buffer* MemoryMap::find_nearest(const void* address) const {
  const auto nearest =
      std::min_element(buffers_.begin(), buffers_.end(), [&](const Buffer& a, const Buffer& b) {
        return bytes_away_of(a, address) < bytes_away_of(b, address);
      });
  return nearest == buffers_.end() ? nullptr : &*nearest;
}

long long MemoryMap::bytes_to_nearest(const void* address) const {
  const Buffer* nearest = find_nearest(address);
  return nearest != nullptr ? bytes_away_of(*nearest, address)
                            : std::numeric_limits<long long>::max();
}

std::string MemoryMap::describe(const void* address) const {
  // Buffers are far from one another, so the nearest is the one that was meant.
  const Buffer* nearest = find_nearest(address);
  if (nearest == nullptr) return fmt::format("address {}", address);
  return describe_offset(distance(nearest->range.begin, address), nearest->bytes,
                         fmt::format("`{}`", nearest->name));
}

}  // namespace tilevm::backend
