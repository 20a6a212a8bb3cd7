// Asynchronous copies of an emulated block: those of single threads (cp.async) in groups, and those
// in bulk with memory barriers (cp.async.bulk, mbarrier). The data arrives as EmuOptions::copies
// says.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "backend/emu/emu_options.h"
#include "backend/emu/mbarrier.h"
#include "backend/emu/tensor_box.h"

namespace tilevm::backend {

/// Bytes under way.
struct CopyUnderWay {
  unsigned char* to;
  const unsigned char* from;
  std::size_t bytes;  ///< bytes that arrive at the destination ..
  std::size_t valid;  ///< .. of which so many come from the source; zeros follow
  /// A box that a tensor map moves; null for a copy of bytes side by side.
  std::shared_ptr<const TensorBox> box{};

  void land() const;
};

/// The copies of the block's threads.
class ThreadCopies {
 public:
  ThreadCopies(unsigned threads, EmuOptions::Landing landing) : landing_(landing), all_(threads) {}
  void clear();
  void begin(unsigned thread, const CopyUnderWay& copy, SeededNumbers& numbers);
  void commit(unsigned thread, SeededNumbers& numbers);
  /// Lands all that a thread began, in groups or not.
  void finish(unsigned thread);
  /// Lands all but the latest `pending` groups.
  void wait(unsigned thread, unsigned pending);
  /// Lands some of all that is under way, where the moment is seeded.
  void let_some_land(SeededNumbers& numbers);

 private:
  struct Grouped {
    std::uint64_t group;
    CopyUnderWay copy;
  };
  struct OfThread {
    std::deque<Grouped> under_way;
    std::uint64_t made = 0;  ///< groups
  };
  EmuOptions::Landing landing_;
  std::vector<OfThread> all_;
  std::size_t count_ = 0;  ///< number of copies in flight
};

/// The memory barriers of a block, by their address in shared memory, and the copies they count.
class Phases {
 public:
  explicit Phases(EmuOptions::Landing landing) : landing_(landing) {}
  void clear() { all_.clear(); }
  /// Each phase takes `arrivals`.
  void make(unsigned barrier, unsigned arrivals = 1);
  [[nodiscard]] bool knows(unsigned barrier) const { return all_.contains(barrier); }
  /// An arrival at the current phase.
  [[nodiscard]] Mbarrier::Trap arrive(unsigned barrier) { return all_.at(barrier).state.arrive(); }
  /// An arrival at the current phase, which from then on also waits for so many bytes.
  [[nodiscard]] Mbarrier::Trap expect(unsigned barrier, unsigned bytes);
  void begin(unsigned barrier, const CopyUnderWay& copy, SeededNumbers& numbers);
  /// Whether the phase of this parity is over. Where data comes when it is waited for, it comes
  /// now.
  [[nodiscard]] bool is_over(unsigned barrier, unsigned parity);
  /// Lands some of all that is under way, where the moment is seeded.
  void let_some_land(SeededNumbers& numbers);

 private:
  struct Barrier {
    Mbarrier state;
    std::vector<CopyUnderWay> under_way;
  };
  static void land(Barrier& barrier, std::size_t index);
  EmuOptions::Landing landing_;
  std::map<unsigned, Barrier> all_;
};

}  // namespace tilevm::backend
