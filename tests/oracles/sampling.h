// Codes that meet the corners of a conversion or a function: every sign and exponent of a float (of
// an integer, every length), with significands at, beside and between the places where a narrower
// format rounds.
//
// A seed gives the same codes on every machine.
#pragma once

#include <cstdint>

#include "isa/type/bits.h"
#include "isa/type/dtype.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::oracles {

using vm::fidelity::Random;

/// With sanitizers, which cost a factor of ten, less is tried.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
inline constexpr std::uint64_t fewer = sanitized ? 32 : 1;

/// Where the low `bits` bits of a number lie between those of a narrower format.
inline constexpr int place_count = 6;
[[nodiscard]] inline std::uint64_t low_place(int place, unsigned bits) {
  if (bits == 0) return 0;
  const std::uint64_t ones = isa::low_mask(bits), half = std::uint64_t{1} << (bits - 1);
  const std::uint64_t places[place_count] = {0, 1, half - 1, half, (half + 1) & ones, ones};
  return places[place];
}

/// A number of `bits` bits: random above, and below a random cut random or at such a place.
[[nodiscard]] inline std::uint64_t random_significand(Random& random, unsigned bits) {
  const std::uint64_t all = random.next() & isa::low_mask(bits);
  const int place = random.below(place_count + 2);
  if (place >= place_count) return all;
  const auto cut = static_cast<unsigned>(random.below(static_cast<int>(bits) + 1));
  return (all & ~isa::low_mask(cut)) | low_place(place, cut);
}

/// A code of f32, f64 or an integer type. Floats: the stratum, in turn, is the sign and exponent;
/// of f64 every second one lies where f32 has numbers. Integers: it is the length.
[[nodiscard]] inline std::uint64_t stratified(Random& random, const isa::DType& type,
                                              std::uint64_t stratum) {
  if (type.is_float()) {
    const unsigned m = type.mantissa_bits;
    std::uint64_t top = stratum & isa::low_mask(type.exponent_bits + 1u);
    if (type == isa::f64 && stratum % 2 != 0) {
      const std::uint64_t sign = top & 0x800;
      top = sign | static_cast<std::uint64_t>(1023 - 160 + random.below(300));
    }
    return top << m | random_significand(random, m);
  }
  const auto length = static_cast<unsigned>(stratum % (type.bits + 1u));
  const std::uint64_t magnitude = random_significand(random, length);
  const bool negated = type.is_signed_int() && (stratum / (type.bits + 1u)) % 2 != 0;
  return (negated ? std::uint64_t{0} - magnitude : magnitude) & isa::low_mask(type.bits);
}

/// f(code) for every sign and exponent of a float with the first and last significands of each
/// precision, and all places below them.
template <class F>
void for_each_near(const isa::DType& type, F&& f) {
  const unsigned m = type.mantissa_bits;
  const std::uint64_t tops = std::uint64_t{1} << (type.exponent_bits + 1u);
  for (std::uint64_t top = 0; top < tops; ++top) {
    for (unsigned cut = 0; cut <= m; ++cut) {
      const std::uint64_t last = isa::low_mask(m - cut);
      for (const std::uint64_t high : {std::uint64_t{0}, std::uint64_t{1} & last, last}) {
        for (int place = 0; place < place_count; ++place) {
          f(top << m | high << cut | low_place(place, cut));
        }
      }
    }
  }
}

}  // namespace tilevm::oracles
