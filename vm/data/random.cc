#include "vm/data/random.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "isa/base/hash.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "vm/data/fill.h"

namespace tilevm::vm {
namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t splitmix64(std::uint64_t state, std::uint64_t k) {
  return mix(state + (k + 1) * 0x9e3779b97f4a7c15);
}

namespace {

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

/// Finite codes of a float type, every one equally likely: magnitudes are 0..max_code; the lowest
/// bit of r, which hardly moves the product, gives the sign.
struct FiniteCodes {
  explicit FiniteCodes(const isa::DType& type)
      : unused(type.unused_bits()),
        magnitudes((isa::max_code(type) >> unused) + 1),
        sign(type.has_sign() ? 1 : 0),
        sign_shift(type.bits - 1U) {}

  [[nodiscard]] std::uint64_t code(std::uint64_t r) const {
    return (scale(r, magnitudes) << unused) | ((r & sign) << sign_shift);
  }

  unsigned unused;
  std::uint64_t magnitudes, sign;
  unsigned sign_shift;
};

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

/// Values of uniform_float in a type with a sign and a zero: their magnitudes are 0 to 1, so that
/// nothing overflows.
template <bool ties_away>
struct UnitRounding {
  explicit UnitRounding(const isa::DType& type)
      : mantissa_bits(type.mantissa_bits),
        least_field(static_cast<std::uint64_t>(1023 + type.least_exponent())),
        sign_shift(type.bits - 1U),
        unused(type.unused_bits()) {}

  /// As isa::encode, for |value| <= 1.
  [[nodiscard]] std::uint64_t code(double value) const {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
    const std::uint64_t field = std::max(magnitude >> 52, least_field);
    // Adding 2^52 units of the last place rounds to nearest even, and the sum counts the units.
    const auto units = std::bit_cast<double>((field + 52 - mantissa_bits) << 52);
    const double sum = std::bit_cast<double>(magnitude) + units;
    std::uint64_t count = std::bit_cast<std::uint64_t>(sum) & isa::low_mask(52);
    if constexpr (ties_away) {
      if (std::bit_cast<double>(magnitude) - (sum - units) == half_of(field)) ++count;
    }
    const std::uint64_t rounded = ((field - least_field) << mantissa_bits) + count;
    return (rounded << unused) | (bits >> 63 << sign_shift);
  }

  [[nodiscard]] double half_of(std::uint64_t field) const {
    return std::bit_cast<double>((field - mantissa_bits - 1) << 52);
  }

  unsigned mantissa_bits;
  std::uint64_t least_field;
  unsigned sign_shift, unused;
};

double unit_value(std::uint64_t r) {
  return static_cast<double>(static_cast<std::int64_t>(r >> 11)) * 0x1p-52 - 1.0;
}

template <bool ties_away>
void fill_rounded(HostTensor& tensor, std::uint64_t key) {
  fill_with(tensor, [key, rounding = UnitRounding<ties_away>(tensor.dtype)](std::size_t k) {
    return rounding.code(unit_value(splitmix64(key, k)));
  });
}

void fill_unit_floats(HostTensor& tensor, std::uint64_t key) {
  if (tensor.dtype == isa::f64) {
    fill_with(tensor, [key](std::size_t k) {
      return std::bit_cast<std::uint64_t>(unit_value(splitmix64(key, k)));
    });
  } else if (tensor.dtype == isa::f32) {
    fill_with(tensor, [key](std::size_t k) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(unit_value(splitmix64(key, k))));
    });
  } else if (tensor.dtype == isa::tf32) {
    fill_rounded<true>(tensor, key);
  } else if (tensor.dtype.has_sign() && tensor.dtype.has_zero()) {
    fill_rounded<false>(tensor, key);
  } else {
    fill_with(tensor, [key, type = tensor.dtype](std::size_t k) {
      return uniform_float(splitmix64(key, k), type);
    });
  }
}

/// Codes of an integer type.
void fill_codes(HostTensor& tensor, std::uint64_t key) {
  const unsigned shift = 64U - tensor.dtype.bits;
  fill_with(tensor, [key, shift](std::size_t k) { return splitmix64(key, k) >> shift; });
}

}  // namespace

std::uint64_t random_key(std::uint64_t seed, std::string_view name) {
  return mix(seed ^ mix(xxh64(name)));
}

void fill_rand(HostTensor& tensor, std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = random_key(seed, name);
  if (tensor.dtype.is_float()) {
    fill_unit_floats(tensor, key);
  } else {
    fill_codes(tensor, key);
  }
}

void fill_wild(HostTensor& tensor, std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = random_key(seed, name);
  if (tensor.dtype.is_float()) {
    fill_with(tensor, [key, codes = FiniteCodes(tensor.dtype)](std::size_t k) {
      return codes.code(splitmix64(key, k));
    });
  } else {
    fill_codes(tensor, key);
  }
}

void fill_corner(HostTensor& tensor, std::uint64_t seed, std::string_view name) {
  const std::uint64_t key = random_key(seed, name);
  const unsigned shift = 2 * (splitmix64(~key, 0) & 3);  // one element of 1, 4, 16 or 64
  const std::vector<std::uint64_t> corners = corner_codes(tensor.dtype);
  const auto ordinary = tensor.dtype.is_float() ? uniform_float : any_code;
  fill_with(tensor, [&](std::size_t k) {
    const std::uint64_t r = splitmix64(key, k);
    const isa::DType& type = tensor.dtype;
    const bool is_corner = (mix(r) & ((std::uint64_t{1} << shift) - 1)) == 0;
    return is_corner ? corners[scale(r, corners.size())] : ordinary(r, type);
  });
}

}  // namespace tilevm::vm
