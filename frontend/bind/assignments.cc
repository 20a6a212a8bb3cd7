#include "frontend/bind/assignments.h"

#include <algorithm>
#include <variant>

namespace tilevm::frontend {
namespace {

using Counts = std::map<std::string, int>;

class Counter {
 public:
  Counts count(const ast::Block& body) {
    Counts counts;
    for (const ast::Stmt& stmt : body) {
      std::visit([&](const auto& node) { visit(node, counts); }, stmt.node);
    }
    return counts;
  }

 private:
  static void add(Counts& to, const Counts& more) {
    for (const auto& [name, number] : more) to[name] += number;
  }

  /// `out=name` in a call.
  static void visit(const ast::Expr& expr, Counts& counts) {
    const auto* call = std::get_if<ast::Call>(&expr.node);
    if (call == nullptr) return;
    for (const ast::Argument& argument : call->args) {
      const auto* name = std::get_if<ast::Name>(&argument.value.node);
      if (argument.name && argument.name->text == "out" && name != nullptr) ++counts[name->text];
    }
  }

  void visit(const ast::Assign& node, Counts& counts) const {
    for (const ast::Identifier& target : node.targets) ++counts[target.text];
    visit(node.value, counts);
  }
  void visit(const ast::ExprStmt& node, Counts& counts) const { visit(node.value, counts); }
  void visit(const ast::For& node, Counts& counts) {
    for (const ast::Identifier& variable : node.variables) ++counts[variable.text];
    add(counts, count(node.body));
  }
  void visit(const ast::While& node, Counts& counts) { add(counts, count(node.body)); }
  void visit(const ast::With& node, Counts& counts) { add(counts, count(node.body)); }
  void visit(const ast::If& node, Counts& counts) {
    Counts most;
    const auto take = [&](const ast::Block& body) {
      for (const auto& [name, number] : count(body)) most[name] = std::max(most[name], number);
    };
    for (const ast::IfArm& arm : node.arms) take(arm.body);
    if (node.else_body) take(*node.else_body);
    add(counts, most);
  }
  void visit(const ast::Break&, Counts&) const {}
  void visit(const ast::Continue&, Counts&) const {}
  void visit(const ast::Pass&, Counts&) const {}
  void visit(const ast::Return&, Counts&) const {}
};

}  // namespace

std::map<std::string, int> count_assignments(const ast::Block& body) {
  return Counter{}.count(body);
}

}  // namespace tilevm::frontend
