#include "sim/state/scalar_code.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "isa/analysis/address_terms.h"
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

/// a * 2^count; nothing where bits are lost.
template <class Integer>
bool shift_left(Integer a, std::uint64_t count, Integer& result) {
  result = 0;
  if (a == 0) return true;
  constexpr auto digits = static_cast<std::uint64_t>(std::numeric_limits<Integer>::digits);
  return count < digits &&
         !__builtin_mul_overflow(a, static_cast<Integer>(Integer{1} << count), &result);
}

/// Sets the result of an operation of isa::may_wrap if the type holds it exactly.
template <class Integer>
bool holds_exactly_in(ScalarBinary op, std::uint64_t a_bits, std::uint64_t b_bits,
                      std::uint64_t& result) {
  const auto a = static_cast<Integer>(a_bits), b = static_cast<Integer>(b_bits);
  Integer value{};
  const bool holds = op == ScalarBinary::add   ? !__builtin_add_overflow(a, b, &value)
                     : op == ScalarBinary::sub ? !__builtin_sub_overflow(a, b, &value)
                     : op == ScalarBinary::mul ? !__builtin_mul_overflow(a, b, &value)
                                               : shift_left(a, b_bits, value);
  if (holds) result = static_cast<std::uint64_t>(value);  // extended by its sign, if it has one
  return holds;
}

bool holds_exactly(ScalarBinary op, ScalarKind kind, std::uint64_t a, std::uint64_t b,
                   std::uint64_t& result) {
  switch (kind) {
    case ScalarKind::i32:
      return holds_exactly_in<std::int32_t>(op, a, b, result);
    case ScalarKind::u32:
      return holds_exactly_in<std::uint32_t>(op, a, b, result);
    case ScalarKind::i64:
      return holds_exactly_in<std::int64_t>(op, a, b, result);
    case ScalarKind::u64:
      return holds_exactly_in<std::uint64_t>(op, a, b, result);
    case ScalarKind::boolean:
    case ScalarKind::f32:
      break;
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace

ScalarCode::ScalarCode(const Expr& expr, Wrapping wrapping) : kind_(expr.kind()) {
  if (const auto value = expr.constant_value()) {
    constant_ = value->bits;
    return;
  }
  if (wrapping == Wrapping::found) {
    isa::for_each_address_term(expr, [&](const Expr& term) {
      if (isa::may_wrap(term)) exact_.push_back(term);
    });
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
  const auto exact = std::find_if(exact_.begin(), exact_.end(), [&](const Expr& term) {
    return &term.node() == &expr.node();  // copies of an expression share their node
  });
  ops_.push_back({.kind = exact == exact_.end() ? OpKind::binary : OpKind::exact,
                  .scalar = node.a.kind(),
                  .result = expr.kind(),
                  .binary = node.op,
                  .second = node.b.kind(),
                  .value = static_cast<std::uint64_t>(exact - exact_.begin()),
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

bool ScalarCode::run(const std::uint64_t* variables, std::uint64_t& result,
                     ScalarFault& fault) const {
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

bool ScalarCode::run_exact(const Op& op, std::uint64_t* top, ScalarFault& fault) const {
  if (holds_exactly(op.binary, op.scalar, top[-1], top[0], top[-1])) return true;
  fault = {op.span, exact_[op.value], top[-1], top[0]};
  return false;
}

bool ScalarCode::run_on(std::uint64_t* stack, const std::uint64_t* variables,
                        ScalarFault& fault) const {
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
      case OpKind::exact:
        --top;
        if (!run_exact(op, top, fault)) return false;
        break;
      case OpKind::binary: {
        --top;
        if (apply_fast(op.binary, op.scalar, top[-1], top[0], top[-1])) break;
        const auto value =
            isa::apply(op.binary, Scalar{op.scalar, top[-1]}, Scalar{op.second, top[0]});
        if (!value) {
          fault = {op.span};
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
