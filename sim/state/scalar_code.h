// Scalar expressions, compiled: a short postfix program instead of a tree.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/inst/expr.h"

namespace tilevm::sim {

/// Equals isa::evaluate on every input (docs/semantics.md, Scalars).
class ScalarCode {
 public:
  /// The constant 0.
  ScalarCode() = default;
  explicit ScalarCode(const isa::Expr& expr);

  /// The value's bits (isa::Scalar::bits) for the values of all variables; false after a division
  /// by zero, whose source span goes to `fault`.
  [[nodiscard]] bool evaluate(const std::uint64_t* variables, std::uint64_t& result,
                              Span& fault) const {
    if (ops_.empty()) {
      result = constant_;
      return true;
    }
    return run(variables, result, fault);
  }

  [[nodiscard]] isa::ScalarKind kind() const { return kind_; }

 private:
  enum class OpKind : std::uint8_t {
    constant,
    variable,
    unary,
    binary,
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
    std::uint64_t value = 0;     // constant, variable's slot, or where a jump goes
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
  [[nodiscard]] bool run(const std::uint64_t* variables, std::uint64_t& result, Span& fault) const;
  [[nodiscard]] bool run_on(std::uint64_t* stack, const std::uint64_t* variables,
                            Span& fault) const;

  std::vector<Op> ops_;  // empty for a constant
  std::uint64_t constant_ = 0;
  std::size_t stack_size_ = 0;
  isa::ScalarKind kind_ = isa::ScalarKind::i32;
};

}  // namespace tilevm::sim
