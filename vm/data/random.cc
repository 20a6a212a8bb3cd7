#include "vm/data/random.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "isa/base/hash.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"

namespace tilevm::vm {
namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// The high half of the 128-bit product: maps r, uniform over 64 bits, to 0..n-1 evenly.
std::uint64_t scale(std::uint64_t r, std::uint64_t n) {
  const std::uint64_t r_low = r & 0xffffffff, r_high = r >> 32;
  const std::uint64_t n_low = n & 0xffffffff, n_high = n >> 32;
  const std::uint64_t middle = r_high * n_low + ((r_low * n_low) >> 32);
  const std::uint64_t carry = (middle & 0xffffffff) + r_low * n_high;
  return r_high * n_high + (middle >> 32) + (carry >> 32);
}

/// A code of an integer type: its high bits, which are the best mixed.
std::uint64_t any_code(std::uint64_t r, const isa::DType& type) { return r >> (64 - type.bits); }

std::uint64_t uniform_float(std::uint64_t r, const isa::DType& type) {
  const double value = static_cast<double>(r >> 11) * 0x1p-52 - 1.0;
  return isa::encode(type, isa::number_from(value));
}

/// Magnitudes 0..max_code are the finite ones; the lowest bit of r, which hardly moves the product,
/// gives the sign.
std::uint64_t finite_float(std::uint64_t r, const isa::DType& type) {
  const unsigned dead = type == isa::tf32 ? 13 : 0;
  const std::uint64_t magnitudes = (isa::max_code(type) >> dead) + 1;
  const std::uint64_t sign = type.has_sign() ? (r & 1) << (type.bits - 1) : 0;
  return (scale(r, magnitudes) << dead) | sign;
}

/// Codes at the edges of a type, with either sign.
std::vector<std::uint64_t> corner_codes(const isa::DType& type) {
  const std::uint64_t all = isa::low_mask(type.bits), sign = std::uint64_t{1} << (type.bits - 1);
  const std::uint64_t greatest = isa::max_code(type);
  std::vector<std::uint64_t> codes = {0, 1, 2, all, sign - 1, sign, greatest, greatest - 1};
  for (const double value : {1.0, 0.5, 2.0, -1.0}) {
    const std::uint64_t code = isa::encode(type, isa::number_from(value));
    codes.insert(codes.end(), {code, code + 1, code - 1});
  }
  if (type.is_float()) {
    const std::uint64_t least_normal = std::uint64_t{1}
                                       << (type.mantissa_bits + type.unused_bits());
    codes.insert(codes.end(), {least_normal, least_normal - 1, greatest + 1, greatest + 2});
  }
  const std::size_t count = codes.size();
  for (std::size_t i = 0; i < count; ++i) codes.push_back(codes[i] ^ sign);
  for (std::uint64_t& code : codes) code &= all;
  return codes;
}

/// Calls f(begin, end) for parts of 0..size, large ones on threads of their own. A part begins at a
/// multiple of 8 elements, so that parts share no byte.
template <class F>
void in_parts(std::size_t size, F f) {
  constexpr std::size_t worth_a_thread = std::size_t{1} << 20;
  const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t part = (std::max(worth_a_thread, size / most) + 8) / 8 * 8;
  std::vector<std::jthread> threads;
  for (std::size_t begin = part; begin < size; begin += part) {
    threads.emplace_back([=] { f(begin, std::min(begin + part, size)); });
  }
  f(0, std::min(part, size));
}

template <class Draw>
void fill(HostTensor& tensor, std::uint64_t key, Draw draw) {
  in_parts(tensor.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      tensor.set_code(k, draw(splitmix64(key, k), tensor.dtype));
    }
  });
}

/// Codes of up to 8 bits, eight at a time: they fill as many bytes as a code has bits.
void fill_narrow_codes(HostTensor& tensor, std::uint64_t key) {
  const unsigned bits = tensor.dtype.bits;
  in_parts(tensor.size(), [&, bits](std::size_t begin, std::size_t end) {
    std::size_t k = begin;
    for (; k + 8 <= end; k += 8) {
      std::uint64_t codes = 0;
      for (unsigned j = 0; j < 8; ++j) {
        codes |= splitmix64(key, k + j) >> (64 - bits) << (j * bits);
      }
      for (unsigned byte = 0; byte < bits; ++byte) {
        tensor.data[k / 8 * bits + byte] = static_cast<std::uint8_t>(codes >> (8 * byte));
      }
    }
    for (; k < end; ++k) tensor.set_code(k, any_code(splitmix64(key, k), tensor.dtype));
  });
}

/// Codes of an integer type.
void fill_codes(HostTensor& tensor, std::uint64_t key) {
  if (tensor.dtype.bits <= 8) {
    fill_narrow_codes(tensor, key);
  } else {
    fill(tensor, key, any_code);
  }
}

}  // namespace

std::uint64_t splitmix64(std::uint64_t state, std::uint64_t k) {
  return mix(state + (k + 1) * 0x9e3779b97f4a7c15);
}

std::uint64_t random_key(std::uint64_t seed, std::string_view name) {
  return mix(seed ^ mix(xxh64(name)));
}

void fill_rand(HostTensor& tensor, std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = random_key(seed, name);
  if (tensor.dtype.is_float()) {
    fill(tensor, key, uniform_float);
  } else {
    fill_codes(tensor, key);
  }
}

void fill_wild(HostTensor& tensor, std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = random_key(seed, name);
  if (tensor.dtype.is_float()) {
    fill(tensor, key, finite_float);
  } else {
    fill_codes(tensor, key);
  }
}

void fill_corner(HostTensor& tensor, std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = random_key(seed, name);
  const unsigned shift = 2 * (splitmix64(~key, 0) & 3);  // one element of 1, 4, 16 or 64
  const std::vector<std::uint64_t> corners = corner_codes(tensor.dtype);
  const auto ordinary = tensor.dtype.is_float() ? uniform_float : any_code;
  fill(tensor, key, [&](std::uint64_t r, const isa::DType& type) {
    const bool is_corner = (mix(r) & ((std::uint64_t{1} << shift) - 1)) == 0;
    return is_corner ? corners[scale(r, corners.size())] : ordinary(r, type);
  });
}

}  // namespace tilevm::vm
