#include "isa/analysis/shared_plan.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "isa/analysis/definitions.h"
#include "isa/analysis/live_ranges.h"
#include "isa/analysis/statements.h"
#include "isa/inst/product.h"
#include "isa/inst/slot_table.h"
#include "isa/program/exchange.h"

namespace tilevm::isa {
namespace {

constexpr StmtId kernel_end{std::numeric_limits<std::int32_t>::max()};

/// The live range of a tensor, and what ends that range.
struct SharedLife {
  LiveRange range{{0}, kernel_end};
  std::vector<StmtId> end{};  ///< the barrier, and the wait before it
};

template <class Wait>
bool waits_for_all(const InstStmt& stmt) {
  const auto* wait = std::get_if<Wait>(&stmt.inst);
  if (wait == nullptr) return false;
  const auto pending = wait->pending.value.constant_value();
  return pending && pending->bits == 0;
}

/// What may still be in flight after the last statement that touches a tensor: copies that fill it,
/// products that read it.
struct InFlight {
  bool copies = false, products = false;
};

/// Whether a statement waits for the last of what is in flight.
bool ends_flight(const InstStmt& stmt, InFlight& flight) {
  const InFlight before = flight;
  if (waits_for_all<CopyAsyncWaitGroup>(stmt)) flight.copies = false;
  if (waits_for_all<DotAsyncWaitGroup>(stmt)) flight.products = false;
  return before.copies != flight.copies || before.products != flight.products;
}

/// Extends a live range from the last access to the barrier that ends the range.
void find_end(const Kernel& kernel, InFlight flight, SharedLife& life) {
  for (const Stmt& stmt : kernel.body) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst == nullptr || stmt.id() <= life.range.last) continue;
    if (ends_flight(*inst, flight)) life.end.push_back(inst->id);
    if (flight.copies || flight.products || description(inst->inst).sync != Sync::block) continue;
    life.end.push_back(inst->id);
    life.range.last = inst->id;
    return;
  }
  life.range.last = kernel_end;
}

/// The live ranges of the tensors of `info.shared`, in that order.
std::vector<SharedLife> find_lives(const Kernel& kernel, const KernelInfo& info) {
  const Statements statements(kernel);
  const Definitions definitions(kernel, statements);
  const Uses uses(kernel, statements);
  const auto in_flight = [&](VarId tensor) {
    InFlight flight;
    for (const StmtId id : uses.of(tensor)) {
      const InstStmt* inst = statements.instruction(id);
      if (inst == nullptr || !is_asynchronous(inst->inst)) continue;
      (product_operands(inst->inst) ? flight.products : flight.copies) = true;
    }
    return flight;
  };
  std::vector<SharedLife> lives;
  for (const auto& tile : info.shared) {
    SharedLife& life = lives.emplace_back();
    if (!kernel.cluster.empty()) continue;  // other blocks may access it at any time
    const auto touched = find_live_range(statements, definitions, uses, tile.var);
    if (!touched) continue;
    life.range = *touched;
    find_end(kernel, in_flight(tile.var), life);
  }
  return lives;
}

/// Sizes far above every limit are clamped, so that their sum does not overflow.
std::int64_t rounded_up(std::int64_t bytes) {
  constexpr std::int64_t alignment = KernelInfo::shared_alignment, enough = std::int64_t{1} << 40;
  return (std::min(bytes, enough) + alignment - 1) / alignment * alignment;
}

/// The tensors that have an offset already, by index into `shared`, in the order of their offsets.
class Placement {
 public:
  Placement(std::vector<KernelInfo::SharedTile>& shared, const std::vector<SharedLife>& lives)
      : shared_(shared), lives_(lives) {}

  /// Gives a tensor the lowest offset that is free in its live range.
  void place(std::size_t tensor) {
    shared_[tensor].gpu_offset = free_offset(tensor);
    const auto after = std::upper_bound(
        placed_.begin(), placed_.end(), shared_[tensor].gpu_offset,
        [&](std::int64_t offset, std::size_t other) { return offset < shared_[other].gpu_offset; });
    placed_.insert(after, tensor);
  }

  [[nodiscard]] bool share_bytes(std::size_t a, std::size_t b) const {
    return shared_[a].gpu_offset < shared_[b].gpu_offset + shared_[b].bytes &&
           shared_[b].gpu_offset < shared_[a].gpu_offset + shared_[a].bytes;
  }

 private:
  [[nodiscard]] std::int64_t free_offset(std::size_t tensor) const {
    const std::int64_t alignment = shared_[tensor].alignment;
    std::int64_t offset = 0;
    for (const std::size_t other : placed_) {
      if (!lives_[tensor].range.overlaps(lives_[other].range)) continue;
      if (offset + rounded_up(shared_[tensor].bytes) <= shared_[other].gpu_offset) break;
      offset = std::max(offset, shared_[other].gpu_offset + rounded_up(shared_[other].bytes));
      offset = (offset + alignment - 1) / alignment * alignment;
    }
    return offset;
  }

  std::vector<KernelInfo::SharedTile>& shared_;
  const std::vector<SharedLife>& lives_;
  std::vector<std::size_t> placed_;
};

}  // namespace

void place_shared_tensors(const Kernel& kernel, KernelInfo& info) {
  const std::vector<SharedLife> lives = find_lives(kernel, info);
  Placement placement(info.shared, lives);
  for (std::size_t i = 0; i < info.shared.size(); ++i) {
    placement.place(i);
    const auto& tile = info.shared[i];
    info.shared_footprint =
        std::max(info.shared_footprint, tile.gpu_offset + rounded_up(tile.bytes));
    for (std::size_t other = 0; other < i; ++other) {
      if (!placement.share_bytes(i, other)) continue;
      const SharedLife& earlier =
          lives[other].range.first < lives[i].range.first ? lives[other] : lives[i];
      for (const StmtId end : earlier.end) info.reuse_barriers.insert(end);
    }
  }
}

void place_exchanges(const Kernel& kernel, std::int64_t limit, KernelInfo& info) {
  constexpr std::int64_t widest_access = 16;
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    info.exchange_bytes = std::max(info.exchange_bytes, exchange_bytes(*inst, kernel));
  });
  info.exchange_bytes = (info.exchange_bytes + widest_access - 1) / widest_access * widest_access;
  info.exchange_offset = info.shared_footprint;
  const auto room = [&](std::int64_t halves) {
    return rounded_up(halves * info.exchange_bytes * static_cast<std::int64_t>(info.groups.size()));
  };
  if (info.exchange_offset + room(2) > limit && info.exchange_offset + room(1) <= limit) {
    info.exchange_halves = 1;
  }
  info.shared_footprint += room(info.exchange_halves);
}

}  // namespace tilevm::isa
