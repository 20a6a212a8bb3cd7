// Fences between stores and later bulk copies, and between copies in pieces and later products.
//
// Bulk copies access memory through the async proxy, stores through the generic one (PTX ISA,
// proxies). So a store to memory that a bulk copy may overwrite or read later is followed by a
// fence. Copies in pieces are stores that end with a wait. Products of warp groups read through the
// async proxy, too: programs fence their own stores (FenceProxy), and the waits for copies in
// pieces that bring operands are fenced here.
#include <algorithm>
#include <optional>
#include <vector>

#include "backend/machine/passes.h"
#include "isa/analysis/async_products.h"
#include "isa/program/tile_move.h"

namespace tilevm::backend {
namespace {

/// The shared tensors that bulk copies fill, and the number past the last statement that may run
/// before one of these copies.
struct BulkTargets {
  std::vector<const isa::KernelInfo::SharedTile*> tensors;
  std::int32_t end = 0;
};

BulkTargets find_targets(const MachineKernel& machine, const MachineSource& source) {
  BulkTargets found;
  for_each_node(machine.body, [&](const MachineNode& node) {
    const auto* op = std::get_if<MachineOp>(&node.node);
    if (op == nullptr) return;
    for (const MachineAccess& access : op->accesses) {
      if (access.proxy != isa::Proxy::async || !isa::writes(access.access)) continue;
      found.tensors.push_back(&source.info.shared_tile(access.tensor));
      found.end = std::max(found.end, source.statements.end_of_predecessors(node.source()));
    }
  });
  return found;
}

/// Finds the operations that a fence must follow.
class FenceSites {
 public:
  FenceSites(const MachineKernel& machine, const MachineSource& source)
      : source_(source), targets_(find_targets(machine, source)) {
    const auto operands = isa::async_shared_operands(source.kernel);
    for_each_node(machine.body, [&](const MachineNode& node) {
      in_pieces_ = in_pieces_ || (comes_before(node) && copies_pieces(node));
      brings_operands_ = brings_operands_ || brings_operand(node, operands);
    });
  }

  /// The fence behind an operation; nothing if it needs none.
  [[nodiscard]] std::optional<FenceProxy> fence_of(const MachineNode& node) const {
    const FenceProxy of_shared{.with_global = false};
    if (brings_operands_ && waits_for_pieces(node)) return of_shared;
    if (!comes_before(node)) return std::nullopt;
    if (in_pieces_ && waits_for_pieces(node)) return of_shared;
    if (copies_pieces(node)) return of_shared;
    return fence_of_store(node);
  }

 private:
  [[nodiscard]] bool comes_before(const MachineNode& node) const {
    return node.stmt != nullptr && node.source().index < targets_.end;
  }
  static const MachineOp* instruction(const MachineNode& node) {
    const auto* op = std::get_if<MachineOp>(&node.node);
    const bool is_form = op != nullptr && std::holds_alternative<Form>(op->code);
    return is_form && std::holds_alternative<isa::InstStmt>(node.stmt->node) ? op : nullptr;
  }
  static bool waits_for_pieces(const MachineNode& node) {
    const MachineOp* op = instruction(node);
    return op != nullptr && std::holds_alternative<GroupWait>(std::get<Form>(op->code));
  }
  /// Whether an operation copies in pieces to a tensor that products read.
  static bool brings_operand(const MachineNode& node, const std::vector<isa::VarId>& operands) {
    const MachineOp* op = node.stmt == nullptr ? nullptr : instruction(node);
    if (op == nullptr || !is_in_pieces(std::get<Form>(op->code))) return false;
    return std::ranges::any_of(op->accesses, [&](const MachineAccess& access) {
      return isa::writes(access.access) &&
             std::ranges::find(operands, access.tensor) != operands.end();
    });
  }
  static bool is_in_pieces(const Form& form) {
    return std::holds_alternative<PieceCopy>(form) || std::holds_alternative<ElementCopy>(form);
  }
  /// Whether an operation copies in pieces to memory that bulk copies fill, too.
  [[nodiscard]] bool copies_pieces(const MachineNode& node) const {
    const MachineOp* op = instruction(node);
    if (op == nullptr) return false;
    if (!is_in_pieces(std::get<Form>(op->code))) return false;
    return std::any_of(op->accesses.begin(), op->accesses.end(), [&](const MachineAccess& access) {
      return isa::writes(access.access) && overlaps(access.tensor);
    });
  }
  /// The fence of an operation that stores what bulk copies may read, or where they write.
  [[nodiscard]] std::optional<FenceProxy> fence_of_store(const MachineNode& node) const {
    if (instruction(node) == nullptr) return std::nullopt;
    const auto move = isa::tile_move(*std::get_if<isa::InstStmt>(&node.stmt->node));
    const auto* store = move ? std::get_if<isa::RegisterMove>(&*move) : nullptr;
    if (store == nullptr || !store->stores) return std::nullopt;
    const isa::Type& type = source_.kernel.variable(store->tensor).type;
    const bool is_global = std::holds_alternative<isa::GlobalType>(type);
    if (!is_global && !overlaps(store->tensor)) return std::nullopt;
    return FenceProxy{.with_global = is_global};
  }
  /// Whether a tensor shares memory with one that a bulk copy fills.
  [[nodiscard]] bool overlaps(isa::VarId tensor) const {
    const auto& a = source_.info.shared_tile(tensor);
    return std::any_of(targets_.tensors.begin(), targets_.tensors.end(), [&](const auto* b) {
      return a.gpu_offset < b->gpu_offset + b->bytes && b->gpu_offset < a.gpu_offset + a.bytes;
    });
  }

  const MachineSource& source_;
  BulkTargets targets_;
  bool in_pieces_ = false;        ///< copies in pieces fill memory that bulk copies fill later
  bool brings_operands_ = false;  ///< copies in pieces fill tensors that products read
};

}  // namespace

MachineKernel fence_stores(MachineKernel machine, const MachineSource& source) {
  const FenceSites sites(machine, source);
  machine.body = rewrite(std::move(machine.body), [&](MachineBlock& to, MachineNode node) {
    const isa::Stmt* const stmt = node.stmt;
    const auto fence = sites.fence_of(node);
    to.push_back(std::move(node));
    if (fence) to.push_back(op_node(stmt, *fence));
  });
  return machine;
}

}  // namespace tilevm::backend
