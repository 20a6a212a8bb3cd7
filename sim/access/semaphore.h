// Semaphores and counters: instructions on one element of global memory that order blocks.
//
// They take effect in turns (block_scheduler.h): during a turn no other block runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "sim/access/global_access.h"
#include "sim/state/scalar_code.h"
#include "sim/state/state.h"

namespace tilevm::sim {

inline constexpr unsigned semaphore_bits = 32;

/// An instruction on a semaphore, prepared.
struct SemaphoreAccess {
  GlobalAccess element;  ///< a tile without dimensions
  ScalarCode value;
  std::optional<ScalarCode> compare;  ///< the value without which an exchange stores nothing
  isa::Sync sync = isa::Sync::none;
};

[[nodiscard]] std::uint32_t load_semaphore(const MemoryAddress& address, const Memory& memory);

/// What the turns of a launch did.
class TurnLog {
 public:
  struct Store {
    std::uint64_t block = 0;      ///< rank of the block in the launch order
    std::uint32_t statement = 0;  ///< index in Plan::memory_statements
    std::uint32_t value = 0;      ///< the element's new value
  };
  void stored(const MemoryAddress& address, const Store& store) { stores_[address] = store; }
  /// The last store to an element; nothing if there was none.
  [[nodiscard]] std::optional<Store> last_store(const MemoryAddress& address) const {
    const auto found = stores_.find(address);
    return found == stores_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Whether an element was reached through this view with another index before: two semaphores are
  /// one. Gives that index.
  [[nodiscard]] std::optional<Coordinates> other_index(std::size_t view,
                                                       const MemoryAddress& address,
                                                       const Coordinates& index) {
    const Coordinates& first = indices_.try_emplace({view, address}, index).first->second;
    return first == index ? std::nullopt : std::optional(first);
  }

  /// Records the value that an atomic instruction returned to a block in a turn. A replay returns
  /// it again.
  void gave(std::uint64_t block, std::uint32_t turn, std::uint64_t scalar) {
    given_[{block, turn}] = scalar;
  }
  /// A race may be found before the block's turn was taken. A replay ends after that turn, so
  /// nothing uses its value, which is then 0.
  [[nodiscard]] std::uint64_t given(std::uint64_t block, std::uint32_t turn) const {
    const auto found = given_.find({block, turn});
    return found == given_.end() ? 0 : found->second;
  }

 private:
  std::map<MemoryAddress, Store> stores_;
  std::map<std::pair<std::size_t, MemoryAddress>, Coordinates> indices_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> given_;
};

}  // namespace tilevm::sim
