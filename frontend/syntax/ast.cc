#include "frontend/syntax/ast.h"

#include <tuple>

namespace tilevm::frontend::ast {
namespace {

// What takes part in equality, one tuple of references a node; spans are left out.
auto parts(const Integer& n) { return std::tie(n.value, n.text); }
auto parts(const Float& n) { return std::tie(n.value, n.text); }
auto parts(const Bool& n) { return std::tie(n.value); }
auto parts(const String& n) { return std::tie(n.value); }
auto parts(const Name& n) { return std::tie(n.text); }
auto parts(const Unary& n) { return std::tie(n.op, n.operand); }
auto parts(const Binary& n) { return std::tie(n.op, n.left, n.right); }
auto parts(const Call& n) { return std::tie(n.callee, n.args); }
auto parts(const Method& n) { return std::tie(n.receiver, n.method, n.args); }
auto parts(const List& n) { return std::tie(n.entries); }
auto parts(const Conditional& n) { return std::tie(n.value, n.condition, n.otherwise); }
auto parts(const Index& n) { return std::tie(n.base, n.entries); }
auto parts(const Comprehension& n) {
  return std::tie(n.element, n.variable, n.values, n.condition);
}

auto parts(const Assign& n) { return std::tie(n.targets, n.index, n.value); }
auto parts(const ExprStmt& n) { return std::tie(n.value); }
auto parts(const For& n) { return std::tie(n.variables, n.range, n.list, n.body); }
auto parts(const While& n) { return std::tie(n.condition, n.body); }
auto parts(const With& n) { return std::tie(n.group, n.args, n.body); }
auto parts(const IfArm& n) { return std::tie(n.condition, n.body); }
auto parts(const If& n) { return std::tie(n.arms, n.else_body); }
auto parts(const Break&) { return std::tie(); }
auto parts(const Continue&) { return std::tie(); }
auto parts(const Pass&) { return std::tie(); }
auto parts(const Return& n) { return std::tie(n.values); }

auto parts(const ConstDecl& n) { return std::tie(n.names, n.annotation, n.choices, n.values); }
auto parts(const Require& n) { return std::tie(n.condition, n.message); }
auto parts(const Decorator& n) { return std::tie(n.name, n.args); }
auto parts(const Param& n) { return std::tie(n.type, n.is_pointer, n.name); }
auto parts(const Kernel& n) { return std::tie(n.decorators, n.name, n.grid, n.params, n.body); }
auto parts(const PipelineParam& n) { return std::tie(n.inout, n.name, n.type, n.shape); }
auto parts(const FunctionParam& n) { return std::tie(n.name, n.kind, n.fallback); }
auto parts(const Function& n) { return std::tie(n.name, n.params, n.results, n.body); }
auto parts(const Include& n) { return std::tie(n.path); }
auto parts(const Pipeline& n) { return std::tie(n.name, n.inputs, n.outputs, n.body); }

}  // namespace

// Vectors of these are compared above, which looks for operator== beside the type.
static bool operator==(const IfArm& a, const IfArm& b) { return parts(a) == parts(b); }
static bool operator==(const Decorator& a, const Decorator& b) { return parts(a) == parts(b); }
static bool operator==(const Param& a, const Param& b) { return parts(a) == parts(b); }
static bool operator==(const FunctionParam& a, const FunctionParam& b) {
  return parts(a) == parts(b);
}
static bool operator==(const PipelineParam& a, const PipelineParam& b) {
  return parts(a) == parts(b);
}

namespace {

/// Two variants are equal when they hold the same alternative with equal parts.
template <class Variant>
bool same_node(const Variant& a, const Variant& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& left) {
        using Node = std::decay_t<decltype(left)>;
        return parts(left) == parts(*std::get_if<Node>(&b));
      },
      a);
}

}  // namespace

bool operator==(const Identifier& a, const Identifier& b) { return a.text == b.text; }
bool operator==(const Expr& a, const Expr& b) { return same_node(a.node, b.node); }
bool operator==(const Argument& a, const Argument& b) {
  return a.name == b.name && a.value == b.value;
}
bool operator==(const ListEntry& a, const ListEntry& b) {
  return a.colon == b.colon && a.value == b.value;
}
bool operator==(const Stmt& a, const Stmt& b) { return same_node(a.node, b.node); }
bool operator==(const Item& a, const Item& b) { return same_node(a.node, b.node); }
bool operator==(const Program& a, const Program& b) { return a.items == b.items; }

std::string_view to_string(UnaryOp op) {
  switch (op) {
    case UnaryOp::minus:
      return "-";
    case UnaryOp::plus:
      return "+";
    case UnaryOp::logical_not:
      return "not";
    case UnaryOp::bit_not:
      return "~";
  }
  return "";
}

std::string_view to_string(BinaryOp op) {
  switch (op) {
    case BinaryOp::logical_or:
      return "or";
    case BinaryOp::logical_and:
      return "and";
    case BinaryOp::equal:
      return "==";
    case BinaryOp::not_equal:
      return "!=";
    case BinaryOp::less:
      return "<";
    case BinaryOp::less_equal:
      return "<=";
    case BinaryOp::greater:
      return ">";
    case BinaryOp::greater_equal:
      return ">=";
    case BinaryOp::bit_or:
      return "|";
    case BinaryOp::bit_xor:
      return "^";
    case BinaryOp::bit_and:
      return "&";
    case BinaryOp::shift_left:
      return "<<";
    case BinaryOp::shift_right:
      return ">>";
    case BinaryOp::add:
      return "+";
    case BinaryOp::sub:
      return "-";
    case BinaryOp::mul:
      return "*";
    case BinaryOp::div:
      return "/";
    case BinaryOp::mod:
      return "%";
  }
  return "";
}

}  // namespace tilevm::frontend::ast
