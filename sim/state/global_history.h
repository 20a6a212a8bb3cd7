// Which elements of global memory a block touched, by buffer (sim/checks/global_races.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "isa/base/check.h"
#include "sim/state/access_record.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/intervals.h"
#include "sim/tiles/tile_origin.h"

namespace tilevm::sim {

struct GlobalAccess;

/// A copy reads from an unknown thread. `lock` and `release` are the load and the store of an
/// instruction that orders blocks; only a replay checks them.
enum class GlobalUse : std::uint8_t { load, store, combine, copy, lock, release };
[[nodiscard]] constexpr AccessKind kind_of(GlobalUse use) {
  switch (use) {
    case GlobalUse::store:
    case GlobalUse::release:
      return AccessKind::write;
    case GlobalUse::combine:
      return AccessKind::combine;
    case GlobalUse::load:
    case GlobalUse::copy:
    case GlobalUse::lock:
      return AccessKind::read;
  }
  TILEVM_NO_ENUMERATOR();
}
/// Whether memory changes.
[[nodiscard]] constexpr bool writes(GlobalUse use) { return kind_of(use) != AccessKind::read; }
/// Whether the access belongs to an instruction that orders blocks.
[[nodiscard]] constexpr bool orders_blocks(GlobalUse use) {
  switch (use) {
    case GlobalUse::lock:
    case GlobalUse::release:
      return true;
    case GlobalUse::load:
    case GlobalUse::store:
    case GlobalUse::combine:
    case GlobalUse::copy:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

/// A tile at an origin in a view.
struct GlobalFootprint {
  const GlobalAccess* access = nullptr;
  GlobalView view;
  TileOrigin origin{};
  GlobalUse use = GlobalUse::load;
};

/// What a block combined in one way.
struct CombinedBits {
  Combination combination = 0;
  IntervalSet bits;

  [[nodiscard]] AccessType type() const { return {AccessKind::combine, combination}; }
};

/// What a block touched of one buffer.
struct TouchedBits {
  IntervalSet read, written;
  std::vector<CombinedBits> combined;  ///< not empty, and each combination once

  [[nodiscard]] IntervalSet& of(const AccessType& type);
  [[nodiscard]] bool empty() const { return read.empty() && combined.empty() && written.empty(); }
  [[nodiscard]] std::size_t size() const;
  void add(const TouchedBits& other);
  void clear();
};

/// What a block touched of one buffer since a barrier.
struct BufferHistory {
  TouchedBits touched;
  std::vector<GlobalFootprint> recent;
  /// By granule, once intervals do not suffice. At most max_marks granules are marked; races in
  /// others are not found.
  std::unordered_map<std::uint64_t, AccessRecord> marks;
  bool marking = false;
  std::vector<GlobalFootprint> replicated;  ///< stores of replicas

  [[nodiscard]] bool empty() const { return touched.empty(); }
  void clear();
};
inline constexpr std::size_t max_marks = std::size_t{1} << 22;

/// By buffer; those that are not tracked stay empty.
struct GlobalHistory {
  std::vector<BufferHistory> since_barrier;
  std::vector<BufferHistory> without;  ///< histories since the barrier before Without::barrier
  /// Bits touched since the block began, or since publish_accesses.
  std::vector<TouchedBits> block;
};

/// Receives the access histories of blocks.
class AccessSink {
 public:
  virtual ~AccessSink() = default;
  virtual void note(std::size_t buffer, std::uint64_t block, const TouchedBits& touched) = 0;
  /// The bits of a buffer that any block has written or combined, in whole granules; ascending.
  [[nodiscard]] virtual std::vector<Interval> written(std::size_t buffer) const = 0;
};

/// How a launch uses a buffer, from the kernel's text.
struct BufferUse {
  bool read = false, written = false;
};

}  // namespace tilevm::sim
