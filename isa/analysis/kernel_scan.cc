#include "isa/analysis/kernel_scan.h"

#include <map>

namespace tilevm::isa {
namespace {

/// Which pointer parameters each view variable was made of; several if it was assigned again.
std::multimap<int, VarId> views_of_pointers(const Kernel& kernel) {
  std::multimap<int, VarId> pointer_of;
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst == nullptr || inst->results.size() != 1) return;
    for_each_slot_of(inst->inst, [&](Access, const auto& slot) {
      if constexpr (std::is_same_v<std::decay_t<decltype(slot)>, PointerOperand>) {
        pointer_of.emplace(inst->results[0].index, slot.var);
      }
    });
  });
  return pointer_of;
}

/// Joins what one more view says of the tensor behind a pointer.
void join_view(PointerUse& use, bool first, const GlobalType& view) {
  const auto shape = view.static_shape();
  if (first) {
    use.dtype = view.dtype;
    use.shape = shape;
    return;
  }
  if (use.dtype != view.dtype) use.dtype.reset();
  if (use.shape != shape) use.shape.reset();
}

}  // namespace

std::vector<int> count_writes(const Kernel& kernel) {
  std::vector<int> count(kernel.variables.size(), 0);
  const auto add = [&](VarId var) { ++count[static_cast<std::size_t>(var.index)]; };
  for (const VarId parameter : kernel.parameters) add(parameter);
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
      for (const VarId result : inst->results) add(result);
    }
    if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) add(scalar->target);
    if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) add(loop->var);
  });
  return count;
}

std::vector<PointerUse> scan_pointers(const Kernel& kernel) {
  std::vector<PointerUse> uses;
  std::map<int, std::size_t> use_of;
  for (const VarId parameter : kernel.parameters) {
    if (!std::holds_alternative<PointerType>(kernel.variable(parameter).type)) continue;
    use_of[parameter.index] = uses.size();
    uses.push_back({parameter, false, false, {}, {}});
  }
  const auto pointer_of = views_of_pointers(kernel);
  std::map<std::size_t, bool> seen;
  for (const auto& [view, pointer] : pointer_of) {
    const std::size_t use = use_of.at(pointer.index);
    const auto* type = std::get_if<GlobalType>(&kernel.variable({view}).type);
    if (type != nullptr) join_view(uses[use], !seen[use], *type);
    seen[use] = true;
  }
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    for_each_slot_of(inst->inst, [&](Access access, const auto& slot) {
      if constexpr (std::is_same_v<std::decay_t<decltype(slot)>, GlobalOperand>) {
        const auto [begin, end] = pointer_of.equal_range(slot.var.index);
        for (auto pointer = begin; pointer != end; ++pointer) {
          PointerUse& use = uses[use_of.at(pointer->second.index)];
          use.read |= reads(access);
          use.written |= writes(access);
        }
      }
    });
  });
  return uses;
}

}  // namespace tilevm::isa
