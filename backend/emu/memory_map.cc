#include "backend/emu/memory_map.h"

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

std::string MemoryMap::describe(const void* address) const {
  // Buffers are far from one another, so the nearest is the one that was meant.
  const Buffer* nearest = nullptr;
  long long least = std::numeric_limits<long long>::max();
  for (const Buffer& buffer : buffers_) {
    const long long offset = distance(buffer.range.begin, address);
    const long long past = offset - static_cast<long long>(buffer.bytes);
    const long long away = offset < 0 ? -(offset + 1) : past > 0 ? past : 0;
    if (nearest == nullptr || away < least) {
      nearest = &buffer;
      least = away;
    }
  }
  if (nearest == nullptr) return fmt::format("address {}", address);
  return describe_offset(distance(nearest->range.begin, address), nearest->bytes,
                         fmt::format("`{}`", nearest->name));
}

}  // namespace tilevm::backend
