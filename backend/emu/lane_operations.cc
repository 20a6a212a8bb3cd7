// More than 400 lines: an operation for each kind of lane instruction.
#include "backend/emu/lane_operations.h"

#include <fmt/format.h>

#include "backend/emu/approximations.h"
#include "backend/emu/block_machine.h"
#include "backend/emu/tensor_box.h"

namespace tilevm::backend {

/// May touch a block's inside; each does what one instruction of a GPU does.
struct LaneOperations {
  using Meeting = BlockMachine::Meeting;
  using State = BlockMachine::State;

  static void trap(emu::Lane* lane) {
    BlockMachine::of(lane).stop(lane, EmuFault::Kind::trap,
                                "the kernel stopped: a division by zero, a step of zero or a "
                                "negative extent",
                                0);
  }

  /// A thread gets its steps in small numbers, so that a launch that must end does.
  static void out_of_steps(emu::Lane* lane) {
    BlockMachine& block = BlockMachine::of(lane);
    BlockMachine::Thread& thread = block.threads_[lane->thread];
    if (block.launch_.options.is_stopped()) {
      block.stop(lane, EmuFault::Kind::step_limit, "the launch was stopped", 0);
    }
    if (thread.steps > 0) {
      block.grant_steps(thread);
      --lane->steps;  // the one that asked
      return;
    }
    block.stop(
        lane, EmuFault::Kind::step_limit,
        fmt::format("a thread made more than {} iterations of loops; --max-steps sets the limit",
                    block.launch_.options.max_steps),
        0);
  }

  static void check(emu::Lane* lane, const void* address, unsigned bytes, bool) {
    BlockMachine::of(lane).check_access(lane, address, bytes, bytes, 0);
  }

  static void touched(emu::Lane* lane, const unsigned char* address, unsigned bytes,
                      emu::Touch touch) {
    note_touch(lane, address, bytes, touch, __builtin_return_address(0), 0);
  }

  static void note_touch(emu::Lane* lane, const unsigned char* address, std::size_t bytes,
                         emu::Touch touch, const void* site, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    if (!block.order_) return;
    const auto at = static_cast<std::size_t>(address - lane->shared.begin);
    block.check_order(lane, block.order_->touch(lane->thread, at, bytes, touch_of(touch), site),
                      line);
  }
  static OrderCheck::Touch touch_of(emu::Touch touch) {
    switch (touch) {
      case emu::Touch::read:
        return OrderCheck::Touch::read;
      case emu::Touch::write:
        return OrderCheck::Touch::write;
      case emu::Touch::update:
        break;
    }
    return OrderCheck::Touch::update;
  }

  static void fence_proxy(emu::Lane* lane) {
    BlockMachine& block = BlockMachine::of(lane);
    if (block.order_) block.order_->fence(lane->thread);
  }

  static void synchronize(emu::Lane* lane, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    if (!block.meet(lane, block.barrier_, block.launch_.threads, Meeting::synchronize, line))
      return;
    block.copies_.let_some_land(block.numbers_);
    block.stores_.let_some_land(block.numbers_);
    block.phases_.let_some_land(block.numbers_);
    block.products_.let_some_land(block.numbers_);
    block.stored_.clear();
    if (block.order_) block.order_->synchronize();
    block.release(block.barrier_, 0, block.launch_.threads);
  }

  static void synchronize_warp(emu::Lane* lane, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    if (block.meet_warp(lane, Meeting::synchronize_warp, line)) block.release_warp(lane);
  }

  static void named_barrier(emu::Lane* lane, unsigned number, unsigned threads, bool waits,
                            unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    // The instruction is aligned: the threads of a warp execute it together.
    if (block.meet_warp(lane, Meeting::named_barrier, line)) {
      if (block.order_) {
        block.check_order(lane, block.order_->arrive(lane->thread / warp_size, number), line);
      }
      block.release_warp(lane);
    }
    block.come_to_barrier(lane, number, threads, waits, line);
  }

  static unsigned from_first(emu::Lane* lane, unsigned value, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    const unsigned warp = lane->thread / warp_size;
    block.operands_[warp].values[lane->thread % warp_size] = value;
    if (block.meet_warp(lane, Meeting::from_first, line)) block.release_warp(lane);
    const unsigned result = block.operands_[warp].values[0];
    // Lanes meet once more, so that none brings its next value before all have this one.
    if (block.meet_warp(lane, Meeting::from_first, line)) block.release_warp(lane);
    return result;
  }

  /// The lanes meet once more, so that none brings its next value before all have this one.
  static unsigned shfl_idx_warp(emu::Lane* lane, unsigned value, unsigned source, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    const unsigned warp = lane->thread / warp_size;
    block.operands_[warp].values[lane->thread % warp_size] = value;
    if (block.meet_warp(lane, Meeting::shfl_idx_warp, line)) block.release_warp(lane);
    const unsigned result = block.operands_[warp].values[source % warp_size];
    if (block.meet_warp(lane, Meeting::shfl_idx_warp, line)) block.release_warp(lane);
    return result;
  }

  static bool elect(emu::Lane* lane, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    if (block.meet_warp(lane, Meeting::elect, line)) block.release_warp(lane);
    return lane->thread % warp_size == 0;
  }

  static void move_matrices(emu::Lane* lane, unsigned* words, const unsigned char* row, int count,
                            bool transposed, bool stores, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    const unsigned warp = lane->thread / warp_size, number = lane->thread % warp_size;
    if (number < 8 * static_cast<unsigned>(count)) {
      if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) {
        block.stop(
            lane, EmuFault::Kind::memory,
            fmt::format("a row of a matrix is not at a multiple of 16: {}", block.describe(row)),
            line);
      }
      block.check_shared(lane, row, 16, line);
      note_touch(lane, row, 16, stores ? emu::Touch::write : emu::Touch::read,
                 __builtin_return_address(0), line);
    }
    auto& operands = block.operands_[warp];
    operands.a[number] = row;
    operands.c[number] = words;
    if (!block.meet_warp(lane, stores ? Meeting::stmatrix : Meeting::ldmatrix, line)) {
      return;
    }
    block.move_matrices(warp, count, transposed, stores);
    block.release_warp(lane);
    if (stores && lane->compares_stores) block.compare_matrices(lane, count, transposed, line);
  }

  static void ldmatrix(emu::Lane* lane, unsigned* words, const unsigned char* row, int count,
                       bool transposed, unsigned line) {
    move_matrices(lane, words, row, count, transposed, false, line);
  }

  static void stmatrix(emu::Lane* lane, unsigned char* row, const unsigned* words, int count,
                       bool transposed, unsigned line) {
    move_matrices(lane, const_cast<unsigned*>(words), row, count, transposed, true, line);
  }

  static void mma(emu::Lane* lane, unsigned shape, void* c, const void* a, const void* b,
                  unsigned line) {
    run_mma(lane, shape, c, a, b, line);
  }

  static void mma_scaled(emu::Lane* lane, unsigned shape, void* c, const void* a, const void* b,
                         const unsigned* a_scales, const unsigned* b_scales, unsigned line) {
    WarpExtras& extras = extras_of(lane);
    extras.a_scales[lane->thread % warp_size] = a_scales;
    extras.b_scales[lane->thread % warp_size] = b_scales;
    run_mma(lane, shape, c, a, b, line);
  }

  static void mma_sparse(emu::Lane* lane, unsigned shape, void* c, const void* a, const void* b,
                         const unsigned* places, int selector, unsigned line) {
    WarpExtras& extras = extras_of(lane);
    extras.places[lane->thread % warp_size] = places;
    extras.selector = selector;
    run_mma(lane, shape, c, a, b, line);
  }

  /// What the lanes of a thread's warp bring besides a, b and c.
  static WarpExtras& extras_of(emu::Lane* lane) {
    return BlockMachine::of(lane).operands_[lane->thread / warp_size].extras;
  }

  /// Brings a lane to a tensor-core instruction, which must be the one of all lanes of its warp.
  /// True in the lane that comes last and runs it.
  static bool meet_at_product(emu::Lane* lane, Meeting product, unsigned shape, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    const unsigned warp = lane->thread / warp_size;
    auto& operands = block.operands_[warp];
    if (block.warps_[warp].arrived > 0 && operands.detail != shape) {
      block.stop(lane, EmuFault::Kind::divergence,
                 fmt::format("thread {} is at another tensor-core instruction than thread {}",
                             lane->thread, block.warps_[warp].first),
                 line);
    }
    operands.detail = shape;
    return block.meet_warp(lane, product, line);
  }

  static void run_mma(emu::Lane* lane, unsigned shape, void* c, const void* a, const void* b,
                      unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    const unsigned warp = lane->thread / warp_size, number = lane->thread % warp_size;
    auto& operands = block.operands_[warp];
    operands.a[number] = a;
    operands.b[number] = b;
    operands.c[number] = c;
    if (!meet_at_product(lane, Meeting::mma, shape, line)) return;
    (*block.launch_.mma)[shape].run(*block.launch_.model, operands.a, operands.b, operands.c,
                                    operands.extras);
    block.release_warp(lane);
  }

  /// The warp's part of a product: its 16 rows, which land on their own.
  static void dot_async(emu::Lane* lane, unsigned shape, unsigned* const* d,
                        const emu::DotOperands& operands, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    const unsigned warp = lane->thread / warp_size, number = lane->thread % warp_size;
    auto& own = block.operands_[warp];
    own.d[number] = d;
    own.dot[number] = &operands;
    if (!meet_at_product(lane, Meeting::wgmma, shape, line)) return;
    const WgmmaUnit& unit = (*block.launch_.wgmma)[shape];
    WarpProduct product(unit, *block.launch_.model, warp, {lane->shared.begin, lane->barriers},
                        own.dot, own.d);
    if (const auto outside = product.find_outside()) {
      block.stop(lane, EmuFault::Kind::memory,
                 fmt::format("a matrix descriptor names byte {} of shared memory, which has {}",
                             *outside, lane->barriers),
                 line);
    }
    block.products_.begin(warp, std::move(product), block.numbers_);
    block.release_warp(lane);
  }

  static void dot_commit(emu::Lane* lane, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    if (!block.meet_warp(lane, Meeting::wgmma_group, line)) return;
    block.products_.commit(lane->thread / warp_size, block.numbers_);
    block.release_warp(lane);
  }

  static void dot_wait(emu::Lane* lane, unsigned pending, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    if (!block.meet_warp(lane, Meeting::wgmma_group, line)) return;
    block.products_.wait(lane->thread / warp_size, pending);
    block.release_warp(lane);
  }

  static void cp_async(emu::Lane* lane, unsigned char* to, const unsigned char* from,
                       unsigned bytes, unsigned valid) {
    BlockMachine& block = BlockMachine::of(lane);
    block.check_shared(lane, to, bytes, 0);
    // A copy that fills with zeros only does not touch its source.
    if (valid > 0) block.check_access(lane, from, valid, 1, 0);
    if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0 ||
        (valid > 0 && reinterpret_cast<std::uintptr_t>(from) % bytes != 0)) {
      block.stop(lane, EmuFault::Kind::memory,
                 fmt::format("a copy of {} bytes is not at multiples of that: from {} to {}", bytes,
                             block.describe(from), block.describe(to)),
                 0);
    }
    if (block.order_) {
      const auto at = static_cast<std::size_t>(to - lane->shared.begin);
      block.check_order(
          lane, block.order_->begin_piece(lane->thread, at, bytes, __builtin_return_address(0)), 0);
    }
    block.copies_.begin(lane->thread, {to, from, bytes, valid < bytes ? valid : bytes},
                        block.numbers_);
  }

  static void cp_async_commit_group(emu::Lane* lane) {
    BlockMachine& block = BlockMachine::of(lane);
    if (block.order_) block.order_->commit_pieces(lane->thread);
    block.copies_.commit(lane->thread, block.numbers_);
  }

  static void cp_async_wait_group(emu::Lane* lane, unsigned pending) {
    BlockMachine& block = BlockMachine::of(lane);
    block.copies_.wait(lane->thread, pending);
    if (block.order_) block.order_->wait_for_pieces(lane->thread, pending);
  }

  static void mbarrier_init(emu::Lane* lane, unsigned barrier, unsigned arrivals) {
    BlockMachine& block = BlockMachine::of(lane);
    if (barrier < lane->barriers || barrier % 8 != 0 || barrier + 8 > lane->shared.size) {
      block.stop(lane, EmuFault::Kind::memory,
                 fmt::format("a memory barrier is made at byte {} of shared memory, where none has "
                             "its place: they begin at byte {}",
                             barrier, lane->barriers),
                 0);
    }
    block.phases_.make(barrier, arrivals);
    if (block.order_) {
      block.order_->make_mbarrier(lane->thread, barrier, __builtin_return_address(0));
    }
  }

  /// A memory barrier that was never made has no phases.
  static void check_barrier(emu::Lane* lane, unsigned barrier, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    if (block.phases_.knows(barrier)) return;
    block.stop(lane, EmuFault::Kind::memory,
               fmt::format("no memory barrier was made at byte {} of shared memory", barrier),
               line);
  }

  static void mbarrier_arrive_expect_tx(emu::Lane* lane, unsigned barrier, unsigned bytes) {
    check_barrier(lane, barrier, 0);
    BlockMachine& block = BlockMachine::of(lane);
    if (block.order_) {
      block.check_order(lane, block.order_->arrive_expecting(lane->thread, barrier), 0);
    }
    switch (block.phases_.expect(barrier, bytes)) {
      case Mbarrier::Trap::none:
        return;
      case Mbarrier::Trap::arrivals:
        block.stop(lane, EmuFault::Kind::divergence,
                   "a thread arrives at a phase of a memory barrier that takes no arrival more", 0);
      case Mbarrier::Trap::bytes:
        block.stop(
            lane, EmuFault::Kind::memory,
            fmt::format("a memory barrier cannot wait for {} bytes: it counts to 2^20 - 1", bytes),
            0);
    }
  }

  static void mbarrier_arrive(emu::Lane* lane, unsigned barrier, unsigned line) {
    check_barrier(lane, barrier, line);
    BlockMachine& block = BlockMachine::of(lane);
    if (block.phases_.arrive(barrier) == Mbarrier::Trap::none) return;
    block.stop(lane, EmuFault::Kind::divergence,
               "a thread arrives at a phase of a memory barrier that takes no arrival more", line);
  }

  static void mbarrier_wait_parity(emu::Lane* lane, unsigned barrier, unsigned phase,
                                   unsigned line) {
    check_barrier(lane, barrier, line);
    BlockMachine& block = BlockMachine::of(lane);
    if (block.order_) {
      block.check_order(lane, block.order_->begin_wait(lane->thread, barrier, phase), line);
    }
    if (!block.phases_.is_over(barrier, phase % 2)) {
      auto& thread = block.threads_[lane->thread];
      thread.barrier = barrier;
      thread.parity = phase % 2;
      block.wait(thread, State::waits_for_phase, Meeting::none, line);
    }
    if (block.order_) block.order_->end_wait(lane->thread, barrier, phase);
    if (block.launch_.phases_order_stores) block.stored_.clear();
  }

  /// Another block of the cluster, or this one.
  static BlockMachine& member(emu::Lane* lane, unsigned rank, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    const auto& blocks = block.cluster_->blocks;
    if (rank >= blocks.size()) {
      block.stop(lane, EmuFault::Kind::memory,
                 fmt::format("the cluster has no block {}: it has {}", rank, blocks.size()), line);
    }
    BlockMachine& other = *blocks[rank];
    if (!other.has_ended()) return other;
    block.stop(lane, EmuFault::Kind::memory,
               fmt::format("a thread reaches the shared memory of block {} of the cluster, which "
                           "has ended",
                           rank),
               line);
  }

  static void check_barrier_of(emu::Lane* lane, BlockMachine& other, unsigned barrier,
                               unsigned line) {
    if (other.phases_.knows(barrier)) return;
    BlockMachine::of(lane).stop(
        lane, EmuFault::Kind::memory,
        fmt::format("no memory barrier was made yet at byte {} of the shared memory of block {} of "
                    "the cluster",
                    barrier, other.rank_),
        line);
  }

  static void stop_at_barrier(emu::Lane* lane, Mbarrier::Trap trap, unsigned bytes, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    if (trap == Mbarrier::Trap::none) return;
    if (trap == Mbarrier::Trap::arrivals) {
      block.stop(lane, EmuFault::Kind::divergence,
                 "a thread arrives at a phase of a memory barrier that takes no arrival more",
                 line);
    }
    block.stop(
        lane, EmuFault::Kind::memory,
        fmt::format("a memory barrier cannot wait for {} bytes: it counts to 2^20 - 1", bytes),
        line);
  }

  static void mbarrier_arrive_at(emu::Lane* lane, unsigned barrier, unsigned rank, unsigned line) {
    BlockMachine& other = member(lane, rank, line);
    check_barrier_of(lane, other, barrier, line);
    stop_at_barrier(lane, other.phases_.arrive(barrier), 0, line);
  }

  static void mbarrier_arrive_expect_tx_at(emu::Lane* lane, unsigned barrier, unsigned bytes,
                                           unsigned rank, unsigned line) {
    BlockMachine& other = member(lane, rank, line);
    check_barrier_of(lane, other, barrier, line);
    stop_at_barrier(lane, other.phases_.expect(barrier, bytes), bytes, line);
  }

  static void cluster_arrive(emu::Lane* lane, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    auto& thread = block.threads_[lane->thread];
    if (thread.at_cluster) {
      block.stop(lane, EmuFault::Kind::divergence,
                 "a thread arrives at the barrier of the cluster again without a wait", line);
    }
    thread.at_cluster = block.cluster_->phase();
    block.cluster_->arrive();
  }

  static void cluster_wait(emu::Lane* lane, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    auto& thread = block.threads_[lane->thread];
    if (!thread.at_cluster) {
      block.stop(lane, EmuFault::Kind::divergence,
                 "a thread waits for the barrier of the cluster and has not arrived", line);
    }
    block.phases_.let_some_land(block.numbers_);
    if (block.cluster_->phase() == thread.at_cluster) {
      block.wait(thread, State::waits_for_cluster, Meeting::none, line);
    }
    thread.at_cluster.reset();
    block.stored_.clear();
  }

  static void cp_async_bulk(emu::Lane* lane, unsigned char* to, const unsigned char* from,
                            unsigned bytes, unsigned barrier, unsigned phase) {
    check_barrier(lane, barrier, 0);
    BlockMachine& block = BlockMachine::of(lane);
    block.check_shared(lane, to, bytes, 0);
    block.check_access(lane, from, bytes, 16, 0);
    if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || bytes % 16 != 0) {
      block.stop(lane, EmuFault::Kind::memory,
                 fmt::format("a copy of {} bytes in bulk to {} is not at multiples of 16", bytes,
                             block.describe(to)),
                 0);
    }
    if (block.order_) {
      const auto at = static_cast<std::size_t>(to - lane->shared.begin);
      block.check_order(lane,
                        block.order_->begin_bulk(lane->thread, at, bytes, barrier, phase,
                                                 __builtin_return_address(0)),
                        0);
    }
    block.phases_.begin(barrier, {to, from, bytes, bytes}, block.numbers_);
  }

  /// The copy of a box between global memory and the shared memory of a block: its rows in global
  /// memory are in buffers, its place is one that hardware takes.
  static CopyUnderWay make_box(emu::Lane* lane, const BlockMachine& target, unsigned at,
                               const emu::TensorMap* map, const int* begin, bool stores,
                               unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    auto* const own = const_cast<unsigned char*>(lane->shared.begin);
    auto box = std::make_shared<const TensorBox>(*map, begin, target.shared_begin(), at, stores);
    if (const auto why = box->refused()) block.stop(lane, EmuFault::Kind::memory, *why, line);
    block.check_shared(lane, own + at, box->span(), line);
    box->for_each_row([&](const unsigned char* address, std::uint64_t bytes) {
      block.check_access(lane, address, bytes, 1, line);
    });
    const std::size_t bytes = box->bytes();
    return {nullptr, nullptr, bytes, bytes, std::move(box)};
  }

  static void tensor_load(emu::Lane* lane, unsigned at, const emu::TensorMap* map, unsigned barrier,
                          const int* begin, unsigned line) {
    check_barrier(lane, barrier, line);
    BlockMachine& block = BlockMachine::of(lane);
    block.phases_.begin(barrier, make_box(lane, block, at, map, begin, false, line),
                        block.numbers_);
  }

  static void tensor_load_multicast(emu::Lane* lane, unsigned at, const emu::TensorMap* map,
                                    unsigned barrier, unsigned mask, const int* begin,
                                    unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    for (unsigned rank = 0; mask >> rank != 0; ++rank) {
      if ((mask >> rank & 1U) == 0) continue;
      BlockMachine& other = member(lane, rank, line);
      check_barrier_of(lane, other, barrier, line);
      other.phases_.begin(barrier, make_box(lane, other, at, map, begin, false, line),
                          block.numbers_);
    }
  }

  static void tensor_store(emu::Lane* lane, unsigned at, const emu::TensorMap* map,
                           const int* begin, unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    block.stores_.begin(lane->thread, make_box(lane, block, at, map, begin, true, line),
                        block.numbers_);
  }

  static void tensor_commit(emu::Lane* lane) {
    BlockMachine& block = BlockMachine::of(lane);
    block.stores_.commit(lane->thread, block.numbers_);
  }

  /// What has read its source has also written its destination here.
  static void tensor_wait(emu::Lane* lane, unsigned pending) {
    BlockMachine::of(lane).stores_.wait(lane->thread, pending);
  }

  static void wait_for_value(emu::Lane* lane, const unsigned char* address, unsigned value,
                             unsigned line) {
    BlockMachine& block = BlockMachine::of(lane);
    auto& thread = block.threads_[lane->thread];
    thread.address = address;
    thread.value = value;
    thread.state = State::waits_for_value;
    if (block.can_run(thread)) {
      thread.state = State::ready;
      return;
    }
    block.wait(thread, State::waits_for_value, Meeting::none, line);
  }

  static void stored(emu::Lane* lane, const unsigned char* address, const void* bytes,
                     const void* masks, unsigned count) {
    BlockMachine::of(lane).compare_store(lane, lane->thread, address,
                                         static_cast<const unsigned char*>(bytes),
                                         static_cast<const unsigned char*>(masks), count, 0);
  }

  static constexpr emu::Operations all{
      .trap = trap,
      .out_of_steps = out_of_steps,
      .check = check,
      .touched = touched,
      .synchronize = synchronize,
      .synchronize_warp = synchronize_warp,
      .named_barrier = named_barrier,
      .from_first = from_first,
      .shfl_idx_warp = shfl_idx_warp,
      .elect = elect,
      .ldmatrix = ldmatrix,
      .stmatrix = stmatrix,
      .mma = mma,
      .mma_sparse = mma_sparse,
      .mma_scaled = mma_scaled,
      .dot_async = dot_async,
      .dot_commit = dot_commit,
      .dot_wait = dot_wait,
      .cp_async = cp_async,
      .cp_async_commit_group = cp_async_commit_group,
      .cp_async_wait_group = cp_async_wait_group,
      .mbarrier_init = mbarrier_init,
      .mbarrier_arrive = mbarrier_arrive,
      .mbarrier_arrive_expect_tx = mbarrier_arrive_expect_tx,
      .mbarrier_wait_parity = mbarrier_wait_parity,
      .mbarrier_arrive_at = mbarrier_arrive_at,
      .mbarrier_arrive_expect_tx_at = mbarrier_arrive_expect_tx_at,
      .cluster_arrive = cluster_arrive,
      .cluster_wait = cluster_wait,
      .cp_async_bulk = cp_async_bulk,
      .tensor_load = tensor_load,
      .tensor_load_multicast = tensor_load_multicast,
      .tensor_store = tensor_store,
      .tensor_commit = tensor_commit,
      .tensor_wait = tensor_wait,
      .fence_proxy = fence_proxy,
      .stored = stored,
      .approximation = find_approximation,
      .wait_for_value = wait_for_value,
  };
};

const emu::Operations* lane_operations() { return &LaneOperations::all; }

}  // namespace tilevm::backend
