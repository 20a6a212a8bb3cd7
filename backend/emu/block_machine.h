// A thread block of an emulated launch: its threads as fibres, its shared memory, barriers, warps.
//
// Threads run one at a time, a warp until all of its threads wait, then the next warp. Instructions
// of a warp or of the block wait until all threads have come that take part; the last one executes.
// All must come to the same line of the program: a mismatch is a fault with both lines, not a hang.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/emu/async_copies.h"
#include "backend/emu/emu_fault.h"
#include "backend/emu/emu_options.h"
#include "backend/emu/fibre.h"
#include "backend/emu/lane.h"
#include "backend/emu/memory_map.h"
#include "backend/emu/mma_unit.h"
#include "backend/emu/named_barriers.h"
#include "backend/emu/order_check.h"
#include "backend/emu/stored_bytes.h"
#include "backend/emu/warp_products.h"

namespace tilevm::backend {

/// The code of a kernel, called on each fibre; `arguments` are those of the kernel as 64 bits each.
using EmuEntry = void (*)(const unsigned long long* arguments);

/// What all blocks of a launch share.
struct EmuLaunch {
  const emu::Operations* operations = nullptr;  ///< what threads may ask for
  EmuEntry entry = nullptr;
  std::vector<unsigned long long> arguments;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> cluster{1, 1, 1};  ///< blocks of a cluster along the grid's extents
  unsigned threads = 1;
  std::size_t shared_bytes = 0;      ///< dynamic
  std::size_t barrier_bytes = 0;     ///< bytes of memory barriers
  bool compares_stores = false;      ///< some elements are stored by all threads that hold them
  bool phases_order_stores = false;  ///< whether waits for phases order stores, as barriers do
  MemoryMap memory;
  const std::vector<MmaUnit>* mma = nullptr;      ///< mma instructions of the compiled unit
  const std::vector<WgmmaUnit>* wgmma = nullptr;  ///< wgmma instructions of warp groups
  const MmaModel* model = nullptr;
  EmuOptions options{};

  [[nodiscard]] unsigned cluster_blocks() const { return cluster[0] * cluster[1] * cluster[2]; }
};

class BlockMachine;

/// The blocks of a cluster, by rank, and their barrier. A block without a cluster is one.
class EmuCluster {
 public:
  /// All blocks begin.
  void begin(unsigned threads);
  /// A thread arrives, or ends; the phase is over when all that have not ended have arrived.
  void arrive();
  void leave(bool has_arrived);
  [[nodiscard]] std::uint64_t phase() const { return phase_; }

  std::vector<std::unique_ptr<BlockMachine>> blocks;

 private:
  void end_phase_if_complete();
  unsigned alive_ = 0, arrived_ = 0;
  std::uint64_t phase_ = 0;
};

class BlockMachine {
 public:
  BlockMachine(const EmuLaunch& launch, StackPool& stacks);
  BlockMachine(const BlockMachine&) = delete;
  BlockMachine& operator=(const BlockMachine&) = delete;
  ~BlockMachine();

  /// Begins a block, given by its number, x fastest, and by its rank in its cluster. Error (limit):
  /// no memory for its threads.
  [[nodiscard]] Status begin(std::uint64_t number, EmuCluster& cluster, unsigned rank);

  enum class Outcome : std::uint8_t {
    ended,
    waits,    ///< waits for what another block must do
    faulted,  ///< fault() says why
  };
  /// Runs until no thread can go on.
  [[nodiscard]] Outcome run();
  /// Whether a thread ran in the last run().
  [[nodiscard]] bool advanced() const { return advanced_; }
  [[nodiscard]] bool has_ended() const { return alive_ == 0; }
  [[nodiscard]] const EmuFault& fault() const { return *fault_; }
  /// A fault that says for which value the block waits.
  [[nodiscard]] EmuFault describe_wait() const;

 private:
  friend struct LaneOperations;
  enum class State : std::uint8_t {
    ready,
    waiting,
    waits_for_phase,
    waits_for_value,
    waits_for_cluster,
    ended
  };
  /// Instructions at which threads meet.
  enum class Meeting : std::uint8_t {
    none,
    synchronize,
    named_barrier,
    synchronize_warp,
    from_first,
    shfl_idx_warp,
    elect,
    ldmatrix,
    stmatrix,
    mma,
    wgmma,
    wgmma_group,
  };
  struct Thread {
    Fibre fibre;
    emu::Lane* lane = nullptr;
    State state = State::ended;
    Meeting meeting = Meeting::none;         ///< while it waits
    unsigned line = 0;                       ///< line of the barrier or meeting while it waits
    unsigned barrier = 0, parity = 0;        ///< State::waits_for_phase
    const unsigned char* address = nullptr;  ///< State::waits_for_value
    unsigned value = 0;                      ///< value for State::waits_for_value
    /// The phase of the cluster's barrier at which it has arrived and for which it has not waited.
    std::optional<std::uint64_t> at_cluster;
    std::uint64_t steps = 0;  ///< iterations that it may make besides those of Lane::steps
  };
  /// The operands of an instruction of a warp, as its lanes bring them.
  struct Operands {
    WarpRegisters<const void> a{}, b{};
    WarpRegisters<void> c{};
    WarpExtras extras{};
    std::array<unsigned, warp_size> values{};
    unsigned detail = 0;  ///< the shape of an mma, the kind of a matrix access
    std::array<unsigned* const*, warp_size> d{};  ///< words of an asynchronous product
    std::array<const emu::DotOperands*, warp_size> dot{};
  };
  struct Group {  ///< threads that meet: a warp, or the block at its barrier
    unsigned arrived = 0;
    Meeting meeting = Meeting::none;
    unsigned line = 0;
    unsigned first = 0;  ///< the thread that came first
  };

  static void run_thread(emu::Lane* lane);
  static BlockMachine& of(emu::Lane* lane) { return *static_cast<BlockMachine*>(lane->block); }
  [[nodiscard]] unsigned first_of(unsigned warp) const { return warp * warp_size; }
  [[nodiscard]] unsigned lanes_of(unsigned warp) const;

  [[nodiscard]] unsigned char* shared_begin() const;
  void end_thread(Thread& thread);
  bool run_warp(unsigned warp);
  [[nodiscard]] bool can_run(Thread& thread);
  /// Gives a thread some of the iterations that it may make.
  static void grant_steps(Thread& thread);
  void shuffle(std::vector<unsigned>& order);
  [[nodiscard]] Outcome end();
  [[nodiscard]] Outcome stuck();
  [[nodiscard]] std::string describe_waiting() const;

  /// A thread comes to an instruction for which `count` threads meet. True for the last one, which
  /// then calls release; the others return when it has.
  bool meet(emu::Lane* lane, Group& group, unsigned count, Meeting meeting, unsigned line);
  bool meet_warp(emu::Lane* lane, Meeting meeting, unsigned line);
  void release(Group& group, unsigned first, unsigned count);
  void release_warp(emu::Lane* lane);
  void come_to_barrier(emu::Lane* lane, unsigned barrier, unsigned threads, bool waits,
                       unsigned line);
  void wait(Thread& thread, State state, Meeting meeting, unsigned line);
  void move_matrices(unsigned warp, int count, bool transposed, bool stores);
  /// Calls f(thread, word of this thread, element in memory) for the halves of all words.
  template <class F>
  void for_each_half(unsigned warp, int count, bool transposed, F&& f);
  /// Ends the launch if a thread stores other bits than another one stored in the same memory.
  void compare_store(emu::Lane* lane, unsigned thread, const unsigned char* address,
                     const unsigned char* bytes, const unsigned char* masks, unsigned count,
                     unsigned line);
  void compare_matrices(emu::Lane* lane, int count, bool transposed, unsigned line);
  /// Records why the launch ends and leaves the thread's code by an exception.
  [[noreturn]] void stop(emu::Lane* lane, EmuFault::Kind kind, std::string message, unsigned line,
                         const void* earlier = nullptr);
  void check_access(emu::Lane* lane, const void* address, std::size_t bytes, std::size_t alignment,
                    unsigned line);
  void check_shared(emu::Lane* lane, const void* address, std::size_t bytes, unsigned line);
  [[nodiscard]] std::string describe(const void* address) const;
  // The order of events (block_order.cc).
  /// All threads have come to a named barrier: these go on, and `last` if it waits, too.
  void note_passing(unsigned barrier, const std::vector<unsigned>& waiting, const emu::Lane* last);
  /// Ends the launch if nothing orders an event after an earlier one.
  void check_order(emu::Lane* lane, OrderCheck::Problem problem, unsigned line);

  const EmuLaunch& launch_;
  StackPool& stacks_;
  std::vector<Thread> threads_;
  std::vector<unsigned> warp_order_, lane_order_;
  std::unique_ptr<unsigned char[]> shared_;
  std::vector<Group> warps_;
  std::vector<Operands> operands_;  ///< operands of each warp
  Group barrier_;
  NamedBarriers named_barriers_;
  unsigned alive_ = 0;
  bool advanced_ = false;
  unsigned long long for_block_ = 0;
  StoredBytes stored_;
  ThreadCopies copies_;
  ThreadCopies stores_;  ///< copies to global memory by tensor maps
  Phases phases_;
  WarpProducts products_;
  std::optional<OrderCheck> order_;  ///< if the launch checks it
  SeededNumbers numbers_;
  std::array<unsigned, 3> index_{};
  EmuCluster* cluster_ = nullptr;
  unsigned rank_ = 0;  ///< rank in the cluster
  std::optional<EmuFault> fault_;
};

}  // namespace tilevm::backend
