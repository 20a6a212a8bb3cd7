// From a flat chain of operands and operators to a tree.
//
// The grammar reads `a + b * -c < d` as a flat list, so that long chains need no recursion; here
// the operators' ranks turn the list into a tree. Ranks are Python's, from loose to tight:
//
//     or   and   not   == != < <= > >=   |   ^   &   << >>   + -   * / // %   - + ! ~
//
// Binary operators group from the left; comparisons do not chain.
#pragma once

#include <vector>

#include "frontend/syntax/ast.h"
#include "isa/base/diagnostic.h"

namespace tilevm::frontend {

/// A fault inside one logical line. It is thrown while the line is parsed and caught where the line
/// was handed to the grammar; it never leaves this folder.
struct LineFault {
  Diagnostic diagnostic;
};

[[noreturn]] void throw_fault(Code code, Span span, std::string message, std::string fix = {});

/// An expression under construction. `outer` covers its text with the parentheses around it.
struct Node {
  ast::Expr expr;
  int height = 1;
  Span outer{};
};

struct PrefixOperator {
  ast::UnaryOp op = ast::UnaryOp::minus;
  Span span{};
  bool is_word = false;  ///< `not`, which binds looser than `!`
};

struct Operand {
  std::vector<PrefixOperator> prefixes;  ///< outermost first
  Node value;
};

struct InfixOperator {
  ast::BinaryOp op = ast::BinaryOp::add;
  Span span{};
};

/// `operands.size() == operators.size() + 1`.
struct Chain {
  std::vector<Operand> operands;
  std::vector<InfixOperator> operators;
};

/// Ranks, as the printer needs them too: a child of lower rank needs parentheses.
inline constexpr int conditional_rank = 0;
inline constexpr int not_rank = 3;
inline constexpr int comparison_rank = 4;
inline constexpr int unary_rank = 11;
inline constexpr int primary_rank = 12;
[[nodiscard]] int rank(ast::BinaryOp op);

/// The tree of a chain, at most ast::max_depth high; throws LineFault.
[[nodiscard]] Node fold(Chain chain);

/// The height of a node over children of this height; throws LineFault if that is too much.
[[nodiscard]] int height_over(int children, Span span);

}  // namespace tilevm::frontend
