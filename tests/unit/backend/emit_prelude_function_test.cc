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
          check_all<T>((code << shift) & mask);
        }));
      }
    }
  });
}

}  // namespace
}  // namespace tilevm::backend
