#include "sim/debug/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "isa/type/number.h"

namespace tilevm::sim::debug {
namespace {

Error wrong(std::string message) { return {ErrorKind::usage, std::move(message)}; }

/// Evaluates the nodes of an expression.
class Evaluator {
 public:
  Evaluator(const Names& names, const BlockState* block, const Implied& implied)
      : names_(names), block_(block), implied_(implied) {}

  Result<Value> operator()(const Expression& expression) const {
    return std::visit([&](const auto& node) { return value(node); }, expression.node);
  }

 private:
  Result<Value> value(const Value& node) const { return node; }

  Result<Value> value(const Expression::Name& node) const {
    if (node.name == "$x") return Value(implied_.block[0]);
    if (node.name == "$y") return Value(implied_.block[1]);
    if (node.name == "$z") return Value(implied_.block[2]);
    if (node.name == "$moment") return Value(static_cast<std::int64_t>(implied_.moment));
    const Result<Named> named = names_.find(node.name);
    if (!named) return named.error();
    const auto* scalar = std::get_if<ScalarVariable>(&*named);
    if (scalar == nullptr) {
      return wrong(
          fmt::format("`{}` is a tensor; an expression needs one of its elements, as {}[..]",
                      node.name, node.name));
    }
    if (scalar->value.kind == isa::ScalarKind::f32) return Value(double{scalar->value.as_float()});
    return Value(scalar->value.as_int());
  }

  Result<isa::Index> index_of(const Tensor& tensor, const std::vector<ExpressionPtr>& items) const {
    isa::Index index;
    for (const ExpressionPtr& item : items) {
      const Result<Value> entry = (*this)(*item);
      if (!entry) return entry.error();
      const auto* number = std::get_if<std::int64_t>(&*entry);
      if (number == nullptr) return wrong("an index must be an integer");
      index.push_back(*number);
    }
    if (Status status = check_index(tensor, index); !status) return status.error();
    return index;
  }

  Result<Value> value(const Expression::Item& node) const {
    const Result<Tensor> tensor = names_.tensor(node.tensor);
    if (!tensor) return tensor.error();
    const Result<isa::Index> index = index_of(*tensor, node.index);
    if (!index) return index.error();
    return value_of_code(tensor->dtype, tensor->read(block_, *index).code);
  }

  static bool has(Property property, const isa::DType& dtype, const Element& element) {
    switch (property) {
      case Property::nan:
        return !element.undefined && is_nan(dtype, element.code);
      case Property::inf:
        return !element.undefined && is_inf(dtype, element.code);
      case Property::undefined:
        return element.undefined;
    }
    TILEVM_NO_ENUMERATOR();
  }

  Result<Value> value(const Expression::Count& node) const {
    const Result<Tensor> tensor = names_.tensor(node.tensor);
    if (!tensor) return tensor.error();
    if (!node.index.empty()) {
      const Result<isa::Index> index = index_of(*tensor, node.index);
      if (!index) return index.error();
      return Value(
          std::int64_t{has(node.property, tensor->dtype, tensor->read(block_, *index)) ? 1 : 0});
    }
    std::int64_t count = 0;
    const std::int64_t elements = isa::element_count(tensor->shape);
    for (std::int64_t k = 0; k < elements; ++k) {
      const Element element = tensor->read(block_, isa::unravel(k, tensor->shape));
      count += has(node.property, tensor->dtype, element) ? 1 : 0;
    }
    return Value(count);
  }

  Result<Value> value(const Expression::Unary& node) const {
    const Result<Value> operand = (*this)(*node.operand);
    if (!operand) return operand.error();
    const auto* integer = std::get_if<std::int64_t>(&*operand);
    switch (node.op) {
      case isa::ScalarUnary::negate:
        if (integer == nullptr) return Value(-as_double(*operand));
        return Value(static_cast<std::int64_t>(-static_cast<std::uint64_t>(*integer)));
      case isa::ScalarUnary::bit_not:
        if (integer == nullptr) return wrong("`~` needs an integer");
        return Value(~*integer);
      case isa::ScalarUnary::logical_not:
        return Value(std::int64_t{is_true(*operand) ? 0 : 1});
    }
    TILEVM_NO_ENUMERATOR();
  }

  Result<Value> value(const Expression::Binary& node) const {
    const Result<Value> left = (*this)(*node.left);
    if (!left) return left.error();
    if (node.op == isa::ScalarBinary::logical_and && !is_true(*left)) return Value(std::int64_t{0});
    if (node.op == isa::ScalarBinary::logical_or && is_true(*left)) return Value(std::int64_t{1});
    const Result<Value> right = (*this)(*node.right);
    if (!right) return right.error();
    if (isa::is_logical(node.op)) return Value(std::int64_t{is_true(*right) ? 1 : 0});
    const auto* a = std::get_if<std::int64_t>(&*left);
    const auto* b = std::get_if<std::int64_t>(&*right);
    if (a != nullptr && b != nullptr) return on_integers(node.op, *a, *b);
    return on_doubles(node.op, as_double(*left), as_double(*right));
  }

  static Result<Value> on_integers(isa::ScalarBinary op, std::int64_t a, std::int64_t b) {
    const auto result = isa::apply(op, isa::Scalar::i64(a), isa::Scalar::i64(b));
    if (!result) return wrong("a division by zero");
    return Value(result->as_int());
  }

  /// -0 is less than +0; a NaN loses against every number.
  static double smaller(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }

  static Result<Value> on_doubles(isa::ScalarBinary op, double a, double b) {
    const auto truth = [](bool value) { return Value(std::int64_t{value ? 1 : 0}); };
    switch (op) {
      case isa::ScalarBinary::add:
        return Value(a + b);
      case isa::ScalarBinary::sub:
        return Value(a - b);
      case isa::ScalarBinary::mul:
        return Value(a * b);
      case isa::ScalarBinary::div:
        return Value(a / b);
      case isa::ScalarBinary::eq:
        return truth(a == b);
      case isa::ScalarBinary::ne:
        return truth(a != b);
      case isa::ScalarBinary::lt:
        return truth(a < b);
      case isa::ScalarBinary::le:
        return truth(a <= b);
      case isa::ScalarBinary::gt:
        return truth(a > b);
      case isa::ScalarBinary::ge:
        return truth(a >= b);
      case isa::ScalarBinary::minimum:
        return Value(smaller(a, b));
      case isa::ScalarBinary::maximum:
        return Value(-smaller(-a, -b));
      case isa::ScalarBinary::mod:
      case isa::ScalarBinary::shl:
      case isa::ScalarBinary::shr:
      case isa::ScalarBinary::bit_and:
      case isa::ScalarBinary::bit_or:
      case isa::ScalarBinary::bit_xor:
      case isa::ScalarBinary::logical_and:
      case isa::ScalarBinary::logical_or:
        return wrong(fmt::format("`{}` needs integers", isa::to_string(op)));
    }
    TILEVM_NO_ENUMERATOR();
  }

  const Names& names_;
  const BlockState* block_;
  const Implied& implied_;
};

}  // namespace

double as_double(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  return *std::get_if<double>(&value);
}

bool is_true(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer != 0;
  return *std::get_if<double>(&value) != 0;
}

std::string to_string(const Value& value) {
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

Result<Value> evaluate(const Expression& expression, const Names& names, const BlockState* block,
                       const Implied& implied) {
  return Evaluator(names, block, implied)(expression);
}

namespace {

void add_operands(const ExpressionPtr& expression, std::vector<ExpressionPtr>& found) {
  if (const auto* unary = std::get_if<Expression::Unary>(&expression->node)) {
    add_operands(unary->operand, found);
  } else if (const auto* binary = std::get_if<Expression::Binary>(&expression->node)) {
    add_operands(binary->left, found);
    add_operands(binary->right, found);
  } else if (!std::holds_alternative<Value>(expression->node)) {
    const auto same = [&](const ExpressionPtr& other) { return other->text == expression->text; };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(expression);
  }
}

}  // namespace

std::vector<ExpressionPtr> operands_of(const ExpressionPtr& expression) {
  std::vector<ExpressionPtr> found;
  add_operands(expression, found);
  return found;
}

Value value_of_code(const isa::DType& dtype, std::uint64_t code) {
  const isa::Number number = isa::decode(dtype, code);
  if (dtype.is_float()) return isa::to_double(number);
  const std::uint64_t magnitude = number.significand << number.exponent;
  return static_cast<std::int64_t>(number.negative ? 0 - magnitude : magnitude);
}

std::uint64_t code_of_value(const isa::DType& dtype, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return isa::cast(isa::i64, dtype, static_cast<std::uint64_t>(*integer));
  }
  return isa::encode(dtype, isa::number_from(*std::get_if<double>(&value)));
}

Status check_index(const Tensor& tensor, const isa::Index& index) {
  const std::string extents = fmt::format("{}", fmt::join(tensor.shape, ", "));
  if (index.size() != tensor.shape.size()) {
    return wrong(fmt::format("`{}` has {} dimension{}, its extents are [{}]", tensor.name,
                             tensor.shape.size(), tensor.shape.size() == 1 ? "" : "s", extents));
  }
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] >= 0 && index[d] < tensor.shape[d]) continue;
    return wrong(fmt::format("`{}[{}]` is outside of the tensor; its extents are [{}]", tensor.name,
                             fmt::join(index, ", "), extents));
  }
  return Done{};
}

bool is_nan(const isa::DType& dtype, std::uint64_t code) {
  return dtype.is_float() && isa::decode(dtype, code).is_nan();
}

bool is_inf(const isa::DType& dtype, std::uint64_t code) {
  return dtype.is_float() && isa::decode(dtype, code).is_inf();
}

}  // namespace tilevm::sim::debug
