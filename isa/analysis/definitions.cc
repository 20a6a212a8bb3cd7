#include "isa/analysis/definitions.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "isa/analysis/operands.h"

namespace tilevm::isa {
namespace {

// What a statement writes and reads itself; the statements inside of it have their own numbers.

template <class F>
void for_each_written(const Stmt& stmt, F&& f) {
  if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
    for (const VarId result : inst->results) f(result);
  } else if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
    f(scalar->target);
  } else if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
    f(loop->var);
  }
}

template <class F>
void for_each_read(const Stmt& stmt, F&& f) {
  if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
    for_each_operand(inst->inst, f);
  } else if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
    for_each_variable(scalar->value, f);
  } else if (const auto* range = std::get_if<ForStmt>(&stmt.node)) {
    for (const Expr* expr : {&range->begin, &range->end, &range->step}) for_each_variable(*expr, f);
  } else if (const auto* loop = std::get_if<WhileStmt>(&stmt.node)) {
    for_each_variable(loop->condition, f);
  } else if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) {
    for (const IfStmt::Arm& arm : branch->arms) for_each_variable(arm.condition, f);
  }
}

}  // namespace

StmtLists::StmtLists(std::size_t variables, const std::vector<Item>& items)
    : begins_(variables + 1, 0), statements_(items.size()) {
  for (const Item& item : items) ++begins_[static_cast<std::size_t>(item.var.index) + 1];
  for (std::size_t v = 0; v < variables; ++v) begins_[v + 1] += begins_[v];
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (const Item& item : items) {
    statements_[next[static_cast<std::size_t>(item.var.index)]++] = item.stmt;
  }
}

Definitions::Definitions(const Kernel& kernel, const Statements& statements)
    : StmtLists(kernel.variables.size(),
                [&] {
                  std::vector<Item> items;
                  statements.for_each([&](StmtId id) {
                    for_each_written(statements[id],
                                     [&](VarId var) { items.push_back({var, id}); });
                  });
                  return items;
                }()),
      is_parameter_(kernel.variables.size(), false) {
  for (const VarId parameter : kernel.parameters) {
    is_parameter_[static_cast<std::size_t>(parameter.index)] = true;
  }
}

bool Definitions::written_inside(const Statements& statements, StmtId outer, VarId var) const {
  const auto writes = of(var);
  const auto first = std::upper_bound(writes.begin(), writes.end(), outer);
  return first != writes.end() && statements.contains(outer, *first);
}

Uses::Uses(const Kernel& kernel, const Statements& statements)
    : StmtLists(kernel.variables.size(), [&] {
        std::vector<Item> items;
        statements.for_each([&](StmtId id) {
          for_each_read(statements[id], [&](VarId var) { items.push_back({var, id}); });
        });
        return items;
      }()) {}

}  // namespace tilevm::isa
