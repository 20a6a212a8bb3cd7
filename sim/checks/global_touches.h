// Which elements of global memory a block touched, so that races are found: between its threads
// since the last barrier, and with other blocks at its end (launch_shadow.h).
//
// Only buffers that the kernel writes are looked at. What was touched is a set of intervals of
// bits; threads are looked at only where intervals meet that are not the same tile in the same
// place.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "isa/base/check.h"
#include "sim/state/shared_state.h"
#include "sim/state/touch.h"
#include "sim/tiles/intervals.h"

namespace tilevm::sim {

class Context;
struct GlobalAccess;

/// A copy reads from threads that nobody knows. `lock` and `release` are the load and the store of
/// an instruction that orders blocks; only a replay asks for them.
enum class GlobalUse : std::uint8_t { load, store, copy, lock, release };
[[nodiscard]] constexpr bool writes(GlobalUse use) {
  switch (use) {
    case GlobalUse::store:
    case GlobalUse::release:
      return true;
    case GlobalUse::load:
    case GlobalUse::copy:
    case GlobalUse::lock:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}
/// Whether it belongs to an instruction that orders blocks.
[[nodiscard]] constexpr bool orders_blocks(GlobalUse use) {
  switch (use) {
    case GlobalUse::lock:
    case GlobalUse::release:
      return true;
    case GlobalUse::load:
    case GlobalUse::store:
    case GlobalUse::copy:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

/// A tile at a place in a view.
struct GlobalFootprint {
  const GlobalAccess* access = nullptr;
  GlobalView view;
  Numbers origin{};
  GlobalUse use = GlobalUse::load;
};

/// Where the elements of a footprint lie that exist: ascending and disjoint.
struct Pieces {
  std::vector<Interval> bits;
  bool overlap = false;  ///< two elements that are no replicas share a place
};

/// What a block touched of one buffer since a barrier.
struct BufferTouches {
  IntervalSet read, written;
  std::vector<GlobalFootprint> recent;
  /// By granule, once intervals were not enough: more granules than max_marks are not marked, and
  /// races for them are not found.
  std::unordered_map<std::uint64_t, Touch> marks;
  bool marking = false;

  [[nodiscard]] bool empty() const { return read.empty() && written.empty(); }
  void clear();
};
inline constexpr std::size_t max_marks = std::size_t{1} << 22;

/// By buffer; those that are not tracked stay empty.
struct GlobalTouches {
  std::vector<BufferTouches> since_barrier;
  std::vector<BufferTouches> without;  ///< since the barrier before Without::barrier
  struct Block {
    IntervalSet read, written;
  };
  std::vector<Block> block;  ///< since the block began, or since it was handed on
};

/// Is told what blocks touched.
class TouchSink {
 public:
  virtual ~TouchSink() = default;
  virtual void note(std::size_t buffer, std::uint64_t block, const IntervalSet& read,
                    const IntervalSet& written) = 0;
};

/// How a launch uses a buffer, from the kernel's text.
struct BufferUse {
  bool read = false, written = false;
};

/// Takes note of an access to a tracked buffer; false after a fault: threads race.
[[nodiscard]] bool check_global(const GlobalFootprint& footprint, const Pieces& pieces,
                                Context& context);

/// Whether the footprint races with what a set holds; if not, it is added (a copy is not).
[[nodiscard]] bool meets_touches(BufferTouches& touches, const GlobalFootprint& footprint,
                                 const Pieces& pieces, const Context& context);

/// All threads of the block meet.
void forget_touches(GlobalTouches& touches);
/// The block has ended, or other blocks may follow: they are compared with what it touched.
void hand_on_touches(Context& context);

}  // namespace tilevm::sim
