#include "isa/analysis/async_products.h"

#include <algorithm>

#include "isa/inst/product.h"

namespace tilevm::isa {
namespace {

template <class F>
void for_each_product(const Kernel& kernel, F&& f) {
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    const auto operands = product_operands(inst->inst);
    if (operands && operands->is_asynchronous()) f(stmt, *inst, *operands);
  });
}

void add(std::vector<VarId>& list, VarId var) {
  if (std::ranges::find(list, var) == list.end()) list.push_back(var);
}

}  // namespace

bool is_of_async_products(const Instruction& inst) {
  const auto operands = product_operands(inst);
  if (operands) return operands->is_asynchronous();
  const Description& about = description(inst);
  const bool counts_groups = has(about.sync, Sync::arrive) || has(about.sync, Sync::wait);
  return about.category == Category::compute && counts_groups;
}

const Stmt* first_async_product(const Kernel& kernel) {
  const Stmt* first = nullptr;
  for_each_product(kernel, [&](const Stmt& stmt, const InstStmt&, const ProductOperands&) {
    if (first == nullptr) first = &stmt;
  });
  return first;
}

std::vector<VarId> async_results(const Kernel& kernel) {
  std::vector<VarId> results;
  for_each_product(kernel, [&](const Stmt&, const InstStmt& stmt, const ProductOperands&) {
    for (const VarId result : stmt.results) add(results, result);
  });
  return results;
}

std::vector<VarId> async_shared_operands(const Kernel& kernel) {
  std::vector<VarId> tensors;
  for_each_product(kernel, [&](const Stmt&, const InstStmt&, const ProductOperands& operands) {
    if (operands.left_in_shared) add(tensors, operands.left);
    add(tensors, operands.right);
  });
  return tensors;
}

}  // namespace tilevm::isa
