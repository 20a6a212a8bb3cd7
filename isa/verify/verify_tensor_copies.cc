#include "isa/verify/verify_tensor_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "isa/access/mapped_view.h"
#include "isa/base/check.h"
#include "isa/inst/tensor_copy.h"
#include "isa/rules/tensor_map.h"

namespace tilevm::isa {
namespace {

/// Whether an instruction is of those that one thread executes.
bool is_of_one_thread(const Instruction& inst) {
  return description(inst).by_copy_engine ||
         std::holds_alternative<CopyAsyncTensorCommitGroup>(inst) ||
         std::holds_alternative<CopyAsyncTensorWaitGroup>(inst);
}

void align(const TensorCopy& copy, const Kernel& kernel, KernelInfo& info) {
  NoTensorMap why;
  const auto plan = plan_boxes(copy, *std::get_if<GlobalType>(&kernel.variable(copy.view).type),
                               *std::get_if<SharedType>(&kernel.variable(copy.tensor).type), why);
  TILEVM_CHECK(plan.has_value(), "a copy by a tensor map that passed its type rule has boxes");
  for (auto& tile : info.shared) {
    if (tile.var == copy.tensor) tile.alignment = std::max(tile.alignment, plan->alignment());
  }
}

}  // namespace

void check_tensor_copies(const Kernel& kernel, Diagnostics& diagnostics, KernelInfo& info) {
  std::vector<const Stmt*> found;
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst != nullptr && is_of_one_thread(inst->inst)) found.push_back(&stmt);
  });
  if (found.empty()) return;
  const Statements statements(kernel);
  const Definitions definitions(kernel, statements);
  for (const Stmt* stmt : found) {
    const Instruction& inst = std::get_if<InstStmt>(&stmt->node)->inst;
    if (!info.group_at(stmt->id()).elects) {
      add_note(diagnostics.error(
                   Code::misplaced, stmt->span,
                   fmt::format("`{}` would be executed by every thread here", mnemonic(inst))),
               "one thread begins copies by tensor maps and waits for their groups: put it in a "
               "`with single_thread():` block");
    }
    const auto copy = tensor_copy(inst);
    if (!copy) continue;
    NoTensorMap why;
    if (mapped_view(kernel, statements, definitions, copy->view, why) == nullptr) {
      add_note(diagnostics.error(Code::bad_tensor_map, stmt->span,
                                 fmt::format("there is no tensor map of `{}`: {}",
                                             kernel.variable(copy->view).name, why.reason)),
               why.advice);
      continue;
    }
    align(*copy, kernel, info);
  }
}

}  // namespace tilevm::isa
