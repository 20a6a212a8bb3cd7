#include "backend/select/gates.h"

#include <ranges>
#include <type_traits>
#include <utility>
#include <variant>

#include "isa/inst/instruction_set.h"

namespace tilevm::backend {
namespace {

using isa::InstStmt;

/// The shared tensors that an instruction other than a bulk copy writes.
std::set<int> find_stored(const isa::Block& body, const BulkCopies& copies) {
  std::set<int> stored;
  isa::for_each_statement(body, [&](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst == nullptr || copies.find(*inst) != nullptr) return;
    isa::for_each_slot_of(inst->inst, [&](isa::Access access, const auto& slot) {
      if constexpr (std::is_same_v<std::decay_t<decltype(slot)>, isa::SharedOperand>) {
        if (isa::writes(access)) stored.insert(slot.var.index);
      }
    });
  });
  return stored;
}

/// Goes through a kernel from its end to its beginning, until it knows of all loops whether what
/// stands at their beginning is harmless.
class GateSearch {
 public:
  GateSearch(const isa::Block& body, const BulkCopies& copies)
      : copies_(copies), stored_(find_stored(body, copies)) {
    do {
      gates.clear();
      known_ = true;
      before(body, true);
    } while (!known_);
  }

  std::set<const InstStmt*> gates;

 private:
  /// Whether all is harmless from the beginning of a block up to the next Synchronize, if it is
  /// from its end.
  bool before(const isa::Block& block, bool behind) {
    for (const isa::Stmt& stmt : std::views::reverse(block)) {
      behind = std::visit([&](const auto& node) { return before(node, behind); }, stmt.node);
    }
    return behind;
  }

  bool before(const InstStmt& stmt, bool behind) {
    if (std::holds_alternative<isa::Synchronize>(stmt.inst)) {
      if (behind) gates.insert(&stmt);
      return true;
    }
    return behind && is_harmless(stmt);
  }
  bool before(const isa::ScalarStmt&, bool behind) { return behind; }
  bool before(const isa::ForStmt& loop, bool behind) { return before_loop(loop.body, behind); }
  bool before(const isa::WhileStmt& loop, bool behind) { return before_loop(loop.body, behind); }
  bool before(const isa::IfStmt& branch, bool behind) {
    bool all = before(branch.otherwise, behind);
    for (const isa::IfStmt::Arm& arm : branch.arms) all &= before(arm.body, behind);
    return all;
  }
  [[nodiscard]] bool before(const isa::BreakStmt&, bool) const { return leave_; }
  [[nodiscard]] bool before(const isa::ContinueStmt&, bool) const { return again_; }

  /// Behind the body stands the body, or what follows the loop.
  bool before_loop(const isa::Block& body, bool behind) {
    const bool outer_leave = std::exchange(leave_, behind);
    const bool outer_again = std::exchange(again_, behind && !harmful_.contains(&body));
    const bool begin = before(body, again_);
    if (again_ && !begin) {
      harmful_.insert(&body);
      known_ = false;
    }
    leave_ = outer_leave;
    again_ = outer_again;
    return begin && behind;
  }

  [[nodiscard]] bool is_harmless(const InstStmt& stmt) const {
    if (copies_.find(stmt) != nullptr) return true;
    const isa::Description& is = isa::description(stmt.inst);
    if (is.barrier || is.orders_blocks || is.category == isa::Category::debug ||
        std::holds_alternative<isa::Exit>(stmt.inst)) {
      return false;
    }
    bool harmless = true;
    isa::for_each_slot_of(stmt.inst, [&](isa::Access access, const auto& slot) {
      using Slot = std::decay_t<decltype(slot)>;
      if constexpr (std::is_same_v<Slot, isa::SharedOperand>) {
        harmless &= !isa::writes(access) && !stored_.contains(slot.var.index);
      } else {
        harmless &= access == isa::Access::none;
      }
    });
    return harmless;
  }

  const BulkCopies& copies_;
  std::set<int> stored_;                 // variables
  std::set<const isa::Block*> harmful_;  // bodies of loops at whose beginning not all is harmless
  bool known_ = false;                   // that these are all
  bool leave_ = true, again_ = true;     // behind a Break and a Continue
};

}  // namespace

std::set<const InstStmt*> find_gates(const isa::Kernel& kernel, const BulkCopies& copies) {
  if (copies.copiers() == 0) return {};
  return GateSearch(kernel.body, copies).gates;
}

}  // namespace tilevm::backend
