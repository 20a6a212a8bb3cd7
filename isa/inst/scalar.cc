#include "isa/inst/scalar.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "isa/base/enumerators.h"

namespace tilevm::isa {
namespace {

constexpr std::uint32_t canonical_f32_nan = 0x7fffffffU;

/// Brings 64 computed bits into the form that Scalar keeps for an integer kind.
Scalar wrap(ScalarKind kind, std::uint64_t bits) {
  switch (kind) {
    case ScalarKind::i32:
      return {kind, static_cast<std::uint64_t>(static_cast<std::int32_t>(bits))};
    case ScalarKind::u32:
      return {kind, static_cast<std::uint32_t>(bits)};
    case ScalarKind::i64:
    case ScalarKind::u64:
    case ScalarKind::boolean:
    case ScalarKind::f32:
      return {kind, bits};
  }
  TILEVM_NO_ENUMERATOR();
}

/// Truncation toward zero with saturation; NaN gives 0.
std::uint64_t saturate(float value, ScalarKind kind) {
  if (std::isnan(value)) return 0;
  const double x = std::trunc(static_cast<double>(value));
  switch (kind) {
    case ScalarKind::i32:
      return static_cast<std::uint64_t>(
          static_cast<std::int64_t>(std::clamp(x, -0x1p31, 0x1p31 - 1)));
    case ScalarKind::u32:
      return static_cast<std::uint64_t>(std::clamp(x, 0.0, 0x1p32 - 1));
    case ScalarKind::i64:
      if (x >= 0x1p63) return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (x < -0x1p63) return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    case ScalarKind::u64:
      if (x >= 0x1p64) return std::numeric_limits<std::uint64_t>::max();
      return x <= 0 ? 0 : static_cast<std::uint64_t>(x);
    case ScalarKind::boolean:
    case ScalarKind::f32:
      break;
  }
  return value != 0 ? 1 : 0;
}

/// Integers wrap.
template <class F>
Scalar arithmetic(Scalar a, Scalar b, F f) {
  if (a.kind == ScalarKind::f32) return Scalar::f32(f(a.as_float(), b.as_float()));
  return wrap(a.kind, f(a.bits, b.bits));
}

template <class F>
Scalar compare(Scalar a, Scalar b, F holds) {
  if (a.kind == ScalarKind::f32) return Scalar::of(holds(a.as_float(), b.as_float()));
  if (is_signed(a.kind)) return Scalar::of(holds(a.as_int(), b.as_int()));
  return Scalar::of(holds(a.bits, b.bits));
}

/// The smaller or the larger value: +0 is larger than -0, and a number is chosen before a NaN.
Scalar choose(Scalar a, Scalar b, bool largest) {
  if (a.kind == ScalarKind::f32) {
    const float x = a.as_float(), y = b.as_float();
    if (std::isnan(x)) return Scalar::f32(y);
    if (std::isnan(y)) return a;
    if (x == y) return std::signbit(x) == largest ? b : a;
    return (x > y) == largest ? a : b;
  }
  return compare(a, b, [](auto x, auto y) { return x > y; }).as_bool() == largest ? a : b;
}

/// The one quotient that overflows wraps.
std::optional<Scalar> quotient(Scalar a, Scalar b) {
  if (a.kind == ScalarKind::f32) return Scalar::f32(a.as_float() / b.as_float());
  if (b.bits == 0) return std::nullopt;
  if (!is_signed(a.kind)) return wrap(a.kind, a.bits / b.bits);
  if (b.as_int() == -1) return wrap(a.kind, 0 - a.bits);
  return wrap(a.kind, static_cast<std::uint64_t>(a.as_int() / b.as_int()));
}

std::optional<Scalar> remainder(Scalar a, Scalar b) {
  if (b.bits == 0) return std::nullopt;
  if (!is_signed(a.kind)) return wrap(a.kind, a.bits % b.bits);
  if (b.as_int() == -1) return wrap(a.kind, 0);
  return wrap(a.kind, static_cast<std::uint64_t>(a.as_int() % b.as_int()));
}

/// The count is taken as unsigned, whatever its kind, and clamps at the width.
Scalar shift_left(Scalar a, std::uint64_t count) {
  const std::uint64_t width = is_wide(a.kind) ? 64 : 32;
  return wrap(a.kind, count >= width ? 0 : a.bits << count);
}

Scalar shift_right(Scalar a, std::uint64_t count) {
  const std::uint64_t width = is_wide(a.kind) ? 64 : 32;
  if (!is_signed(a.kind)) return wrap(a.kind, count >= width ? 0 : a.bits >> count);
  return wrap(a.kind, static_cast<std::uint64_t>(a.as_int() >> std::min<std::uint64_t>(count, 63)));
}

}  // namespace

std::optional<ScalarKind> parse_scalar_kind(std::string_view name) {
  for (std::size_t i = 0; i < enumerator_count<ScalarKind>(); ++i) {
    if (to_string(static_cast<ScalarKind>(i)) == name) return static_cast<ScalarKind>(i);
  }
  return std::nullopt;
}

Scalar Scalar::i32(std::int32_t value) {
  return {ScalarKind::i32, static_cast<std::uint64_t>(static_cast<std::int64_t>(value))};
}

Scalar Scalar::f32(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return {ScalarKind::f32, std::isnan(value) ? canonical_f32_nan : bits};
}

float Scalar::as_float() const {
  const auto low = static_cast<std::uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof value);
  return value;
}

Scalar convert(Scalar value, ScalarKind to) {
  if (value.kind == to) return value;
  if (to == ScalarKind::boolean) {
    return Scalar::of(value.kind == ScalarKind::f32 ? value.as_float() != 0 : value.bits != 0);
  }
  if (to == ScalarKind::f32) {
    return Scalar::f32(is_signed(value.kind) ? static_cast<float>(value.as_int())
                                             : static_cast<float>(value.bits));
  }
  if (value.kind == ScalarKind::f32) return {to, saturate(value.as_float(), to)};
  return wrap(to, value.bits);
}

std::string to_string(const Scalar& value) {
  switch (value.kind) {
    case ScalarKind::boolean:
      return value.as_bool() ? "true" : "false";
    case ScalarKind::i32:
    case ScalarKind::i64:
      return fmt::format("{}", value.as_int());
    case ScalarKind::u32:
    case ScalarKind::u64:
      return fmt::format("{}", value.bits);
    case ScalarKind::f32:
      break;
  }
  std::string text = fmt::format("{}", value.as_float());
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string_view to_string(ScalarUnary op) {
  switch (op) {
    case ScalarUnary::negate:
      return "-";
    case ScalarUnary::bit_not:
      return "~";
    case ScalarUnary::logical_not:
      return "!";
  }
  return "?";
}

std::string_view to_string(ScalarBinary op) {
  switch (op) {
    case ScalarBinary::add:
      return "+";
    case ScalarBinary::sub:
      return "-";
    case ScalarBinary::mul:
      return "*";
    case ScalarBinary::div:
      return "/";
    case ScalarBinary::mod:
      return "%";
    case ScalarBinary::shl:
      return "<<";
    case ScalarBinary::shr:
      return ">>";
    case ScalarBinary::bit_and:
      return "&";
    case ScalarBinary::bit_or:
      return "|";
    case ScalarBinary::bit_xor:
      return "^";
    case ScalarBinary::eq:
      return "==";
    case ScalarBinary::ne:
      return "!=";
    case ScalarBinary::lt:
      return "<";
    case ScalarBinary::le:
      return "<=";
    case ScalarBinary::gt:
      return ">";
    case ScalarBinary::ge:
      return ">=";
    case ScalarBinary::logical_and:
      return "&&";
    case ScalarBinary::logical_or:
      return "||";
    case ScalarBinary::minimum:
      return "min";
    case ScalarBinary::maximum:
      return "max";
  }
  return "?";
}

std::optional<Scalar> apply(ScalarUnary op, Scalar a) {
  const Scalar value = convert(a, promoted(a.kind));
  switch (op) {
    case ScalarUnary::negate:
      return value.kind == ScalarKind::f32 ? Scalar::f32(-value.as_float())
                                           : wrap(value.kind, 0 - value.bits);
    case ScalarUnary::bit_not:
      return wrap(value.kind, ~value.bits);
    case ScalarUnary::logical_not:
      return Scalar::of(!convert(a, ScalarKind::boolean).as_bool());
  }
  TILEVM_NO_ENUMERATOR();
}

std::optional<Scalar> apply(ScalarBinary op, Scalar a, Scalar b) {
  TILEVM_CHECK(a.kind != ScalarKind::f32 || (supports(op, a.kind, b.kind) && !is_logical(op)),
               "integer operator on f32");
  switch (op) {
    case ScalarBinary::add:
      return arithmetic(a, b, [](auto x, auto y) { return x + y; });
    case ScalarBinary::sub:
      return arithmetic(a, b, [](auto x, auto y) { return x - y; });
    case ScalarBinary::mul:
      return arithmetic(a, b, [](auto x, auto y) { return x * y; });
    case ScalarBinary::div:
      return quotient(a, b);
    case ScalarBinary::mod:
      return remainder(a, b);
    case ScalarBinary::shl:
      return shift_left(a, b.bits);
    case ScalarBinary::shr:
      return shift_right(a, b.bits);
    case ScalarBinary::bit_and:
      return wrap(a.kind, a.bits & b.bits);
    case ScalarBinary::bit_or:
      return wrap(a.kind, a.bits | b.bits);
    case ScalarBinary::bit_xor:
      return wrap(a.kind, a.bits ^ b.bits);
    case ScalarBinary::eq:
      return compare(a, b, [](auto x, auto y) { return x == y; });
    case ScalarBinary::ne:
      return compare(a, b, [](auto x, auto y) { return x != y; });
    case ScalarBinary::lt:
      return compare(a, b, [](auto x, auto y) { return x < y; });
    case ScalarBinary::le:
      return compare(a, b, [](auto x, auto y) { return x <= y; });
    case ScalarBinary::gt:
      return compare(a, b, [](auto x, auto y) { return x > y; });
    case ScalarBinary::ge:
      return compare(a, b, [](auto x, auto y) { return x >= y; });
    case ScalarBinary::logical_and:
      return Scalar::of(a.as_bool() && b.as_bool());
    case ScalarBinary::logical_or:
      return Scalar::of(a.as_bool() || b.as_bool());
    case ScalarBinary::minimum:
      return choose(a, b, false);
    case ScalarBinary::maximum:
      return choose(a, b, true);
  }
  TILEVM_NO_ENUMERATOR();
}

bool supports(ScalarUnary op, ScalarKind kind) {
  switch (op) {
    case ScalarUnary::negate:
    case ScalarUnary::logical_not:
      return true;
    case ScalarUnary::bit_not:
      return kind != ScalarKind::f32;
  }
  TILEVM_NO_ENUMERATOR();
}

bool supports(ScalarBinary op, ScalarKind a, ScalarKind b) {
  const bool floats = a == ScalarKind::f32 || b == ScalarKind::f32;
  switch (class_of(op)) {
    case ScalarClass::arithmetic:
    case ScalarClass::comparison:
    case ScalarClass::logical:
    case ScalarClass::choice:
      return true;
    case ScalarClass::integer:
    case ScalarClass::shift:
      return !floats;
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::isa
