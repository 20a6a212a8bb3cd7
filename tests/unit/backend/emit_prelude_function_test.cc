// The functions of the prelude against isa, on every type that they are defined on.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>

#include "isa/type/arith.h"
#include "tests/unit/backend/emit_prelude_types.h"

namespace tilevm::backend {
namespace {

template <class Op, class T>
void check_function(isa::UnaryOp op, std::uint64_t code) {
  const std::uint64_t got = Op::template apply<T>(static_cast<tv::Code<T::bits>>(code));
  const std::uint64_t wanted = isa::apply(op, dtype_of<T>(), code);
  if (got == wanted) return;
  const std::string type = to_string(dtype_of<T>());
  INFO(type, " ", static_cast<int>(op), " of ", code);
  CHECK(got == wanted);
}

template <class T>
void check_all(std::uint64_t code) {
  using isa::UnaryOp;
  check_function<tv::Sqrt, T>(UnaryOp::sqrt, code);
  check_function<tv::Rcp, T>(UnaryOp::rcp, code);
  if constexpr (T::bits <= 32) {
    check_function<tv::Exp2, T>(UnaryOp::exp2, code);
    check_function<tv::Exp, T>(UnaryOp::exp, code);
    check_function<tv::Log2, T>(UnaryOp::log2, code);
    check_function<tv::Log, T>(UnaryOp::log, code);
    check_function<tv::Sin, T>(UnaryOp::sin, code);
    check_function<tv::Cos, T>(UnaryOp::cos, code);
    check_function<tv::Tanh, T>(UnaryOp::tanh, code);
    check_function<tv::Sigmoid, T>(UnaryOp::sigmoid, code);
    check_function<tv::Rsqrt, T>(UnaryOp::rsqrt, code);
    check_function<tv::Erf, T>(UnaryOp::erf, code);
    check_function<tv::Exp2Approximate, T>(UnaryOp::exp2_approximate, code);
  }
}

template <class Op, isa::UnaryOp op, class T>
void check_approximation(std::uint64_t code) {
  if constexpr (is_defined(op, dtype_of<T>())) check_function<Op, T>(op, code);
}

template <class T>
void check_approximations(std::uint64_t code) {
  using isa::UnaryOp;
  check_approximation<tv::Ex2Approx, UnaryOp::ex2_approx, T>(code);
  check_approximation<tv::Ex2ApproxFtz, UnaryOp::ex2_approx_ftz, T>(code);
  check_approximation<tv::Lg2Approx, UnaryOp::lg2_approx, T>(code);
  check_approximation<tv::Lg2ApproxFtz, UnaryOp::lg2_approx_ftz, T>(code);
  check_approximation<tv::RcpApprox, UnaryOp::rcp_approx, T>(code);
  check_approximation<tv::RcpApproxFtz, UnaryOp::rcp_approx_ftz, T>(code);
  check_approximation<tv::RsqrtApprox, UnaryOp::rsqrt_approx, T>(code);
  check_approximation<tv::RsqrtApproxFtz, UnaryOp::rsqrt_approx_ftz, T>(code);
  check_approximation<tv::SqrtApprox, UnaryOp::sqrt_approx, T>(code);
  check_approximation<tv::SqrtApproxFtz, UnaryOp::sqrt_approx_ftz, T>(code);
  check_approximation<tv::SinApprox, UnaryOp::sin_approx, T>(code);
  check_approximation<tv::SinApproxFtz, UnaryOp::sin_approx_ftz, T>(code);
  check_approximation<tv::CosApprox, UnaryOp::cos_approx, T>(code);
  check_approximation<tv::CosApproxFtz, UnaryOp::cos_approx_ftz, T>(code);
  check_approximation<tv::TanhApprox, UnaryOp::tanh_approx, T>(code);
}

/// Tiles of an odd number of elements, and operands that are hidden from the assembler.
template <class Op, isa::UnaryOp op, class T, bool hides>
void check_tile() {
  constexpr std::uint64_t codes[] = {0x3c01, 0x40ab, 0xbf12};
  tv::u32 in[2] = {}, out[2] = {};
  for (int i = 0; i < 3; ++i) tv::put<16>(in, i, static_cast<tv::Code<16>>(codes[i]));
  tv::approximate_tile<Op, T, 3, hides>(out, in);
  for (int i = 0; i < 3; ++i) CHECK(tv::get<16>(out, i) == isa::apply(op, dtype_of<T>(), codes[i]));
}

TEST_CASE("tiles of approximations have two elements of 16 bits a word") {
  check_tile<tv::Ex2Approx, isa::UnaryOp::ex2_approx, tv::Float<16, 5, 10>, false>();
  check_tile<tv::TanhApprox, isa::UnaryOp::tanh_approx, tv::Float<16, 8, 7>, true>();
}

template <class Op>
void check_quotient(isa::BinaryOp op, std::uint32_t a, std::uint32_t b) {
  CHECK(tv::binary<Op, tv::Float<32, 8, 23>>(a, b) == isa::apply(op, isa::f32, a, b));
  CHECK(tv::binary<tv::HiddenDivisor<Op>, tv::Float<32, 8, 23>>(a, b) ==
        isa::apply(op, isa::f32, a, b));
}

TEST_CASE("approximate quotients are isa's") {
  CHECK(rc::check("random codes", [](std::uint32_t a, std::uint32_t b) {
    check_quotient<tv::DivFull>(isa::BinaryOp::div_full, a, b);
    check_quotient<tv::DivFullFtz>(isa::BinaryOp::div_full_ftz, a, b);
    check_quotient<tv::DivApprox>(isa::BinaryOp::div_approx, a, b);
    check_quotient<tv::DivApproxFtz>(isa::BinaryOp::div_approx_ftz, a, b);
  }));
}

template <class T>
void check_power(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t got = tv::binary<tv::Pow, T>(static_cast<tv::Code<T::bits>>(a),  //
                                                   static_cast<tv::Code<T::bits>>(b));
  const std::uint64_t wanted = isa::apply(isa::BinaryOp::pow, dtype_of<T>(), a, b);
  if (got == wanted) return;
  INFO(to_string(dtype_of<T>()), " ", a, " to the power of ", b);
  CHECK(got == wanted);
}

TEST_CASE("powers on every float type are isa's") {
  for_each_type<AllTypes>([]<class T>() {
    if constexpr (T::kind == tv::floating && T::bits <= 32) {
      const std::uint64_t mask = tv::low_mask<T::bits>();
      CHECK(rc::check("random codes", [&](std::uint64_t a, std::uint64_t b) {
        const auto shift = *rc::gen::inRange<int>(0, 64);
        check_power<T>(a & mask, b & mask);
        check_power<T>((a << shift) & mask, (b << shift) & mask);
      }));
    }
  });
}

TEST_CASE("functions on every float type are isa's") {
  for_each_type<AllTypes>([]<class T>() {
    if constexpr (T::kind == tv::floating) {
      const std::uint64_t mask = tv::low_mask<T::bits>();
      if constexpr (T::bits <= 8) {
        for (std::uint64_t code = 0; code <= mask; ++code) check_all<T>(code);
      } else {
        CHECK(rc::check("random codes", [&](std::uint64_t code) {
          const auto shift = *rc::gen::inRange<int>(0, 64);
          check_all<T>(code & mask);
          check_approximations<T>(code & mask);
          check_all<T>((code << shift) & mask);
        }));
      }
    }
  });
}

}  // namespace
}  // namespace tilevm::backend
