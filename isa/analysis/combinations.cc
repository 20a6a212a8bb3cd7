#include "isa/analysis/combinations.h"

#include <utility>
#include <variant>

#include "isa/program/tile_move.h"

namespace tilevm::isa {
namespace {

/// Calls f(statement, its move, the type of its elements) for each statement that combines.
template <class F>
void for_each_combination(const Kernel& kernel, F&& f) {
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    const auto move = inst != nullptr ? tile_move(*inst) : std::nullopt;
    const auto* store = move ? std::get_if<RegisterMove>(&*move) : nullptr;
    if (store == nullptr || !store->combines) return;
    f(stmt, *store, std::get_if<RegisterType>(&kernel.variable(store->tile).type)->dtype);
  });
}

/// The first statement that combines, of floats only or of any type.
std::optional<Span> find_combination(const Kernel& kernel, bool of_floats) {
  std::optional<Span> found;
  for_each_combination(kernel, [&](const Stmt& stmt, const RegisterMove&, const DType& type) {
    if (!found && (!of_floats || type.is_float())) found = stmt.span;
  });
  return found;
}

}  // namespace

bool combines_in_memory(const Kernel& kernel) {
  return find_combination(kernel, false).has_value();
}

bool combines_differently(const Kernel& kernel) {
  std::optional<std::pair<ReduceOp, DType>> first;
  bool differs = false;
  for_each_combination(kernel, [&](const Stmt&, const RegisterMove& move, const DType& type) {
    const std::pair way{*move.combines, type};
    differs = differs || (first && *first != way);
    first = way;
  });
  return differs;
}

std::optional<Span> find_unordered_sum(const Kernel& kernel) {
  return find_combination(kernel, true);
}

}  // namespace tilevm::isa
