#include "sim/state/scalar_code.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "isa/base/check.h"

namespace tilevm::sim {
namespace {

using isa::Expr;
using isa::Scalar;
using isa::ScalarBinary;
using isa::ScalarKind;

std::uint64_t sign_extend_32(std::uint64_t bits) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
}

/// Inlines the operations that offsets consist of; false if isa::apply is needed.
bool apply_fast(ScalarBinary op, ScalarKind kind, std::uint64_t a, std::uint64_t b,
                std::uint64_t& result) {
  if (!is_signed(kind)) return false;
  if (op == ScalarBinary::add) {
    result = a + b;
  } else if (op == ScalarBinary::mul) {
    result = a * b;
  } else if (op == ScalarBinary::sub) {
    result = a - b;
  } else {
    return false;
  }
  if (kind == ScalarKind::i32) result = sign_extend_32(result);
  return true;
}

}  // namespace

ScalarCode::ScalarCode(const Expr& expr) : kind_(expr.kind()) {
  if (const auto value = expr.constant_value()) {
    constant_ = value->bits;
    return;
  }
  compile(expr, 0);
}

void ScalarCode::compile(const Expr& expr, std::size_t depth) {
  stack_size_ = std::max(stack_size_, depth + 1);
  std::visit([&](const auto& node) { compile(node, expr, depth); }, expr.node());
}

void ScalarCode::compile(const Expr::Constant& node, const Expr& expr, std::size_t) {
  ops_.push_back({.kind = OpKind::constant,
                  .scalar = expr.kind(),
                  .result = expr.kind(),
                  .value = node.value.bits});
}

void ScalarCode::compile(const Expr::Variable& node, const Expr& expr, std::size_t) {
  ops_.push_back({.kind = OpKind::variable,
                  .scalar = expr.kind(),
                  .result = expr.kind(),
                  .value = static_cast<std::uint64_t>(node.var.index)});
}

void ScalarCode::compile(const Expr::Unary& node, const Expr& expr, std::size_t depth) {
  compile(node.a, depth);
  ops_.push_back({.kind = OpKind::unary,
                  .scalar = node.a.kind(),
                  .result = expr.kind(),
                  .unary = node.op,
                  .span = expr.span()});
}

void ScalarCode::compile(const Expr::Convert& node, const Expr& expr, std::size_t depth) {
  compile(node.a, depth);
  ops_.push_back({.kind = OpKind::convert, .scalar = node.a.kind(), .result = expr.kind()});
}

void ScalarCode::compile(const Expr::Binary& node, const Expr& expr, std::size_t depth) {
  compile(node.a, depth);
  if (is_logical(node.op)) {  // the value is the left side if that decides, or the right
    const std::size_t decide = ops_.size();
    ops_.push_back({.kind = OpKind::decide,
                    .scalar = ScalarKind::boolean,
                    .result = ScalarKind::boolean,
                    .binary = node.op});
    compile(node.b, depth);
    ops_[decide].value = ops_.size();
    return;
  }
  compile(node.b, depth + 1);
  ops_.push_back({.kind = OpKind::binary,
                  .scalar = node.a.kind(),
                  .result = expr.kind(),
                  .binary = node.op,
                  .second = node.b.kind(),
                  .span = expr.span()});
}

std::size_t ScalarCode::add_jump(OpKind kind) {
  ops_.push_back({.kind = kind, .scalar = ScalarKind::boolean, .result = ScalarKind::boolean});
  return ops_.size() - 1;
}

void ScalarCode::compile(const Expr::Select& node, const Expr&, std::size_t depth) {
  compile(node.condition, depth);
  const std::size_t branch = add_jump(OpKind::branch);
  compile(node.a, depth);
  const std::size_t jump = add_jump(OpKind::jump);
  ops_[branch].value = ops_.size();
  compile(node.b, depth);
  ops_[jump].value = ops_.size();
}

bool ScalarCode::run(const std::uint64_t* variables, std::uint64_t& result, Span& fault) const {
  constexpr std::size_t small = 16;
  if (stack_size_ <= small) {
    std::array<std::uint64_t, small> stack;
    if (!run_on(stack.data(), variables, fault)) return false;
    result = stack[0];
    return true;
  }
  std::vector<std::uint64_t> stack(stack_size_);
  if (!run_on(stack.data(), variables, fault)) return false;
  result = stack[0];
  return true;
}

bool ScalarCode::run_on(std::uint64_t* stack, const std::uint64_t* variables, Span& fault) const {
  std::uint64_t* top = stack;  // one past the topmost value
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    switch (op.kind) {
      case OpKind::constant:
        *top++ = op.value;
        break;
      case OpKind::variable:
        *top++ = variables[op.value];
        break;
      case OpKind::unary:
        top[-1] = isa::apply(op.unary, Scalar{op.scalar, top[-1]})->bits;
        break;
      case OpKind::convert:
        top[-1] = isa::convert(Scalar{op.scalar, top[-1]}, op.result).bits;
        break;
      case OpKind::decide:
        if ((top[-1] != 0) == (op.binary == ScalarBinary::logical_or)) {
          i = op.value - 1;
        } else {
          --top;
        }
        break;
      case OpKind::branch:
        --top;
        if (top[0] == 0) i = op.value - 1;
        break;
      case OpKind::jump:
        i = op.value - 1;
        break;
      case OpKind::binary: {
        --top;
        if (apply_fast(op.binary, op.scalar, top[-1], top[0], top[-1])) break;
        const auto value =
            isa::apply(op.binary, Scalar{op.scalar, top[-1]}, Scalar{op.second, top[0]});
        if (!value) {
          fault = op.span;
          return false;
        }
        top[-1] = value->bits;
        break;
      }
    }
  }
  TILEVM_CHECK(top == stack + 1, "an expression leaves one value");
  return true;
}

}  // namespace tilevm::sim
