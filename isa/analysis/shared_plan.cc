#include "isa/analysis/shared_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>
#include <vector>

namespace tilevm::isa {
namespace {

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

/// Statements by their numbers in the kernel's body.
struct Life {
  std::size_t first = never, last = 0;
  bool copied_to = false;
  std::vector<const InstStmt*> end{};  ///< the barrier, and the wait before it

  [[nodiscard]] bool meets(const Life& other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Calls f(variable, whether a copy fills it) for every shared tensor that an instruction touches.
template <class F>
void for_each_shared_tensor(const Instruction& instruction, F&& f) {
  for_each_slot_of(instruction, [&](Access, const auto& slot) {
    if constexpr (std::is_same_v<std::decay_t<decltype(slot)>, SharedOperand>) {
      f(slot.var, std::holds_alternative<CopyAsync>(instruction));
    }
  });
}

bool waits_for_all(const InstStmt& stmt) {
  const auto* wait = std::get_if<CopyAsyncWaitGroup>(&stmt.inst);
  if (wait == nullptr) return false;
  const auto pending = wait->pending.value.constant_value();
  return pending && pending->bits == 0;
}

/// The lives of the shared tensors that are touched, by variable; `last` is that of the last touch.
std::map<int, Life> find_touches(const Block& statements) {
  std::map<int, Life> lives;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Block one{statements[i]};
    for_each_statement(one, [&](const Stmt& stmt) {
      const auto* inst = std::get_if<InstStmt>(&stmt.node);
      if (inst == nullptr) return;
      for_each_shared_tensor(inst->inst, [&](VarId var, bool copies) {
        Life& life = lives[var.index];
        life.first = std::min(life.first, i);
        life.last = std::max(life.last, i);
        life.copied_to |= copies;
      });
    });
  }
  return lives;
}

/// From the last touch to the end of the life.
void find_end(const Block& statements, Life& life) {
  bool waited = !life.copied_to;
  for (std::size_t i = life.last + 1; i < statements.size(); ++i) {
    const auto* inst = std::get_if<InstStmt>(&statements[i].node);
    if (inst == nullptr) continue;
    if (!waited && waits_for_all(*inst)) {
      waited = true;
      life.end.push_back(inst);
    }
    if (!waited || !std::holds_alternative<Synchronize>(inst->inst)) continue;
    life.end.push_back(inst);
    life.last = i;
    return;
  }
  life.last = never;
}

/// Far beyond every limit sizes stop to count, so that their sum stays in range.
std::int64_t rounded_up(std::int64_t bytes) {
  constexpr std::int64_t alignment = KernelInfo::shared_alignment, enough = std::int64_t{1} << 40;
  return (std::min(bytes, enough) + alignment - 1) / alignment * alignment;
}

/// The lowest place that is free during a life, among tensors in the order of their places.
std::int64_t find_place(std::int64_t bytes, const Life& life,
                        const std::vector<const KernelInfo::SharedTile*>& placed,
                        const std::map<int, Life>& lives) {
  std::int64_t place = 0;
  for (const KernelInfo::SharedTile* other : placed) {
    if (!life.meets(lives.at(other->var.index))) continue;
    if (place + rounded_up(bytes) <= other->place) break;
    place = std::max(place, other->place + rounded_up(other->bytes));
  }
  return place;
}

bool share_bytes(const KernelInfo::SharedTile& a, const KernelInfo::SharedTile& b) {
  return a.place < b.place + b.bytes && b.place < a.place + a.bytes;
}

}  // namespace

void place_shared_tensors(const Kernel& kernel, KernelInfo& info) {
  std::map<int, Life> lives = find_touches(kernel.body);
  for (auto& [var, life] : lives) find_end(kernel.body, life);
  for (const auto& tile : info.shared) lives.try_emplace(tile.var.index, Life{0, never});
  std::vector<const KernelInfo::SharedTile*> placed;  // by place
  for (KernelInfo::SharedTile& tile : info.shared) {
    const Life& life = lives[tile.var.index];
    tile.place = find_place(tile.bytes, life, placed, lives);
    info.shared_footprint = std::max(info.shared_footprint, tile.place + rounded_up(tile.bytes));
    for (const KernelInfo::SharedTile* other : placed) {
      if (!share_bytes(tile, *other)) continue;
      const Life& others = lives[other->var.index];
      const Life& earlier = others.first < life.first ? others : life;
      info.ends_of_lives.insert(earlier.end.begin(), earlier.end.end());
    }
    const auto behind =
        std::upper_bound(placed.begin(), placed.end(), tile.place,
                         [](std::int64_t place, const KernelInfo::SharedTile* other) {
                           return place < other->place;
                         });
    placed.insert(behind, &tile);
  }
}

}  // namespace tilevm::isa
