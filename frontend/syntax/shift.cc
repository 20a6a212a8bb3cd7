#include "frontend/syntax/shift.h"

#include <variant>

namespace tilevm::frontend {
namespace {

class Shift {
 public:
  explicit Shift(std::uint32_t offset) : offset_(offset) {}

  void move(ast::Block& block) const {
    for (ast::Stmt& stmt : block) {
      move(stmt.span);
      std::visit([this](auto& node) { visit(node); }, stmt.node);
    }
  }
  void move(ast::Expr& expr) const {
    move(expr.span);
    std::visit([this](auto& node) { visit(node); }, expr.node);
  }

 private:
  void move(Span& span) const {
    span.begin += offset_;
    span.end += offset_;
  }
  void move(ast::Identifier& name) const { move(name.span); }
  void move(ast::Argument& argument) const {
    move(argument.span);
    if (argument.name) move(*argument.name);
    move(argument.value);
  }
  void move(ast::ListEntry& entry) const {
    move(entry.span);
    move(entry.value);
  }
  template <class Node>
  void move_all(std::vector<Node>& nodes) const {
    for (Node& node : nodes) move(node);
  }

  void visit(ast::Integer&) const {}
  void visit(ast::Float&) const {}
  void visit(ast::Bool&) const {}
  void visit(ast::String&) const {}
  void visit(ast::Name&) const {}
  void visit(ast::Unary& node) const {
    move(node.op_span);
    move(*node.operand);
  }
  void visit(ast::Binary& node) const {
    move(node.op_span);
    move(*node.left);
    move(*node.right);
  }
  void visit(ast::Call& node) const {
    move(node.callee);
    move_all(node.args);
  }
  void visit(ast::Method& node) const {
    move(*node.receiver);
    move(node.method);
    move_all(node.args);
  }
  void visit(ast::List& node) const { move_all(node.entries); }
  void visit(ast::Conditional& node) const {
    move(*node.value);
    move(*node.condition);
    move(*node.otherwise);
  }
  void visit(ast::Index& node) const {
    move(*node.base);
    move_all(node.entries);
  }
  void visit(ast::Comprehension& node) const {
    move(*node.element);
    move(node.variable);
    move(*node.values);
    if (node.condition) move(**node.condition);
  }

  void visit(ast::Assign& node) const {
    move_all(node.targets);
    if (node.index) move(*node.index);
    move(node.value);
  }
  void visit(ast::ExprStmt& node) const { move(node.value); }
  void visit(ast::For& node) const {
    move_all(node.variables);
    move_all(node.range);
    if (node.list) move(*node.list);
    move(node.body);
  }
  void visit(ast::While& node) const {
    move(node.condition);
    move(node.body);
  }
  void visit(ast::With& node) const {
    move(node.group);
    move_all(node.args);
    move(node.body);
  }
  void visit(ast::If& node) const {
    for (ast::IfArm& arm : node.arms) {
      move(arm.span);
      move(arm.condition);
      move(arm.body);
    }
    move(node.else_span);
    if (node.else_body) move(*node.else_body);
  }
  void visit(ast::Break&) const {}
  void visit(ast::Continue&) const {}
  void visit(ast::Pass&) const {}
  void visit(ast::Return& node) const { move_all(node.values); }

  std::uint32_t offset_;
};

}  // namespace

void shift_spans(ast::Block& block, std::uint32_t offset) { Shift(offset).move(block); }
void shift_spans(ast::Expr& expr, std::uint32_t offset) { Shift(offset).move(expr); }

}  // namespace tilevm::frontend
