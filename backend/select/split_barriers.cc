// Barriers at which only producer warps wait, in kernels that ask for them (@split_barriers).
//
// With two stages of shared memory each step needs a barrier, since the next copies overwrite the
// data that the step has read. But warps that only read could go on to data that are complete. Then
// the units of the multiprocessor are busy while the last warp ends its step.
//
// A Synchronize can be split into arrive and wait if, on every path from it to the next one or to
// the end, warps only issue bulk copies and read shared tensors that nothing but bulk copies fill,
// and touch no other memory. A warp that only reads arrives and goes on: the data that it reads do
// not change, since the producer warps wait for all warps. Data that other instructions wrote
// before are not read either: a Synchronize that is not split, or a reader that copies, is between
// them and their next reader.
#include <vector>

#include "backend/select/passes.h"
#include "isa/analysis/dataflow.h"
#include "isa/analysis/operands.h"
#include "isa/inst/slot_table.h"

namespace tilevm::backend {
namespace {

using isa::InstStmt;
using isa::StmtId;

/// Whether warps may do anything else with memory before the next Synchronize.
class OtherAccesses {
 public:
  using State = bool;
  static constexpr isa::FlowDirection direction = isa::FlowDirection::backward;

  explicit OtherAccesses(Selection& selection)
      : selection_(selection), stored_(selection.kernel.variables.size(), false) {
    selection.statements.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
      if (is_bulk_copy(id)) return;
      isa::for_each_memory_operand<isa::SharedOperand>(
          stmt.inst, [&](isa::Access access, isa::VarId tensor) {
            if (isa::writes(access)) stored_[static_cast<std::size_t>(tensor.index)] = true;
          });
    });
  }

  [[nodiscard]] bool boundary() const { return false; }
  [[nodiscard]] bool join(bool& into, bool from) const {
    const bool grows = from && !into;
    into = into || from;
    return grows;
  }
  void transfer(const isa::Stmt& stmt, bool& others) const {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    others = isa::description(inst->inst).sync != isa::Sync::block && (others || is_other(*inst));
  }

 private:
  [[nodiscard]] bool is_bulk_copy(StmtId id) const {
    return selection_.form<BulkCopy>(id) != nullptr;
  }

  [[nodiscard]] bool is_other(const InstStmt& stmt) const {
    if (is_bulk_copy(stmt.id)) return false;
    if (isa::is_asynchronous(stmt.inst)) return true;  // it goes on behind the barrier
    const isa::Description& is = isa::description(stmt.inst);
    if (is.is_barrier() || is.orders_blocks() || is.category == isa::Category::debug ||
        std::holds_alternative<isa::Exit>(stmt.inst)) {
      return true;
    }
    bool other = false;
    isa::for_each_slot_of(stmt.inst, [&](isa::Access access, const auto& slot) {
      using Slot = std::decay_t<decltype(slot)>;
      if constexpr (std::is_same_v<Slot, isa::SharedOperand>) {
        other |= isa::writes(access) || stored_[static_cast<std::size_t>(slot.var.index)];
      } else {
        other |= access != isa::Access::none;
      }
    });
    return other;
  }

  Selection& selection_;
  std::vector<bool> stored_;  // by variable: shared tensors that other instructions write
};

}  // namespace

void split_barriers(Selection& selection) {
  const std::int64_t first = selection.result.bulk.first_producer;
  if (first == 0) return;
  const auto others = isa::solve(selection.statements, isa::FlowGraph(selection.statements),
                                 OtherAccesses(selection));
  selection.statements.for_each([&](StmtId id) {
    if (selection.form<FullBarrier>(id) == nullptr || others.after[id]) return;
    selection.result.forms[id] = SplitBarrier{first, selection.warps()};
  });
}

}  // namespace tilevm::backend
