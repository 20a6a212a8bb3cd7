// Scalar expressions, compiled: a short postfix program instead of a tree.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/inst/expr.h"

namespace tilevm::sim {

/// Whether the terms of an address may wrap around (isa/analysis/address_terms.h).
enum class Wrapping : std::uint8_t { allowed, found };

/// Why an expression has no value: its division by zero, or an address that wraps around.
struct ScalarFault {
  Span span{};
  std::optional<isa::Expr> wrapped{};  ///< the operation whose exact result its type cannot hold
  std::uint64_t a = 0, b = 0;          ///< the bits of its operands
};

/// Equals isa::evaluate on every input (docs/reference/semantics.md, Scalars).
class ScalarCode {
 public:
  /// The constant 0.
  ScalarCode() = default;
  explicit ScalarCode(const isa::Expr& expr, Wrapping wrapping = Wrapping::allowed);

  /// The value's bits (isa::Scalar::bits) for the values of all variables; false after a division
  /// by zero, or where an address wraps around and Wrapping::found was asked for.
  [[nodiscard]] bool evaluate(const std::uint64_t* variables, std::uint64_t& result,
                              ScalarFault& fault) const {
    if (ops_.empty()) {
      result = constant_;
      return true;
    }
    return run(variables, result, fault);
  }
  /// Sets the source span of a fault only.
  [[nodiscard]] bool evaluate(const std::uint64_t* variables, std::uint64_t& result,
                              Span& fault) const {
    ScalarFault found;
    const bool has_value = evaluate(variables, result, found);
    if (!has_value) fault = found.span;
    return has_value;
  }

  [[nodiscard]] isa::ScalarKind kind() const { return kind_; }

 private:
  enum class OpKind : std::uint8_t {
    constant,
    variable,
    unary,
    binary,
    exact,  ///< a binary operation that must not wrap around
    convert,
    decide,
    branch,
    jump
  };
  struct Op {
    OpKind kind;
    isa::ScalarKind scalar;      // of the operands; convert: of the source
    isa::ScalarKind result;      // convert: of the result
    isa::ScalarUnary unary{};    // OpKind::unary
    isa::ScalarBinary binary{};  // OpKind::binary, and && or || for `decide`
    isa::ScalarKind second{};    // of a shift's count
    std::uint64_t value = 0;     // constant, variable's slot, where a jump goes, or in exact_
    Span span{};
  };

  std::size_t add_jump(OpKind kind);  // gives its index, for the target
  void compile(const isa::Expr& expr, std::size_t depth);
  // One overload per node type. Each emits code for `expr`, whose node is `node`.
  void compile(const isa::Expr::Constant& node, const isa::Expr& expr, std::size_t depth);
  void compile(const isa::Expr::Variable& node, const isa::Expr& expr, std::size_t depth);
  void compile(const isa::Expr::Unary& node, const isa::Expr& expr, std::size_t depth);
  void compile(const isa::Expr::Convert& node, const isa::Expr& expr, std::size_t depth);
  void compile(const isa::Expr::Binary& node, const isa::Expr& expr, std::size_t depth);
  void compile(const isa::Expr::Select& node, const isa::Expr& expr, std::size_t depth);
  [[nodiscard]] bool run(const std::uint64_t* variables, std::uint64_t& result,
                         ScalarFault& fault) const;
  [[nodiscard]] bool run_on(std::uint64_t* stack, const std::uint64_t* variables,
                            ScalarFault& fault) const;
  /// False after a fault.
  [[nodiscard]] bool run_exact(const Op& op, std::uint64_t* top, ScalarFault& fault) const;

  std::vector<Op> ops_;           // empty for a constant
  std::vector<isa::Expr> exact_;  // the operations that must not wrap around
  std::uint64_t constant_ = 0;
  std::size_t stack_size_ = 0;
  isa::ScalarKind kind_ = isa::ScalarKind::i32;
};

}  // namespace tilevm::sim
