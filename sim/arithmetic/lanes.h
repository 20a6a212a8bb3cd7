// Loops over arrays of element codes: written once, compiled for each level of vector instructions.
//
// A lane is the smallest of 8, 16, 32 and 64 bits that holds a code. The lanes of a type whose
// elements are whole bytes are the tile itself; narrower elements are unpacked to bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "sim/arithmetic/simd_level.h"

#define TILEVM_INLINE [[gnu::always_inline]] inline

/// Precedes a loop whose input and output are the same array or disjoint.
#if defined(__clang__)
#define TILEVM_LOOP
#else
#define TILEVM_LOOP _Pragma("GCC ivdep")
#endif

namespace tilevm::sim {

/// Bytes of a lane for codes of `bits` bits.
[[nodiscard]] constexpr std::size_t lane_bytes(unsigned bits) {
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

/// Calls f.operator()<Lane>() with the unsigned type of a lane.
template <class F>
decltype(auto) with_lane(unsigned bits, F&& f) {
  switch (lane_bytes(bits)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

template <class Lane>
TILEVM_INLINE Lane load_lane(const std::uint8_t* lanes, std::size_t i) {
  Lane lane;
  std::memcpy(&lane, lanes + i * sizeof lane, sizeof lane);
  return lane;
}
template <class Lane>
TILEVM_INLINE void store_lane(std::uint8_t* lanes, std::size_t i, Lane lane) {
  std::memcpy(lanes + i * sizeof lane, &lane, sizeof lane);
}

/// out[i] = f(a[i]) and out[i] = f(a[i], b[i]) on lanes. `out` is an operand, or disjoint from all.
using LaneLoop1 = std::function<void(const std::uint8_t* a, std::uint8_t* out, std::size_t n)>;
using LaneLoop2 = std::function<void(const std::uint8_t* a, const std::uint8_t* b,
                                     std::uint8_t* out, std::size_t n)>;
using LaneLoop3 = std::function<void(const std::uint8_t* a, const std::uint8_t* b,
                                     const std::uint8_t* c, std::uint8_t* out, std::size_t n)>;

namespace detail {

template <class Out, class In, class F>
struct Body {
  F f;
  TILEVM_INLINE void operator()(const std::uint8_t* a, std::uint8_t* out, std::size_t n) const {
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      store_lane(out, i, static_cast<Out>(f(load_lane<In>(a, i))));
    }
  }
  TILEVM_INLINE void operator()(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
                                std::size_t n) const {
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      store_lane(out, i, static_cast<Out>(f(load_lane<In>(a, i), load_lane<In>(b, i))));
    }
  }
};

template <class Lane, class F>
struct Body3 {
  F f;
  TILEVM_INLINE void operator()(const std::uint8_t* a, const std::uint8_t* b, const std::uint8_t* c,
                                std::uint8_t* out, std::size_t n) const {
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      store_lane(out, i, f(load_lane<Lane>(a, i), load_lane<Lane>(b, i), load_lane<Lane>(c, i)));
    }
  }
};

/// c[i] ? a[i] : b[i], with conditions in bytes.
template <class Lane>
struct ChoiceBody {
  TILEVM_INLINE void operator()(const std::uint8_t* c, const std::uint8_t* a, const std::uint8_t* b,
                                std::uint8_t* out, std::size_t n) const {
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      const auto mask = static_cast<Lane>(Lane{0} - Lane{c[i]});
      const Lane x = load_lane<Lane>(a, i), y = load_lane<Lane>(b, i);
      store_lane(out, i, static_cast<Lane>((x & mask) | (y & ~mask)));
    }
  }
};

template <class Body, class... Args>
void run_portable(const Body& body, Args... args) {
  body(args...);
}
#if defined(__x86_64__)
template <class Body, class... Args>
[[gnu::target("avx2,fma")]] void run_avx2(const Body& body, Args... args) {
  body(args...);
}
template <class Body, class... Args>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]] void run_avx512(const Body& body,
                                                                               Args... args) {
  body(args...);
}
#endif

template <class... Args, class Body>
std::function<void(Args...)> at_level([[maybe_unused]] SimdLevel level, const Body& body) {
#if defined(__x86_64__)
  if (level == SimdLevel::avx512) return [body](Args... args) { run_avx512(body, args...); };
  if (level == SimdLevel::avx2) return [body](Args... args) { run_avx2(body, args...); };
#endif
  return [body](Args... args) { run_portable(body, args...); };
}

}  // namespace detail

/// The loop over f, whose call operator must be TILEVM_INLINE; the level must be one of
/// simd_levels().
template <class Out, class In, class F>
LaneLoop1 loop1(SimdLevel level, const F& f) {
  return detail::at_level<const std::uint8_t*, std::uint8_t*, std::size_t>(
      level, detail::Body<Out, In, F>{f});
}
template <class Out, class In, class F>
LaneLoop2 loop2(SimdLevel level, const F& f) {
  return detail::at_level<const std::uint8_t*, const std::uint8_t*, std::uint8_t*, std::size_t>(
      level, detail::Body<Out, In, F>{f});
}

template <class Lane, class F>
LaneLoop3 loop3(SimdLevel level, const F& f) {
  using Lanes = const std::uint8_t*;
  return detail::at_level<Lanes, Lanes, Lanes, std::uint8_t*, std::size_t>(
      level, detail::Body3<Lane, F>{f});
}

template <class Lane>
LaneLoop3 choice_loop(SimdLevel level) {
  using Lanes = const std::uint8_t*;
  return detail::at_level<Lanes, Lanes, Lanes, std::uint8_t*, std::size_t>(
      level, detail::ChoiceBody<Lane>{});
}

/// loop2 where vector instructions do not help: calls and divisions.
template <class Out, class In, class F>
LaneLoop2 scalar_loop2(const F& f) {
  const detail::Body<Out, In, F> body{f};
  return [body](const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out, std::size_t n) {
    body(a, b, out, n);
  };
}

}  // namespace tilevm::sim
