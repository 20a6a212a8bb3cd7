// The shared memory of a block, as a value: its bytes, the copies in flight, and who touched what
// since the last barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/base/source.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"

namespace tilevm::sim {

inline constexpr std::size_t max_rank = isa::RegisterLayout::max_rank;

/// One number a dimension; entries beyond the rank are unused.
using Numbers = std::array<std::int64_t, max_rank>;

/// A view of global memory after its extents and strides were evaluated. Extents lie in
/// 0 .. 2^40, strides (in elements) in -2^48 .. 2^48.
struct GlobalView {
  int buffer = -1;  ///< index into Memory
  int rank = 0;
  Numbers extents{}, strides{};
  /// Where elements lie, instead of strides, for layouts with several modes or a swizzle.
  const isa::MemoryLayout* layout = nullptr;
};

struct CopyPlan;
struct SharedAccess;

/// An asynchronous copy between its issue and the barrier after its retirement. Its elements were
/// read when it was issued (nobody may write them since) and reach shared memory when it retires,
/// the latest time that is allowed.
struct PendingCopy {
  enum class Stage : std::uint8_t { issued, committed, retired };
  const CopyPlan* plan = nullptr;
  Stage stage = Stage::issued;
  std::uint64_t group = 0;  ///< from 1 on, once committed
  GlobalView source;
  Numbers source_origin{}, shared_origin{};
  std::uint64_t low = 0, high = 0;  ///< granules that it fills lie in [low, high)
  std::vector<std::uint8_t> data;   ///< the tile as a dense bit stream
};

/// Who touched a granule of shared memory since the last barrier: the first thread, and one more
/// that differs from it, if there is one.
struct Touch {
  static constexpr std::uint16_t nobody = 0xffff;
  std::uint32_t epoch = 0;  ///< of SharedMemory; an older one means nobody
  std::array<std::uint16_t, 2> writers{nobody, nobody}, readers{nobody, nobody};
  std::array<std::uint32_t, 2> reading{};  ///< the statements (Plan::shared_statements) of readers
  std::uint32_t writing = 0;               ///< the statement of the writers
};

/// A tile that was touched since the last barrier and is not marked in SharedMemory::touches yet:
/// as long as nothing else comes near it, that is not needed.
struct RecentTouch {
  const SharedAccess* access = nullptr;
  Numbers origin{};
  bool writes = false;
  std::uint64_t low = 0, high = 0;  ///< its granules lie in [low, high)
};

/// The last CopyAsyncWaitGroup that ran.
struct LastWait {
  Span span{};
  std::uint64_t pending = 0;
  std::uint64_t groups = 0;  ///< that were committed then; 0 also if none ran
};

struct SharedMemory {
  std::vector<std::uint8_t> bytes;
  std::vector<PendingCopy> copies;  ///< in the order of issue
  std::size_t pending_bytes = 0;    ///< of their data
  std::uint64_t groups = 0;         ///< that were committed
  LastWait last_wait;
  std::uint32_t epoch = 1;  ///< counts barriers
  /// By granule (Plan::granule_shift); empty if races are not checked.
  std::vector<Touch> touches;
  std::vector<RecentTouch> recent;
  bool marks_touches = false;  ///< since the last barrier: `recent` was not enough
  /// By granule: whether a copy to it is pending. Empty if that is not checked.
  std::vector<bool> in_flight;
};

}  // namespace tilevm::sim
