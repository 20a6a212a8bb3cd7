// Fences between stores and later bulk copies.
//
// Bulk copies access memory through another proxy than stores (PTX ISA, proxies). So a store to
// memory that a bulk copy may overwrite later is followed by a fence. Copies in pieces are stores
// that end with a wait.
#include <algorithm>
#include <vector>

#include "backend/select/passes.h"
#include "isa/analysis/async_products.h"
#include "isa/inst/instruction_set.h"
#include "isa/program/tile_move.h"

namespace tilevm::backend {
namespace {

using isa::InstStmt;
using isa::StmtId;

/// The shared tensors that bulk copies fill, and the number past the last statement that may run
/// before one of these copies.
struct BulkTargets {
  std::vector<const isa::KernelInfo::SharedTile*> tensors;
  std::int32_t end = 0;
};

BulkTargets find_targets(Selection& selection) {
  BulkTargets found;
  selection.statements.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
    if (selection.form<BulkCopy>(id) == nullptr) return;
    found.tensors.push_back(
        &selection.info.shared_tile(std::get_if<isa::CopyAsync>(&stmt.inst)->dst.var));
    found.end = std::max(found.end, selection.statements.end_of_predecessors(id));
  });
  return found;
}

/// Whether a tensor shares memory with one that a bulk copy fills.
bool overlaps(isa::VarId tensor, const BulkTargets& targets, const Selection& selection) {
  const auto& a = selection.info.shared_tile(tensor);
  return std::any_of(targets.tensors.begin(), targets.tensors.end(), [&](const auto* b) {
    return a.gpu_offset < b->gpu_offset + b->bytes && b->gpu_offset < a.gpu_offset + a.bytes;
  });
}

bool* fence_of(Form& form) {
  if (auto* accesses = std::get_if<ElementAccesses>(&form)) return &accesses->access.fenced;
  if (auto* accesses = std::get_if<WideAccesses>(&form)) return &accesses->access.fenced;
  if (auto* accesses = std::get_if<MatrixAccesses>(&form)) return &accesses->access.fenced;
  if (auto* accesses = std::get_if<CombiningAccesses>(&form)) return &accesses->access.fenced;
  if (auto* copy = std::get_if<PieceCopy>(&form)) return &copy->fenced;
  if (auto* copy = std::get_if<ElementCopy>(&form)) return &copy->fenced;
  if (auto* wait = std::get_if<GroupWait>(&form)) return &wait->fenced;
  return nullptr;
}

/// Whether a statement stores what bulk copies may read, or where they write later.
bool stores_near(const InstStmt& stmt, const BulkTargets& targets, const Selection& selection) {
  const auto move = isa::tile_move(stmt);
  const auto* store = move ? std::get_if<isa::RegisterMove>(&*move) : nullptr;
  if (store == nullptr || !store->stores) return false;
  const isa::Type& type = selection.kernel.variable(store->tensor).type;
  return std::holds_alternative<isa::GlobalType>(type) ||
         overlaps(store->tensor, targets, selection);
}

}  // namespace

namespace {

/// Products read by the async proxy. What copies in pieces bring is stored by threads: a fence
/// follows their waits, and stores of single elements.
void place_product_fences(Selection& selection) {
  const std::vector<isa::VarId> read = isa::async_shared_operands(selection.kernel);
  bool in_pieces = false;
  selection.statements.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
    const auto* copy = std::get_if<isa::CopyAsync>(&stmt.inst);
    if (copy == nullptr || selection.form<BulkCopy>(id) != nullptr) return;
    if (std::ranges::find(read, copy->dst.var) == read.end()) return;
    in_pieces = true;
  });
  if (!in_pieces) return;
  selection.statements.for_each_instruction([&](StmtId id, const InstStmt&) {
    if (auto* wait = selection.form<GroupWait>(id)) wait->fenced = true;
  });
}

}  // namespace

void place_bulk_fences(Selection& selection) {
  place_product_fences(selection);
  const BulkTargets targets = find_targets(selection);
  std::vector<StmtId> waits;
  bool in_pieces = false;
  for (StmtId id{0}; id.index < targets.end; ++id.index) {
    const InstStmt* stmt = selection.statements.instruction(id);
    if (stmt == nullptr) continue;
    const auto* copy = std::get_if<isa::CopyAsync>(&stmt->inst);
    if (std::holds_alternative<isa::CopyAsyncWaitGroup>(stmt->inst)) waits.push_back(id);
    const bool pieces = copy != nullptr && selection.form<BulkCopy>(id) == nullptr &&
                        overlaps(copy->dst.var, targets, selection);
    in_pieces = in_pieces || pieces;
    if (pieces || stores_near(*stmt, targets, selection)) {
      *fence_of(selection.result.forms[id]) = true;
    }
  }
  if (!in_pieces) return;
  for (const StmtId wait : waits) *fence_of(selection.result.forms[wait]) = true;
}

}  // namespace tilevm::backend
