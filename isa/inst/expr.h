// Scalar expressions: block-uniform values such as loop bounds, tile offsets and extents.
//
// An Expr is an immutable, typed tree with shared nodes; copying is cheap. Constants are folded
// when an expression is built, so `is_constant` says whether its value is known before the run.
// Integer arithmetic wraps, `/` truncates toward zero, shifts clamp (docs/reference/semantics.md,
// Scalars).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "isa/base/source.h"
#include "isa/inst/scalar.h"

namespace tilevm::isa {

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
  struct Select;
  using Node = std::variant<Constant, Variable, Unary, Binary, Convert, Select>;

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
  /// `a if condition else b`: only the chosen value is computed. The condition becomes a boolean,
  /// the values take their common kind.
  static Expr select(Expr condition, Expr a, Expr b, Span span = {});

  [[nodiscard]] ScalarKind kind() const;
  [[nodiscard]] Span span() const;
  [[nodiscard]] const Node& node() const;
  /// The expression at another location.
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
struct Expr::Select {
  Expr condition, a, b;
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
