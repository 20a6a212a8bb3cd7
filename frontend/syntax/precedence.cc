#include "frontend/syntax/precedence.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace tilevm::frontend {
namespace {

class Folder {
 public:
  explicit Folder(Chain chain) : chain_(std::move(chain)) {}

  /// Reads operands and operators whose rank is at least `least`.
  Node binary(int least) {
    Node left = unary(least);
    while (next_ < chain_.operators.size()) {
      const InfixOperator infix = chain_.operators[next_];
      const int here = rank(infix.op);
      if (here < least) break;
      ++next_;
      Node right = binary(here + 1);
      left = join_nodes(std::move(left), infix, std::move(right));
      if (here == comparison_rank) refuse_chain(infix);
    }
    return left;
  }

 private:
  Node unary(int least) {
    Operand& operand = chain_.operands[next_];
    auto& prefixes = operand.prefixes;
    const auto word = [](const PrefixOperator& p) { return p.is_word; };
    const auto tight = std::find_if_not(prefixes.begin(), prefixes.end(), word);
    const auto misplaced = least > not_rank ? std::find_if(prefixes.begin(), prefixes.end(), word)
                                            : std::find_if(tight, prefixes.end(), word);
    if (misplaced != prefixes.end()) {
      throw_fault(Code::syntax_error, misplaced->span,
                  "`not` binds looser than the operator before it; put `not ...` in parentheses");
    }
    Node node = wrap(std::move(operand.value), {tight, prefixes.end()});
    if (tight == prefixes.begin()) return node;
    operand.value = std::move(node);
    const std::vector<PrefixOperator> words(prefixes.begin(), tight);
    prefixes.clear();
    return wrap(binary(comparison_rank), words);
  }

  static Node wrap(Node node, const std::vector<PrefixOperator>& prefixes) {
    for (const PrefixOperator& prefix : std::views::reverse(prefixes)) {
      const int height = height_over(node.height, prefix.span);
      const Span span = join(prefix.span, node.outer);
      node = {{ast::Unary{prefix.op, prefix.span, std::move(node.expr)}, span}, height, span};
    }
    return node;
  }

  static Node join_nodes(Node left, const InfixOperator& infix, Node right) {
    const int height = height_over(std::max(left.height, right.height), infix.span);
    const Span span = join(left.outer, right.outer);
    ast::Binary node{infix.op, infix.span, std::move(left.expr), std::move(right.expr)};
    return {{std::move(node), span}, height, span};
  }

  /// `a < b < c` means different things in C and in Python, so it means nothing here.
  void refuse_chain(const InfixOperator& before) const {
    if (next_ >= chain_.operators.size()) return;
    const InfixOperator& after = chain_.operators[next_];
    if (rank(after.op) != comparison_rank) return;
    throw_fault(Code::syntax_error, after.span,
                fmt::format("comparisons do not chain; write `a {} b and b {} c`, or parentheses",
                            to_string(before.op), to_string(after.op)));
  }

  Chain chain_;
  std::size_t next_ = 0;  // the operator after the operand that is read next
};

}  // namespace

void throw_fault(Code code, Span span, std::string message, std::string fix) {
  throw LineFault{{code, Severity::error, span, std::move(message), std::move(fix), {}}};
}

int rank(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::logical_or:
      return 1;
    case ast::BinaryOp::logical_and:
      return 2;
    case ast::BinaryOp::equal:
    case ast::BinaryOp::not_equal:
    case ast::BinaryOp::less:
    case ast::BinaryOp::less_equal:
    case ast::BinaryOp::greater:
    case ast::BinaryOp::greater_equal:
      return comparison_rank;
    case ast::BinaryOp::bit_or:
      return 5;
    case ast::BinaryOp::bit_xor:
      return 6;
    case ast::BinaryOp::bit_and:
      return 7;
    case ast::BinaryOp::shift_left:
    case ast::BinaryOp::shift_right:
      return 8;
    case ast::BinaryOp::add:
    case ast::BinaryOp::sub:
      return 9;
    case ast::BinaryOp::mul:
    case ast::BinaryOp::div:
    case ast::BinaryOp::mod:
      return 10;
  }
  return 0;
}

int height_over(int children, Span span) {
  if (children < ast::max_depth) return children + 1;
  throw_fault(Code::nesting_too_deep, span,
              fmt::format("this expression is more than {} levels deep; give parts of it a name",
                          ast::max_depth));
}

Node fold(Chain chain) {
  // A lone operand is by far the most common chain.
  if (chain.operators.empty() && chain.operands.front().prefixes.empty()) {
    return std::move(chain.operands.front().value);
  }
  return Folder(std::move(chain)).binary(0);
}

}  // namespace tilevm::frontend
