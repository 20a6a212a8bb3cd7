// Every conversion of one number that NVIDIA's headers for small floats compute on the host,
// against Cast: all codes of 16 bits and fewer; of f32 and f64 every exponent with its corners, and
// 10^7 others; of wide integers 10^6. The packed conversions of the headers call these.
//
// The headers are one more implementation of the rules of docs/reference/arithmetic.md. They differ
// from Cast on NaN alone, as OnNan says.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <doctest/doctest.h>

#include <bit>
#include <concepts>
#include <string>
#include <vector>

#include "isa/type/number.h"
#include "tests/oracles/sampling.h"

namespace tilevm::oracles {
namespace {

using isa::DType;

/// What a type of the language, or of the headers, is here.
template <class T>
constexpr DType dtype =
    std::signed_integral<T> ? isa::signed_int(static_cast<int>(8 * sizeof(T)))
                            : isa::unsigned_int(static_cast<int>(8 * sizeof(T)));
template <>
constexpr DType dtype<float> = isa::f32;
template <>
constexpr DType dtype<double> = isa::f64;
template <>
constexpr DType dtype<__half> = isa::f16;
template <>
constexpr DType dtype<__nv_bfloat16> = isa::bf16;
template <>
constexpr DType dtype<__nv_fp8_e4m3> = isa::f8e4m3;
template <>
constexpr DType dtype<__nv_fp8_e5m2> = isa::f8e5m2;
template <>
constexpr DType dtype<__nv_fp6_e3m2> = isa::small_float(3, 2);
template <>
constexpr DType dtype<__nv_fp6_e2m3> = isa::small_float(2, 3);
template <>
constexpr DType dtype<__nv_fp4_e2m1> = isa::small_float(2, 1);

/// What the headers make of a NaN.
enum class OnNan : std::uint8_t {
  as_cast,
  any_nan,        ///< a NaN with the operand's sign or payload, where Cast gives the canonical one
  least_integer,  ///< 0x80..0, as PTX does for 64 bits; Cast gives 0 at every width
};

OnNan on_nan(const DType& from, const DType& to) {
  if (to.is_integer()) return to.bits == 64 ? OnNan::least_integer : OnNan::as_cast;
  // A widening that shifts (of bf16) or is the host's own; or one straight from f64.
  if ((from == isa::bf16 && to == isa::f32) || to == isa::f64 || from == isa::f64) {
    return OnNan::any_nan;
  }
  return OnNan::as_cast;
}

struct Conversion {
  DType from, to;
  std::uint64_t (*nvidia)(std::uint64_t);
};

template <class T>
using CodeOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class From, class To>
void add_if_there(std::vector<Conversion>& all) {
  if constexpr (std::constructible_from<To, From>) {
    all.push_back({dtype<From>, dtype<To>, [](std::uint64_t code) -> std::uint64_t {
                     const auto from = std::bit_cast<From>(static_cast<CodeOf<From>>(code));
                     return std::bit_cast<CodeOf<To>>(static_cast<To>(from));
                   }});
  }
}

/// Between `Small` and each of the others, both ways.
template <class Small, class... Others>
void add_both_ways(std::vector<Conversion>& all) {
  (add_if_there<Others, Small>(all), ...);
  (add_if_there<Small, Others>(all), ...);
}

template <class Small, class... More>
void add_with_language(std::vector<Conversion>& all) {
  add_both_ways<Small, More..., float, double, signed char, unsigned char, short, unsigned short,
                int, unsigned, long long, unsigned long long>(all);
}

std::vector<Conversion> conversions() {
  std::vector<Conversion> all;
  add_with_language<__half>(all);
  add_with_language<__nv_bfloat16, __half>(all);
  add_with_language<__nv_fp8_e4m3, __half, __nv_bfloat16>(all);
  add_with_language<__nv_fp8_e5m2, __half, __nv_bfloat16>(all);
  add_with_language<__nv_fp6_e3m2, __half, __nv_bfloat16>(all);
  add_with_language<__nv_fp6_e2m3, __half, __nv_bfloat16>(all);
  add_with_language<__nv_fp4_e2m1, __half, __nv_bfloat16>(all);
  return all;
}

bool agrees(const Conversion& c, std::uint64_t code) {
  const std::uint64_t ours = isa::cast(c.from, c.to, code), nvidia = c.nvidia(code);
  if (!isa::decode(c.from, code).is_nan()) return ours == nvidia;
  switch (on_nan(c.from, c.to)) {
    case OnNan::any_nan:
      return c.to.specials() == isa::Specials::finite ? ours == nvidia
                                                      : isa::decode(c.to, nvidia).is_nan();
    case OnNan::least_integer:
      return ours == 0 && nvidia == std::uint64_t{1} << 63;
    case OnNan::as_cast:
      break;
  }
  return ours == nvidia;
}

/// f(code) for the codes that this test is about.
template <class F>
void for_each_code(const DType& type, F&& f) {
  if (type.bits <= 16) {
    for (std::uint64_t code = 0; code <= isa::low_mask(type.bits); ++code) f(code);
    return;
  }
  const std::uint64_t count = (type.is_float() ? 10'000'000 : 1'000'000) / fewer;
  Random random(1);
  for (std::uint64_t i = 0; i < count; ++i) f(stratified(random, type, i));
  if (type.is_float()) for_each_near(type, f);
}

}  // namespace

TEST_CASE("Cast gives what NVIDIA's headers give") {
  const auto all = conversions();
  CHECK(all.size() == 7 * 20 + 2 * (1 + 5 * 2));
  for (const Conversion& c : all) {
    std::uint64_t wrong = 0, first = 0;
    for_each_code(c.from, [&](std::uint64_t code) {
      if (!agrees(c, code) && wrong++ == 0) first = code;
    });
    if (wrong == 0) continue;
    FAIL_CHECK(to_string(c.from), " -> ", to_string(c.to), ": ", wrong, " wrong, the first of ",
               first, ": ", isa::cast(c.from, c.to, first), ", NVIDIA ", c.nvidia(first));
  }
}

}  // namespace tilevm::oracles
