#include "tests/filetest/instructions_of.h"

#include <algorithm>
#include <variant>

#include "isa/inst/instruction_set.h"

namespace tilevm::filetest {

namespace {

namespace ast = frontend::ast;

/// Calls of instructions, at any depth of a syntax tree.
class Calls {
 public:
  explicit Calls(Mnemonics& found) : found_(found) {}

  void walk(const ast::Block& block) {
    for (const ast::Stmt& stmt : block) {
      std::visit([&](const auto& node) { walk(node); }, stmt.node);
    }
  }

 private:
  void walk(const ast::Assign& node) { walk(node.value); }
  void walk(const ast::ExprStmt& node) { walk(node.value); }
  void walk(const ast::For& node) {
    walk(node.range);
    if (node.list) walk(*node.list);
    walk(node.body);
  }
  void walk(const ast::While& node) {
    walk(node.condition);
    walk(node.body);
  }
  void walk(const ast::With& node) {
    walk(node.args);
    walk(node.body);
  }
  void walk(const ast::If& node) {
    for (const ast::IfArm& arm : node.arms) {
      walk(arm.condition);
      walk(arm.body);
    }
    if (node.else_body) walk(*node.else_body);
  }
  void walk(const ast::Break& /*node*/) {}
  void walk(const ast::Continue& /*node*/) {}
  void walk(const ast::Pass& /*node*/) {}
  void walk(const ast::Return& node) {
    for (const ast::Expr& value : node.values) walk(value);
  }

  void walk(const std::vector<ast::Argument>& arguments) {
    for (const ast::Argument& argument : arguments) walk(argument.value);
  }

  void walk(const ast::Expr& expr) {
    std::visit([&](const auto& node) { walk_expr(node); }, expr.node);
  }
  void walk_expr(const ast::Integer& /*node*/) {}
  void walk_expr(const ast::Float& /*node*/) {}
  void walk_expr(const ast::Bool& /*node*/) {}
  void walk_expr(const ast::String& /*node*/) {}
  void walk_expr(const ast::Name& /*node*/) {}
  void walk_expr(const ast::Unary& node) { walk(*node.operand); }
  void walk_expr(const ast::Binary& node) {
    walk(*node.left);
    walk(*node.right);
  }
  void walk_expr(const ast::Call& node) {
    const auto& known = all_mnemonics();
    const auto name = std::find(known.begin(), known.end(), node.callee.text);
    if (name != known.end()) found_.insert(*name);
    walk(node.args);
  }
  void walk_expr(const ast::Method& node) {
    walk(*node.receiver);
    walk(node.args);
  }
  void walk_expr(const ast::List& node) {
    for (const ast::ListEntry& entry : node.entries) walk(entry.value);
  }

  void walk_expr(const ast::Conditional& node) {
    walk(*node.value);
    walk(*node.condition);
    walk(*node.otherwise);
  }
  void walk_expr(const ast::Index& node) {
    walk(*node.base);
    for (const ast::ListEntry& entry : node.entries) walk(entry.value);
  }
  void walk_expr(const ast::Comprehension& node) {
    walk(*node.element);
    walk(*node.values);
    if (node.condition) walk(**node.condition);
  }

  Mnemonics& found_;
};

}  // namespace

const std::vector<std::string_view>& all_mnemonics() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    isa::for_each_instruction(
        [&]<class Inst>() { all.push_back(Inst::schema.description.mnemonic); });
    return all;
  }();
  return names;
}

void add_instructions(const isa::Kernel& kernel, Mnemonics& found) {
  isa::for_each_statement(kernel.body, [&](const isa::Stmt& stmt) {
    if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
      found.insert(isa::mnemonic(inst->inst));
    }
  });
}

void add_instructions(const ast::Program& program, Mnemonics& found) {
  ast::for_each<ast::Kernel>(program.items,
                             [&](const ast::Kernel& node) { Calls(found).walk(node.body); });
  ast::for_each<ast::Function>(program.items,
                               [&](const ast::Function& node) { Calls(found).walk(node.body); });
}

}  // namespace tilevm::filetest
