// Whether barriers, phases of mbarriers and proxy fences order what a block does with shared
// memory.
//
// An emulated block takes one order of its threads. This check finds what goes wrong in another
// one: it keeps a vector clock for each warp, of the segments of all warps and of the phases of all
// mbarriers that have happened before, and for each byte of shared memory the accesses that later
// ones must be ordered after. The rules are those of the PTX memory model:
//
//   a barrier of the block, a named barrier      orders what arrived before it and what waited at
//   it an arrival at an mbarrier and a wait         order what the arriving thread had seen a phase
//   that was waited for                  its bulk copies are complete a bulk copy writes at any
//   time between its issue and its phase,
//                                                through the async proxy
//   fence.proxy.async                            lets later bulk copies see stores: of the thread
//   that
//                                                executes it, and of others that it is ordered
//                                                after
//
// A clock counts warps, not threads: what threads of one warp do is taken to be in the order of the
// text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilevm::backend {

/// Two events that nothing orders.
struct OrderProblem {
  std::string message;            ///< text without the lines
  const void* earlier = nullptr;  ///< code of the earlier event; null: unknown
};

class OrderCheck {
 public:
  enum class Touch : std::uint8_t { read, write, update };  ///< an update is atomic

  OrderCheck(unsigned threads, std::size_t shared_bytes);
  /// A new block begins.
  void clear();

  using Problem = std::optional<OrderProblem>;
  /// A thread touches bytes of shared memory; `site` is the address of the code.
  [[nodiscard]] Problem touch(unsigned thread, std::size_t at, std::size_t bytes, Touch touch,
                              const void* site);
  /// A copy in pieces is issued by a thread, and is complete for that thread.
  [[nodiscard]] Problem begin_piece(unsigned thread, std::size_t at, std::size_t bytes,
                                    const void* site);
  void commit_pieces(unsigned thread);
  void wait_for_pieces(unsigned thread, std::size_t pending);

  /// All warps met at a barrier of the block.
  void synchronize();
  /// A warp comes to a named barrier.
  [[nodiscard]] Problem arrive(unsigned warp, unsigned barrier);
  /// All have come, and those that wait go on.
  void complete(unsigned barrier, const std::vector<unsigned>& waiting_warps);
  /// A thread executes fence.proxy.async.
  void fence(unsigned thread);

  void make_mbarrier(unsigned thread, unsigned barrier, const void* site);
  [[nodiscard]] Problem arrive_expecting(unsigned thread, unsigned barrier);
  /// A thread begins to wait for a phase.
  [[nodiscard]] Problem begin_wait(unsigned thread, unsigned barrier, unsigned phase);
  /// The phase is over.
  void end_wait(unsigned thread, unsigned barrier, unsigned phase);
  /// A bulk copy fills shared memory, and is counted by a phase of an mbarrier.
  [[nodiscard]] Problem begin_bulk(unsigned thread, std::size_t at, std::size_t bytes,
                                   unsigned barrier, unsigned phase, const void* site);
  /// The block ends.
  [[nodiscard]] Problem end() const;

 private:
  using Time = std::uint32_t;
  /// A count for each warp, then for each mbarrier; a missing one is 0.
  class Clock {
   public:
    [[nodiscard]] Time operator[](std::size_t party) const {
      return party < times_.size() ? times_[party] : 0;
    }
    void raise(std::size_t party, Time time);
    void join(const Clock& other);

   private:
    std::vector<Time> times_;
  };
  /// What a warp, or an object that it passes on, is ordered after: everything, and of that what
  /// bulk copies see.
  struct View {
    Clock all, visible;
    void join(const View& other);
  };
  /// Where code is: its distance from the first that was seen, so that it takes 32 bits.
  using Site = std::int32_t;
  struct Byte {
    enum class Kind : std::uint8_t { untouched, store, update, piece, bulk };
    Kind kind = Kind::untouched;
    std::uint8_t readers = 0;         ///< number of entries of `reader` in use
    std::uint16_t thread = 0;         ///< thread that wrote
    std::uint8_t reader[2] = {0, 0};  ///< warps that read since, the latest first
    Time written = 0;                 ///< time of its warp; of a bulk copy, phase + 1
    Time read[2] = {0, 0};
    /// Number of fences of the thread before the write; for a bulk copy, the mbarrier.
    std::uint32_t fences = 0;
    Site site = 0, read_site = 0;
  };
  struct LastRead {
    Time time = 0;
    Site site = 0;
  };
  struct Mbarrier {
    std::size_t party = 0;
    unsigned maker = 0;  ///< thread
    Time made = 0;
    std::uint32_t fences = 0;  ///< number of fences of the maker before
    const void* site = nullptr;
    std::uint32_t arrivals = 0;  ///< so many phases have their arrival
    std::vector<View> released;  ///< views released, by phase
    /// Last phase that each warp waited for, and when.
    std::map<unsigned, std::pair<unsigned, Time>> waited;
  };
  struct Named {
    View arrived, last;
    std::vector<Time> last_arrivals;  ///< last arrival of each warp; 0: it did not come
    std::vector<Time> arrivals;
  };
  struct Piece {
    std::size_t at, bytes;
    std::uint64_t group;
  };
  struct OfThread {
    std::vector<Time> fences;  ///< time of its warp at each fence
    std::vector<Piece> pieces;
    std::uint64_t groups = 0;
  };

  [[nodiscard]] Site number_of(const void* site) {
    if (first_site_ == nullptr) first_site_ = static_cast<const char*>(site);
    return static_cast<Site>(static_cast<const char*>(site) - first_site_);
  }
  [[nodiscard]] const void* code_at(Site site) const {
    return first_site_ == nullptr ? nullptr : first_site_ + site;
  }
  [[nodiscard]] static unsigned warp_of(unsigned thread) { return thread / 32; }
  [[nodiscard]] std::size_t granule_reads(std::size_t at, unsigned warp) const {
    return at / granule_bytes * warps_ + warp;
  }
  [[nodiscard]] Time now(unsigned warp) const { return views_[warp].all[warp]; }
  void tick(unsigned warp) { views_[warp].all.raise(warp, now(warp) + 1); }
  /// What an arrival of one thread passes on: of its own warp, what came before its last meeting.
  [[nodiscard]] View released_by(unsigned warp) const;
  [[nodiscard]] bool is_after_write(unsigned warp, const Byte& byte) const;
  [[nodiscard]] bool is_visible_to_copies(unsigned warp, unsigned writer, Time written,
                                          std::uint32_t fences) const;
  [[nodiscard]] OrderProblem unordered_write(unsigned warp, const Byte& byte, std::size_t at,
                                             std::string_view what) const;
  [[nodiscard]] Problem check_use(unsigned warp, const Mbarrier& barrier) const;
  /// Whether a byte may be touched by a warp, and overwritten by a bulk copy that a warp issues.
  [[nodiscard]] Problem check_touch(unsigned warp, const Byte& byte, std::size_t at,
                                    Touch touch) const;
  [[nodiscard]] Problem check_overwritten(unsigned warp, const Byte& byte, std::size_t at) const;
  void note_read(Byte& byte, unsigned warp, Site site);
  void note_write(std::size_t at, std::size_t bytes, Byte::Kind kind, unsigned thread, Site site);
  void write(std::size_t at, std::size_t bytes, const Byte& written);

  /// The knowledge of a byte.
  [[nodiscard]] const Byte& byte_at(std::size_t at) const {
    return bytes_[alike_[at / granule_bytes] != 0 ? at / granule_bytes * granule_bytes : at];
  }
  /// Calls f with the first of each run of bytes that are alike, and its place, until f returns
  /// false: whole granules, or single bytes.
  template <class F>
  void for_each_run(std::size_t at, std::size_t bytes, F&& f);

  static constexpr std::size_t granule_bytes = 16;  ///< bulk copies touch all of one

  unsigned warps_;
  const char* first_site_ = nullptr;
  std::vector<View> views_;  ///< views by warp
  std::vector<OfThread> threads_;
  /// By byte. Most accesses are of whole granules: of one whose bytes are alike, the first counts.
  std::vector<Byte> bytes_;
  std::vector<std::uint8_t> alike_;  ///< whether all bytes of a granule are alike, by granule
  std::vector<LastRead> reads_;      ///< last reads by granule and warp
  std::map<unsigned, Mbarrier> mbarriers_;
  std::map<unsigned, Named> named_;
};

}  // namespace tilevm::backend
