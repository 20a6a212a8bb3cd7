// Scalar expressions: block-uniform values such as loop bounds, tile offsets and extents.
//
// An Expr is an immutable, typed tree with shared nodes; copying is cheap. Constants are folded
// when an expression is built, so `is_constant` says whether its value is known before the run.
// Integer arithmetic wraps, `/` truncates toward zero, shifts clamp (docs/semantics.md, Scalars).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "isa/base/source.h"

namespace tilevm::isa {

// GCC 12 warns that scoped enumerators hide the element types of the same names (dtype.h), which
// they cannot.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// Types of scalar variables. Usual conversions go to the later of the two in this order.
enum class ScalarKind : std::uint8_t { boolean, i32, u32, i64, u64, f32 };
#pragma GCC diagnostic pop

[[nodiscard]] std::string_view to_string(ScalarKind kind);
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

  [[nodiscard]] bool is_integer() const {
    return kind != ScalarKind::boolean && kind != ScalarKind::f32;
  }
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
};

/// The operator's text as the language and C write it: "+", "%", "&&" ...
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

/// A variable of a kernel; an index into Kernel::variables.
struct VarId {
  std::int32_t index = -1;
  [[nodiscard]] bool valid() const { return index >= 0; }
  friend bool operator==(const VarId&, const VarId&) = default;
};

class Expr {
 public:
  struct Constant {
    Scalar value;
  };
  struct Variable {
    VarId var;
    std::string name;  // for messages and text
  };
  struct Unary;
  struct Binary;
  struct Convert;
  using Node = std::variant<Constant, Variable, Unary, Binary, Convert>;

  /// The constant 0 of kind i32.
  Expr();
  static Expr constant(Scalar value, Span span = {});
  static Expr constant(std::int64_t value, Span span = {});  ///< i32 if it fits, else i64
  static Expr variable(VarId var, std::string name, ScalarKind kind, Span span = {});
  /// Operands are converted to their common kind. Folding a division by zero leaves the node as it
  /// is: the run reports it. Logical operators short-circuit.
  static Expr unary(ScalarUnary op, Expr a, Span span = {});
  static Expr binary(ScalarBinary op, Expr a, Expr b, Span span = {});
  static Expr convert(Expr a, ScalarKind to, Span span = {});

  [[nodiscard]] ScalarKind kind() const;
  [[nodiscard]] Span span() const;
  [[nodiscard]] const Node& node() const;
  /// The same expression with another place.
  [[nodiscard]] Expr at(Span span) const;
  [[nodiscard]] bool is_constant() const { return constant_value().has_value(); }
  [[nodiscard]] std::optional<Scalar> constant_value() const;
  /// The value of a constant integer.
  [[nodiscard]] std::optional<std::int64_t> constant_int() const;

  /// Structural equality; spans do not count.
  friend bool operator==(const Expr& a, const Expr& b);

 private:
  struct Body;
  explicit Expr(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

struct Expr::Unary {
  ScalarUnary op;
  Expr a;
};
struct Expr::Binary {
  ScalarBinary op;
  Expr a, b;
};
struct Expr::Convert {
  Expr a;
};
struct Expr::Body {
  Node node;
  ScalarKind kind;
  Span span;
};

/// The value for given variables; nothing after a division by zero, whose place goes to `fault`.
[[nodiscard]] std::optional<Scalar> evaluate(const Expr& expr,
                                             const std::function<Scalar(VarId)>& value_of,
                                             Span* fault = nullptr);

/// Calls f for every variable in the expression.
void for_each_variable(const Expr& expr, const std::function<void(VarId)>& f);

/// Text as the language reads it, with the fewest parentheses; `name` gives a variable's text.
[[nodiscard]] std::string to_string(const Expr& expr);

}  // namespace tilevm::isa
