// The portable prelude against isa: packed registers, memory, arithmetic, scalars.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "isa/inst/expr.h"
#include "isa/layout/memory_layout.h"
#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "tests/unit/backend/emit_prelude_types.h"

namespace tilevm::backend {
namespace {

TEST_CASE("packed registers are the little-endian bit stream of the elements") {
  for_each_type<std::tuple<tv::Int<1>, tv::Int<3>, tv::Int<5>, tv::Int<6>, tv::Int<7>, tv::Int<8>,
                           tv::Int<16>, tv::Int<32>, tv::Int<64>>>([]<class T>() {
    CHECK(rc::check("put, then get_bits", [](const std::array<std::uint64_t, 11>& codes) {
      std::array<tv::u32, 22> words{};
      for (int i = 0; i < 11; ++i) {
        tv::put<T::bits>(words.data(), i,
                         static_cast<tv::Code<T::bits>>(codes[static_cast<std::size_t>(i)] &
                                                        tv::low_mask<T::bits>()));
      }
      std::array<std::uint8_t, sizeof words> bytes{};
      std::memcpy(bytes.data(), words.data(), sizeof words);
      for (std::size_t i = 0; i < 11; ++i) {
        const std::uint64_t wanted = codes[i] & tv::low_mask<T::bits>();
        RC_ASSERT((isa::get_bits(bytes.data(), i * T::bits, T::bits) == wanted));
        RC_ASSERT((tv::get<T::bits>(words.data(), static_cast<int>(i)) == wanted));
      }
    }));
  });
}

TEST_CASE(
    "elements in memory are the little-endian bit stream, and a store spares its neighbours") {
  for_each_type<std::tuple<tv::Int<1>, tv::Int<3>, tv::Int<5>, tv::Int<7>, tv::Int<8>, tv::Int<16>,
                           tv::Int<32>, tv::Int<64>>>([]<class T>() {
    CHECK(rc::check("store", [](const std::array<std::uint8_t, 160>& random, std::uint64_t code) {
      alignas(8) std::array<std::uint8_t, 160> bytes = random;
      const auto count = static_cast<std::uint64_t>(bytes.size()) * 8 / T::bits;
      const auto index = *rc::gen::inRange<std::uint64_t>(0, count);
      auto wanted = bytes;
      isa::put_bits(wanted.data(), index * T::bits, T::bits, code);
      const auto before = isa::get_bits(bytes.data(), index * T::bits, T::bits);
      RC_ASSERT((tv::load<T::bits>(bytes.data(), index) == before));
      tv::store<T::bits>(bytes.data(), index,
                         static_cast<tv::Code<T::bits>>(code & tv::low_mask<T::bits>()));
      RC_ASSERT((bytes == wanted));
    }));
  });
}

template <class Op, class T>
void check_binary(isa::BinaryOp op, std::uint64_t a, std::uint64_t b) {
  trap_count = 0;
  const std::uint64_t got = tv::binary<Op, T>(static_cast<tv::Code<T::bits>>(a),  //
                                              static_cast<tv::Code<T::bits>>(b));
  const int faults = faults_on_zero(op, dtype_of<T>()) && b == 0 ? 1 : 0;
  if (got == isa::apply(op, dtype_of<T>(), a, b) && trap_count == faults) return;
  const std::string type = to_string(dtype_of<T>());
  INFO(type, " ", static_cast<int>(op), " of ", a, " and ", b);
  CHECK(got == isa::apply(op, dtype_of<T>(), a, b));
  CHECK(trap_count == faults);
}

template <class T>
void check_arithmetic(std::uint64_t a, std::uint64_t b) {
  check_binary<tv::Add, T>(isa::BinaryOp::add, a, b);
  check_binary<tv::Sub, T>(isa::BinaryOp::sub, a, b);
  check_binary<tv::Mul, T>(isa::BinaryOp::mul, a, b);
  check_binary<tv::Div, T>(isa::BinaryOp::div, a, b);
  check_binary<tv::Mod, T>(isa::BinaryOp::mod, a, b);
  check_binary<tv::Min, T>(isa::BinaryOp::min, a, b);
  check_binary<tv::Max, T>(isa::BinaryOp::max, a, b);
  check_binary<tv::Eq, T>(isa::BinaryOp::eq, a, b);
  check_binary<tv::Ne, T>(isa::BinaryOp::ne, a, b);
  check_binary<tv::Lt, T>(isa::BinaryOp::lt, a, b);
  check_binary<tv::Le, T>(isa::BinaryOp::le, a, b);
  check_binary<tv::Gt, T>(isa::BinaryOp::gt, a, b);
  check_binary<tv::Ge, T>(isa::BinaryOp::ge, a, b);
  if constexpr (T::is_int) {
    check_binary<tv::And, T>(isa::BinaryOp::bit_and, a, b);
    check_binary<tv::Or, T>(isa::BinaryOp::bit_or, a, b);
    check_binary<tv::Xor, T>(isa::BinaryOp::bit_xor, a, b);
    check_binary<tv::Shl, T>(isa::BinaryOp::shl, a, b);
    check_binary<tv::Shr, T>(isa::BinaryOp::shr, a, b);
    check_binary<tv::Shl, T>(isa::BinaryOp::shl, a, b % (T::bits + 1));
    check_binary<tv::Shr, T>(isa::BinaryOp::shr, a, b % (T::bits + 1));
  }
}

TEST_CASE("arithmetic on every type is isa's") {
  for_each_type<AllTypes>([]<class T>() {
    const std::uint64_t mask = tv::low_mask<T::bits>();
    if constexpr (T::bits <= 6) {
      for (std::uint64_t a = 0; a <= mask; ++a) {
        for (std::uint64_t b = 0; b <= mask; ++b) check_arithmetic<T>(a, b);
      }
    } else {
      CHECK(rc::check("random pairs", [&](std::uint64_t a, std::uint64_t b) {
        const auto shift = *rc::gen::inRange<int>(0, T::bits);
        check_arithmetic<T>((a << shift) & mask, b & mask);
      }));
    }
  });
}

template <class Op, class T, int count>
void check_words(const std::uint32_t* a, const std::uint32_t* b) {
  std::uint32_t got[(count * T::bits + 31) / 32] = {};
  tv::binary_tile<Op, T, count>(got, a, b);
  for (int i = 0; i < count; ++i) {
    const auto wanted = tv::binary<Op, T>(tv::get<T::bits>(a, i), tv::get<T::bits>(b, i));
    RC_ASSERT((tv::get<T::bits>(got, i) == wanted));
  }
}

TEST_CASE("bits of packed elements, a word at a time, are those of each") {
  for_each_type<std::tuple<tv::Int<1>, tv::Uint<3>, tv::Int<5>, tv::Int<8>, tv::Uint<16>,
                           tv::Int<32>, tv::Int<64>>>([]<class T>() {
    CHECK(rc::check("words", [](std::array<std::uint32_t, 20> a, std::array<std::uint32_t, 20> b) {
      check_words<tv::And, T, 9>(a.data(), b.data());
      check_words<tv::Or, T, 9>(a.data(), b.data());
      check_words<tv::Xor, T, 9>(a.data(), b.data());
    }));
  });
}

/// Floats whose exponents lie far apart, or which are subnormal, infinite or equal in magnitude: a
/// long division takes many steps, or none.
template <class T>
void check_remainders() {
  CHECK(rc::check("remainders", [] {
    const std::uint64_t mask = tv::low_mask<T::bits>();
    const auto draw = [&](std::uint64_t other) -> std::uint64_t {
      const auto random = *rc::gen::arbitrary<std::uint64_t>();
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
          return random & tv::low_mask<T::mantissa>();
        case 1:
          return tv::infinity_code<T>() << T::unused;
        case 2:
          return (random & tv::low_mask<T::mantissa>()) | (std::uint64_t{1} << (T::bits - 2));
        case 3:
          return other ^ (std::uint64_t{1} << (T::bits - 1));
        default:
          return random & mask;
      }
    };
    const std::uint64_t a = draw(0);
    check_binary<tv::Mod, T>(isa::BinaryOp::mod, a, draw(a));
    check_binary<tv::Div, T>(isa::BinaryOp::div, a, draw(a));
    check_binary<tv::Min, T>(isa::BinaryOp::min, a, draw(a));
    check_binary<tv::Le, T>(isa::BinaryOp::le, a, draw(a));
  }));
}

TEST_CASE("quotients and remainders of unlike floats are isa's") {
  check_remainders<tv::Float<64, 11, 52>>();
  check_remainders<tv::Float<32, 8, 23>>();
  check_remainders<tv::Float<16, 8, 7>>();
  check_remainders<tv::Float<16, 5, 10>>();
}

TEST_CASE("negation and absolute values on every type are isa's") {
  for_each_type<AllTypes>([]<class T>() {
    const auto check = [](std::uint64_t code) {
      const std::string type = to_string(dtype_of<T>());
      INFO(type, " of ", code);
      CHECK(tv::negate<T>(static_cast<tv::Code<T::bits>>(code)) ==
            isa::apply(isa::UnaryOp::neg, dtype_of<T>(), code));
      CHECK(tv::absolute<T>(static_cast<tv::Code<T::bits>>(code)) ==
            isa::apply(isa::UnaryOp::abs, dtype_of<T>(), code));
    };
    const std::uint64_t mask = tv::low_mask<T::bits>();
    for (std::uint64_t code = 0; code <= (mask & 0xff); ++code) {
      check(code);
      check(~code & mask);
    }
    // Around every exponent of the wide floats, Inf and NaN included.
    for (int bit = 8; bit < T::bits; ++bit) {
      check((std::uint64_t{1} << bit) - 1);
      check(mask - ((std::uint64_t{1} << bit) - 1));
      check((mask >> 1) & ~((std::uint64_t{1} << bit) - 1));
    }
  });
}

template <class T>
constexpr isa::ScalarKind kind_of() {
  if constexpr (std::is_same_v<T, tv::i32>) return isa::ScalarKind::i32;
  if constexpr (std::is_same_v<T, tv::u32>) return isa::ScalarKind::u32;
  if constexpr (std::is_same_v<T, tv::i64>) return isa::ScalarKind::i64;
  return isa::ScalarKind::u64;
}

template <class T>
isa::Scalar scalar(T value) {
  return {kind_of<T>(), static_cast<std::uint64_t>(value)};
}

template <class T>
void check_scalar(isa::ScalarBinary op, T a, T b, T got, int faults) {
  const auto wanted = isa::apply(op, scalar(a), scalar(b));
  RC_ASSERT((faults == (wanted ? 0 : 1)));
  if (wanted) RC_ASSERT((scalar(got).bits == wanted->bits));
}

TEST_CASE("scalar operators are isa's") {
  for_each_type<std::tuple<tv::i32, tv::u32, tv::i64, tv::u64>>([]<class T>() {
    CHECK(rc::check("all operators", [](T a, T b) {
      if (*rc::gen::inRange(0, 4) == 0) b = *rc::gen::inRange<int>(0, 3) - 1;
      if (*rc::gen::inRange(0, 4) == 0) a = std::numeric_limits<T>::min();
      const auto apply = [&](isa::ScalarBinary op, auto&& f) {
        trap_count = 0;
        const T got = f();
        check_scalar(op, a, b, got, trap_count);
      };
      apply(isa::ScalarBinary::add, [&] { return tv::add(a, b); });
      apply(isa::ScalarBinary::sub, [&] { return tv::sub(a, b); });
      apply(isa::ScalarBinary::mul, [&] { return tv::mul(a, b); });
      apply(isa::ScalarBinary::div, [&] { return tv::div(a, b); });
      apply(isa::ScalarBinary::mod, [&] { return tv::mod(a, b); });
      b = static_cast<T>(b & T{127});
      apply(isa::ScalarBinary::shl, [&] { return tv::shl(a, tv::index(b)); });
      apply(isa::ScalarBinary::shr, [&] { return tv::shr(a, tv::index(b)); });
      RC_ASSERT((scalar(tv::neg(a)).bits == isa::apply(isa::ScalarUnary::negate, scalar(a))->bits));
    }));
  });
}

TEST_CASE("a negative shift count is a large one") {
  CHECK(tv::shl(tv::i32{1}, tv::index(tv::i32{-1})) == 0);
  CHECK(tv::shr(tv::i32{-8}, tv::index(tv::i32{-1})) == -1);
  CHECK(tv::shr(tv::u64{8}, tv::index(tv::i64{-1})) == 0);
}

TEST_CASE("floats become integers as isa converts them") {
  CHECK(rc::check("any pattern", [](std::uint32_t bits) {
    const isa::Scalar value{isa::ScalarKind::f32, bits};
    const float x = tv::f32_value(bits);
    const auto wanted = [&](isa::ScalarKind kind) { return isa::convert(value, kind).bits; };
    RC_ASSERT((scalar(tv::from_float<tv::i32>(x)).bits == wanted(isa::ScalarKind::i32)));
    RC_ASSERT((scalar(tv::from_float<tv::u32>(x)).bits == wanted(isa::ScalarKind::u32)));
    RC_ASSERT((scalar(tv::from_float<tv::i64>(x)).bits == wanted(isa::ScalarKind::i64)));
    RC_ASSERT((scalar(tv::from_float<tv::u64>(x)).bits == wanted(isa::ScalarKind::u64)));
  }));
}

TEST_CASE("a range runs as often as counting says, without overflow") {
  CHECK(rc::check("small ranges", [] {
    const int begin = *rc::gen::inRange(-40, 40), end = *rc::gen::inRange(-40, 40);
    const int step = *rc::gen::suchThat(rc::gen::inRange(-9, 10), [](int s) { return s != 0; });
    tv::u64 count = 0;
    for (int i = begin; step > 0 ? i < end : i > end; i += step) {
      RC_ASSERT((tv::range_value(begin, count, step) == i));
      ++count;
    }
    RC_ASSERT((tv::trips(begin, end, step) == count));
  }));
  constexpr auto most = std::numeric_limits<tv::i32>::max();
  constexpr auto least = std::numeric_limits<tv::i32>::min();
  CHECK(tv::trips(least, most, most) == 3);
  CHECK(tv::trips(most, least, least) == 2);
  CHECK(tv::trips(0U, 0xffffffffU, 0xfffffffeU) == 2);
  CHECK(tv::trips(std::numeric_limits<tv::i64>::min(), std::numeric_limits<tv::i64>::max(),
                  tv::i64{1}) == ~tv::u64{0});
  trap_count = 0;
  CHECK(tv::trips(0, 5, 0) == 0);
  CHECK(trap_count == 1);
}

TEST_CASE("swizzles are isa's") {
  CHECK(rc::check("any offset", [](std::uint32_t offset) {
    RC_ASSERT((tv::swizzle<3, 3, 4>(offset) ==
               static_cast<tv::u64>(isa::Swizzle{3, 3, 4}.apply(offset))));
  }));
}

}  // namespace
}  // namespace tilevm::backend
