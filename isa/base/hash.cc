#include "isa/base/hash.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace tilevm {
namespace {

constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F,
                        prime3 = 0x165667B19E3779F9, prime4 = 0x85EBCA77C2B2AE63,
                        prime5 = 0x27D4EB2F165667C5;

/// Little-endian integer of `count` bytes, on every host.
template <unsigned count>
std::uint64_t read_le(const std::uint8_t* p) {
  std::uint64_t value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, p, count);
  } else {
    for (unsigned i = 0; i < count; ++i) value |= std::uint64_t{p[i]} << (8 * i);
  }
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * prime2, 31) * prime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ round(0, lane)) * prime1 + prime4;
}

/// Consumes whole stripes of 32 bytes; at least one.
std::uint64_t hash_stripes(std::span<const std::uint8_t>& rest, std::uint64_t seed) {
  std::uint64_t a = seed + prime1 + prime2, b = seed + prime2, c = seed, d = seed - prime1;
  while (rest.size() >= 32) {
    const std::uint8_t* p = rest.data();
    a = round(a, read_le<8>(p));
    b = round(b, read_le<8>(p + 8));
    c = round(c, read_le<8>(p + 16));
    d = round(d, read_le<8>(p + 24));
    rest = rest.subspan(32);
  }
  const std::uint64_t hash =
      std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
  return merge(merge(merge(merge(hash, a), b), c), d);
}

/// The last 0 to 31 bytes.
std::uint64_t hash_tail(std::span<const std::uint8_t> rest, std::uint64_t hash) {
  for (; rest.size() >= 8; rest = rest.subspan(8)) {
    hash = std::rotl(hash ^ round(0, read_le<8>(rest.data())), 27) * prime1 + prime4;
  }
  if (rest.size() >= 4) {
    hash = std::rotl(hash ^ (read_le<4>(rest.data()) * prime1), 23) * prime2 + prime3;
    rest = rest.subspan(4);
  }
  for (const std::uint8_t byte : rest) hash = std::rotl(hash ^ (byte * prime5), 11) * prime1;
  return hash;
}

std::uint64_t avalanche(std::uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * prime2;
  hash = (hash ^ (hash >> 29)) * prime3;
  return hash ^ (hash >> 32);
}

}  // namespace

std::uint64_t xxh64(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  std::span<const std::uint8_t> rest = bytes;
  std::uint64_t hash = rest.size() >= 32 ? hash_stripes(rest, seed) : seed + prime5;
  hash += bytes.size();
  return avalanche(hash_tail(rest, hash));
}

std::uint64_t xxh64(std::string_view text, std::uint64_t seed) {
  return xxh64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, seed);
}

std::string format_hash(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace tilevm
