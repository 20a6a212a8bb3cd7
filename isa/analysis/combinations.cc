#include "isa/analysis/combinations.h"

#include <variant>

#include "isa/program/tile_move.h"

namespace tilevm::isa {
namespace {

/// The first statement that combines, of floats only or of any type.
std::optional<Span> find_combination(const Kernel& kernel, bool of_floats) {
  std::optional<Span> found;
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    const auto move = inst != nullptr ? tile_move(*inst) : std::nullopt;
    const auto* store = move ? std::get_if<RegisterMove>(&*move) : nullptr;
    if (found || store == nullptr || !store->combines) return;
    const auto& tile = *std::get_if<RegisterType>(&kernel.variable(store->tile).type);
    if (!of_floats || tile.dtype.is_float()) found = stmt.span;
  });
  return found;
}

}  // namespace

bool combines_in_memory(const Kernel& kernel) {
  return find_combination(kernel, false).has_value();
}

std::optional<Span> find_unordered_sum(const Kernel& kernel) {
  return find_combination(kernel, true);
}

}  // namespace tilevm::isa
