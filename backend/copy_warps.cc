#include "backend/copy_warps.h"

#include <type_traits>
#include <variant>

#include "isa/instruction_set.h"

namespace tilevm::backend {

std::optional<std::size_t> copying_statements(
    const isa::Block& body, const std::function<bool(const isa::InstStmt&)>& is_bulk_copy) {
  std::size_t begun = 0;  // of the body's statements
  std::optional<std::size_t> with_copy, with_order;
  isa::for_each_statement(body, [&](const isa::Stmt& stmt) {
    if (begun < body.size() && &stmt == &body[begun]) ++begun;
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    if (is_bulk_copy(*inst)) with_copy = begun;
    if (!with_order && isa::description(inst->inst).orders_blocks) with_order = begun;
  });
  if (with_copy && with_order && *with_order <= *with_copy) return std::nullopt;
  return with_copy;
}

bool copy_warps_run(const isa::Instruction& instruction) {
  const isa::Description& description = isa::description(instruction);
  switch (description.result) {
    case isa::ResultKind::register_tile:
      return false;
    case isa::ResultKind::indices:
    case isa::ResultKind::scalar:
    case isa::ResultKind::shared_tile:
    case isa::ResultKind::global_view:
      return true;
    case isa::ResultKind::none:
      break;
  }
  return std::visit(
      [&](const auto& inst) {
        using Inst = std::decay_t<decltype(inst)>;
        return description.barrier || std::is_same_v<Inst, isa::CopyAsync> ||
               std::is_same_v<Inst, isa::CopyAsyncCommitGroup> ||
               std::is_same_v<Inst, isa::CopyAsyncWaitGroup> || std::is_same_v<Inst, isa::Exit>;
      },
      instruction);
}

}  // namespace tilevm::backend
