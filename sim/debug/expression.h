// Expressions of a debugger: conditions of breakpoints, what `print` computes, what `set` stores.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "isa/base/result.h"
#include "isa/inst/scalar.h"
#include "sim/debug/tensor.h"

namespace tilevm::sim::debug {

/// An integer or a double.
using Value = std::variant<std::int64_t, double>;
[[nodiscard]] double as_double(const Value& value);
[[nodiscard]] bool is_true(const Value& value);
[[nodiscard]] std::string to_string(const Value& value);

struct Expression;
using ExpressionPtr = std::shared_ptr<const Expression>;

/// `nan`, `inf` and `undefined` count elements of a tensor, or say whether an element is one.
enum class Property : std::uint8_t { nan, inf, undefined };

struct Expression {
  struct Name {
    std::string name;
  };
  struct Item {  ///< T[i, j]
    std::string tensor;
    std::vector<ExpressionPtr> index;
  };
  struct Count {  ///< nan(T), nan(T[i, j])
    Property property{};
    std::string tensor;
    std::vector<ExpressionPtr> index;  ///< empty for a whole tensor
  };
  struct Unary {
    isa::ScalarUnary op{};
    ExpressionPtr operand;
  };
  struct Binary {
    isa::ScalarBinary op{};
    ExpressionPtr left, right;
  };
  std::variant<Value, Name, Item, Count, Unary, Binary> node;
  /// As the user wrote it: of the whole expression, and of names and elements in it.
  std::string text = {};
};

/// The most operators, names and numbers that an expression has, and how deep it may be nested.
inline constexpr int max_expression_nodes = 1000, max_expression_depth = 64;

/// Names that an expression may use beside variables: $x, $y, $z (of the block) and $moment.
struct Implied {
  std::array<std::int64_t, 3> block{};
  Moment moment = 0;
};

/// Integers are of 64 bits and wrap; division and remainder truncate. Error (usage): an unknown
/// name, an index outside of a tensor, a division by zero.
[[nodiscard]] Result<Value> evaluate(const Expression& expression, const Names& names,
                                     const BlockState* block, const Implied& implied);

/// The names, elements and counts of elements that an expression reads, each once.
[[nodiscard]] std::vector<ExpressionPtr> operands_of(const ExpressionPtr& expression);

/// The value of an element as a number.
[[nodiscard]] Value value_of_code(const isa::DType& dtype, std::uint64_t code);
/// The code of a number in a type: as a Cast from i64 or f64 gives it.
[[nodiscard]] std::uint64_t code_of_value(const isa::DType& dtype, const Value& value);

/// Error (usage): an index of another rank, or outside of the tensor.
[[nodiscard]] Status check_index(const Tensor& tensor, const isa::Index& index);

/// Whether a code is a NaN / an infinity of its type.
[[nodiscard]] bool is_nan(const isa::DType& dtype, std::uint64_t code);
[[nodiscard]] bool is_inf(const isa::DType& dtype, std::uint64_t code);

}  // namespace tilevm::sim::debug
