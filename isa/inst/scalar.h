// Values of scalar variables, and the operators on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isa/base/check.h"

namespace tilevm::isa {

// GCC 12 warns that scoped enumerators hide the element types of the same names (dtype.h), which
// they cannot.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// Types of scalar variables. Usual conversions go to the later of the two in this order.
enum class ScalarKind : std::uint8_t { boolean, i32, u32, i64, u64, f32 };
#pragma GCC diagnostic pop

[[nodiscard]] constexpr std::string_view to_string(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean:
      return "bool";
    case ScalarKind::i32:
      return "i32";
    case ScalarKind::u32:
      return "u32";
    case ScalarKind::i64:
      return "i64";
    case ScalarKind::u64:
      return "u64";
    case ScalarKind::f32:
      return "f32";
  }
  return "";
}
[[nodiscard]] constexpr bool is_integer(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::i32:
    case ScalarKind::u32:
    case ScalarKind::i64:
    case ScalarKind::u64:
      return true;
    case ScalarKind::boolean:
    case ScalarKind::f32:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}
/// Whether integers of a kind have a sign; false for what is not an integer.
[[nodiscard]] constexpr bool is_signed(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::i32:
    case ScalarKind::i64:
      return true;
    case ScalarKind::u32:
    case ScalarKind::u64:
    case ScalarKind::boolean:
    case ScalarKind::f32:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}
/// Whether values of a kind take 64 bits.
[[nodiscard]] constexpr bool is_wide(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::i64:
    case ScalarKind::u64:
      return true;
    case ScalarKind::i32:
    case ScalarKind::u32:
    case ScalarKind::boolean:
    case ScalarKind::f32:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}
/// "i32", "u64", "f32", "bool" ...; nothing if it is none.
[[nodiscard]] std::optional<ScalarKind> parse_scalar_kind(std::string_view name);

/// A scalar's value. `bits` holds integers sign- or zero-extended to 64 bits, f32 as its 32-bit
/// pattern, booleans as 0 or 1.
struct Scalar {
  ScalarKind kind = ScalarKind::i32;
  std::uint64_t bits = 0;

  static Scalar of(bool value) { return {ScalarKind::boolean, value ? 1U : 0U}; }
  static Scalar i32(std::int32_t value);
  static Scalar i64(std::int64_t value) {
    return {ScalarKind::i64, static_cast<std::uint64_t>(value)};
  }
  static Scalar f32(float value);

  [[nodiscard]] bool is_integer() const { return isa::is_integer(kind); }
  /// The value of an integer or boolean; u64 beyond 2^63 wraps.
  [[nodiscard]] std::int64_t as_int() const { return static_cast<std::int64_t>(bits); }
  [[nodiscard]] float as_float() const;
  [[nodiscard]] bool as_bool() const { return bits != 0; }

  friend bool operator==(const Scalar&, const Scalar&) = default;
};

/// Converts as C does; f32 to integer truncates and saturates, NaN gives 0.
[[nodiscard]] Scalar convert(Scalar value, ScalarKind to);
[[nodiscard]] std::string to_string(const Scalar& value);

enum class ScalarUnary : std::uint8_t { negate, bit_not, logical_not };
enum class ScalarBinary : std::uint8_t {
  add,
  sub,
  mul,
  div,
  mod,
  shl,
  shr,
  bit_and,
  bit_or,
  bit_xor,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  minimum,  ///< written `min(a, b)`; -0 is less than +0, a NaN loses against every number
  maximum,
};

/// What an operator does; decides on which kinds it is defined and what its result is.
enum class ScalarClass : std::uint8_t {
  arithmetic,
  integer,     ///< operation on integers only
  shift,       ///< shift of integers; the count may have another kind
  comparison,  ///< gives a boolean
  logical,     ///< operation on booleans; the left side alone may decide
  choice,      ///< gives one of the operands
};
[[nodiscard]] constexpr ScalarClass class_of(ScalarBinary op) {
  switch (op) {
    case ScalarBinary::add:
    case ScalarBinary::sub:
    case ScalarBinary::mul:
    case ScalarBinary::div:
      return ScalarClass::arithmetic;
    case ScalarBinary::mod:
    case ScalarBinary::bit_and:
    case ScalarBinary::bit_or:
    case ScalarBinary::bit_xor:
      return ScalarClass::integer;
    case ScalarBinary::shl:
    case ScalarBinary::shr:
      return ScalarClass::shift;
    case ScalarBinary::eq:
    case ScalarBinary::ne:
    case ScalarBinary::lt:
    case ScalarBinary::le:
    case ScalarBinary::gt:
    case ScalarBinary::ge:
      return ScalarClass::comparison;
    case ScalarBinary::logical_and:
    case ScalarBinary::logical_or:
      return ScalarClass::logical;
    case ScalarBinary::minimum:
    case ScalarBinary::maximum:
      return ScalarClass::choice;
  }
  TILEVM_NO_ENUMERATOR();
}
[[nodiscard]] constexpr bool is_logical(ScalarBinary op) {
  return class_of(op) == ScalarClass::logical;
}
[[nodiscard]] constexpr bool is_choice(ScalarBinary op) {
  return class_of(op) == ScalarClass::choice;
}
[[nodiscard]] constexpr bool is_shift(ScalarBinary op) {
  return class_of(op) == ScalarClass::shift;
}

/// Arithmetic on booleans happens in i32, as in C.
[[nodiscard]] constexpr ScalarKind promoted(ScalarKind kind) {
  return kind == ScalarKind::boolean ? ScalarKind::i32 : kind;
}

/// The operator's text as the language and C write it: "+", "%", "&&" ...; of a choice, the name of
/// the function: "min".
[[nodiscard]] std::string_view to_string(ScalarUnary op);
[[nodiscard]] std::string_view to_string(ScalarBinary op);

/// One operation on values of one kind (a shift's count may have another); nothing for a division
/// or remainder of integers by zero. The count of a shift is taken as unsigned and clamps at the
/// width.
[[nodiscard]] std::optional<Scalar> apply(ScalarUnary op, Scalar a);
[[nodiscard]] std::optional<Scalar> apply(ScalarBinary op, Scalar a, Scalar b);

/// Whether an operator takes operands of these kinds: `%`, shifts and bit operators take no f32.
[[nodiscard]] bool supports(ScalarUnary op, ScalarKind kind);
[[nodiscard]] bool supports(ScalarBinary op, ScalarKind a, ScalarKind b);

}  // namespace tilevm::isa
