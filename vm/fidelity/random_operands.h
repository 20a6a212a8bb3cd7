// Random operands that meet the corners of arithmetic: exponents close enough that alignment cuts,
// sums that cancel, subnormals, zeros, Inf and NaN, the ends of integers.
//
// A seed gives the same codes on every machine: results that GPUs gave for them are kept.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/type/bits.h"
#include "isa/type/dtype.h"

namespace tilevm::vm::fidelity {

/// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// The numbers of one block of a case. Changing this changes every kept hash.
inline Random block_random(std::uint64_t seed, std::int64_t block) {
  return Random(seed * 1'000'003 + static_cast<std::uint64_t>(block));
}

/// The distribution of numbers: exponents in [center, center + spread), and one in `special` NaN or
/// Inf (0: none).
struct Spread {
  int center, spread, special;
};

/// A code of a float type: mostly of the wanted exponents, sometimes subnormal, zero, near the
/// largest, or special.
inline std::uint64_t random_float(Random& random, const isa::DType& type, const Spread& spread) {
  const int fields = 1 << type.exponent_bits;
  const std::uint64_t sign = random.next() & 1;
  std::uint64_t mantissa = random.next() & isa::low_mask(type.mantissa_bits);
  if (random.one_in(4)) mantissa &= mantissa >> 1 & mantissa >> 2;
  int field = spread.center + random.below(spread.spread);
  field = field < 1 ? 1 : field > fields - 2 ? fields - 2 : field;
  if (random.one_in(16)) field = 0;
  if (random.one_in(16)) field = 0, mantissa = 0;
  if (spread.special != 0 && random.one_in(spread.special)) {
    field = fields - 1;
    if (random.one_in(2)) mantissa = type == isa::f8e4m3 ? 7 : 0;
  }
  const std::uint64_t code = (sign << type.exponent_bits | static_cast<std::uint64_t>(field))
                                 << type.mantissa_bits |
                             mantissa;
  const unsigned unused = type.unused_bits();
  return (code << unused | (random.next() & isa::low_mask(unused))) & isa::low_mask(type.bits);
}

/// A code of any type; one in eight integers is the least or the greatest.
inline std::uint64_t random_code(Random& random, const isa::DType& type, const Spread& spread) {
  if (type.is_float()) return random_float(random, type, spread);
  const std::uint64_t mask = isa::low_mask(type.bits), code = random.next() & mask;
  if (!random.one_in(8)) return code;
  const std::uint64_t ends[] = {0, mask, mask >> 1, (mask >> 1) + 1};
  return ends[code & 3] & mask;
}

inline std::vector<std::uint64_t> random_codes(Random& random, const isa::DType& type,
                                               std::size_t count, const Spread& spread) {
  std::vector<std::uint64_t> codes(count);
  for (std::uint64_t& code : codes) code = random_code(random, type, spread);
  return codes;
}

/// The exponents of operands and accumulator, chosen so that their alignments overlap.
struct Spreads {
  Spread a, b, c;
};

inline Spreads random_spreads(Random& random, const isa::DType& a, const isa::DType& b,
                              const isa::DType& c) {
  const int special = random.one_in(3) ? 64 : 0;
  const int width = 1 + random.below(12);
  const auto spread = [&](const isa::DType& type) {
    return Spread{random.below(1 << type.exponent_bits), width, special};
  };
  Spreads spreads{spread(a), spread(b), spread(c)};
  if (a.is_float() && b.is_float() && c.is_float()) {
    // The accumulator's exponent beside that of the products, give or take.
    const int product = spreads.a.center - a.bias() + spreads.b.center - b.bias();
    spreads.c.center = product + random.below(40) - 20 + c.bias();
  }
  return spreads;
}

}  // namespace tilevm::vm::fidelity
