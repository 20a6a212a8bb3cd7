// The threads of a block on fibres, their meetings, and the memory that they share.
// It has more than 400 lines: every member changes the one state of the block.
#include "backend/emu/block_machine.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "backend/emu/call_frames.h"

namespace tilevm::backend {
namespace {

using Order = EmuOptions::Order;

constexpr std::size_t shared_alignment = 1024;

/// Leaves the code of a thread, from wherever it called the machine.
struct ThreadStopped {};

std::vector<unsigned> ordered(unsigned count, Order order) {
  std::vector<unsigned> result(count);
  std::iota(result.begin(), result.end(), 0U);
  if (order == Order::backward) std::reverse(result.begin(), result.end());
  return result;
}

std::string_view name_of(int meeting) {
  constexpr std::array names{"nothing",
                             "a barrier of the block",
                             "a named barrier",
                             "a barrier of the warp",
                             "a shuffle",
                             "an election",
                             "ldmatrix",
                             "stmatrix",
                             "a tensor-core instruction",
                             "an instruction of a warp group",
                             "a commit of or a wait for products"};
  return names[static_cast<std::size_t>(meeting)];
}

}  // namespace

BlockMachine::BlockMachine(const EmuLaunch& launch, StackPool& stacks)
    : launch_(launch),
      stacks_(stacks),
      threads_(launch.threads),
      warp_order_(ordered((launch.threads + warp_size - 1) / warp_size, launch.options.lanes)),
      lane_order_(ordered(warp_size, launch.options.lanes)),
      shared_(new unsigned char[launch.shared_bytes + launch.barrier_bytes + shared_alignment]),
      warps_(warp_order_.size()),
      operands_(warp_order_.size()),
      named_barriers_(launch.threads),
      copies_(launch.threads, launch.options.copies),
      stores_(launch.threads, launch.options.copies),
      phases_(launch.options.copies),
      products_(warp_order_.size(), launch.options.copies),
      numbers_(0) {
  if (launch.options.check_order && launch.shared_bytes > 0) {
    order_.emplace(launch.threads, launch.shared_bytes);
  }
}

BlockMachine::~BlockMachine() {
  for (Thread& thread : threads_) {
    if (thread.lane != nullptr) stacks_.give_back(thread.lane);
  }
}

unsigned BlockMachine::lanes_of(unsigned warp) const {
  return std::min(warp_size, launch_.threads - first_of(warp));
}

void BlockMachine::run_thread(emu::Lane* lane) {
  const EmuLaunch& launch = of(lane).launch_;
  try {
    launch.entry(launch.arguments.data());
  } catch (const ThreadStopped&) {  // NOLINT(bugprone-empty-catch): the block has the fault
  }
}

void EmuCluster::begin(unsigned threads) {
  alive_ = threads;
  arrived_ = 0;
  phase_ = 0;
}

void EmuCluster::arrive() {
  ++arrived_;
  end_phase_if_complete();
}

void EmuCluster::leave(bool has_arrived) {
  --alive_;
  if (has_arrived) --arrived_;
  if (alive_ > 0) end_phase_if_complete();
}

void EmuCluster::end_phase_if_complete() {
  if (arrived_ < alive_) return;
  arrived_ = 0;
  ++phase_;
}

unsigned char* BlockMachine::shared_begin() const {
  const auto base = reinterpret_cast<std::uintptr_t>(shared_.get());
  return shared_.get() + (shared_alignment - base % shared_alignment) % shared_alignment;
}

Status BlockMachine::begin(std::uint64_t number, EmuCluster& cluster, unsigned rank) {
  cluster_ = &cluster;
  rank_ = rank;
  const auto& grid = launch_.grid;
  index_ = {static_cast<unsigned>(number % grid[0]),
            static_cast<unsigned>(number / grid[0] % grid[1]),
            static_cast<unsigned>(number / grid[0] / grid[1])};
  numbers_ = SeededNumbers(launch_.options.seed ^ SeededNumbers(number).next());
  unsigned char* const shared = shared_begin();
  std::memset(shared, unwritten_byte, launch_.shared_bytes + launch_.barrier_bytes);
  stored_.clear();
  copies_.clear();
  stores_.clear();
  phases_.clear();
  products_.clear();
  if (order_) order_->clear();
  std::fill(warps_.begin(), warps_.end(), Group{});
  barrier_ = {};
  named_barriers_.clear();
  alive_ = launch_.threads;
  for (unsigned i = 0; i < launch_.threads; ++i) {
    Thread& thread = threads_[i];
    if (thread.lane == nullptr) {
      Result<emu::Lane*> lane = stacks_.take();
      if (!lane) return lane.error();
      thread.lane = *lane;
    }
    *thread.lane = {launch_.operations,
                    this,
                    i,
                    {index_[0], index_[1], index_[2]},
                    {grid[0], grid[1], grid[2]},
                    {shared, launch_.shared_bytes + launch_.barrier_bytes},
                    launch_.shared_bytes,
                    {shared, 0},
                    &for_block_,
                    0,
                    launch_.compares_stores,
                    order_.has_value(),
                    rank};
    thread.at_cluster.reset();
    thread.steps = launch_.options.max_steps;
    grant_steps(thread);
    thread.fibre.prepare(thread.lane, run_thread);
    thread.state = State::ready;
  }
  return Done{};
}

void BlockMachine::grant_steps(Thread& thread) {
  constexpr std::uint64_t most = 4096;
  thread.lane->steps = std::min(thread.steps, most);
  thread.steps -= thread.lane->steps;
}

void BlockMachine::shuffle(std::vector<unsigned>& order) {
  if (launch_.options.lanes != Order::seeded) return;
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[numbers_.below(i)]);
  }
}

bool BlockMachine::can_run(Thread& thread) {
  switch (thread.state) {
    case State::ready:
      return true;
    case State::waiting:
    case State::ended:
      return false;
    case State::waits_for_phase:
      return phases_.is_over(thread.barrier, thread.parity);
    case State::waits_for_cluster:
      return cluster_->phase() != thread.at_cluster;
    case State::waits_for_value:
      return __atomic_load_n(reinterpret_cast<const unsigned*>(thread.address), __ATOMIC_ACQUIRE) ==
             thread.value;
  }
  return false;
}

void BlockMachine::end_thread(Thread& thread) {
  thread.state = State::ended;
  --alive_;
  cluster_->leave(thread.at_cluster == cluster_->phase());
}

/// Runs a warp's threads until all wait. Whether any ran.
bool BlockMachine::run_warp(unsigned warp) {
  const unsigned first = first_of(warp), count = lanes_of(warp);
  bool any = false;
  for (bool ran = true; ran && !fault_;) {
    ran = false;
    shuffle(lane_order_);
    for (const unsigned lane : lane_order_) {
      if (lane >= count || fault_ || !can_run(threads_[first + lane])) continue;
      Thread& thread = threads_[first + lane];
      thread.state = State::ready;
      ran = any = true;
      if (!thread.fibre.resume()) end_thread(thread);
    }
  }
  return any;
}

BlockMachine::Outcome BlockMachine::run() {
  advanced_ = false;
  for (;;) {
    bool any = false;
    shuffle(warp_order_);
    for (const unsigned warp : warp_order_) {
      any = run_warp(warp) || any;
      if (fault_) return Outcome::faulted;
    }
    advanced_ = advanced_ || any;
    if (alive_ == 0) return end();
    if (!any) return stuck();
  }
}

BlockMachine::Outcome BlockMachine::stuck() {
  const bool has_others = launch_.cluster_blocks() > 1;
  for (const Thread& thread : threads_) {
    const bool may_go_on = has_others && (thread.state == State::waits_for_phase ||
                                          thread.state == State::waits_for_cluster);
    if (thread.state == State::waits_for_value || may_go_on) return Outcome::waits;
  }
  const auto first = std::find_if(threads_.begin(), threads_.end(),
                                  [](const Thread& each) { return each.state != State::ended; });
  fault_ = EmuFault{EmuFault::Kind::deadlock, describe_waiting(), first->line, index_,
                    first->lane->thread};
  return Outcome::faulted;
}

/// "threads 0 to 31 wait at a barrier of the block in line 12, threads 32 to 63 have ended".
std::string BlockMachine::describe_waiting() const {
  const auto words = [](const Thread& thread) {
    if (thread.state == State::ended) return std::string("ended");
    if (thread.state == State::waits_for_cluster) {
      return fmt::format("wait at the barrier of the cluster in line {}", thread.line);
    }
    if (thread.state == State::waits_for_phase) {
      return fmt::format("wait for a phase of a memory barrier in line {}", thread.line);
    }
    return fmt::format("wait at {} in line {}", name_of(static_cast<int>(thread.meeting)),
                       thread.line);
  };
  constexpr int max_runs = 6;
  std::string text;
  int runs = 0;
  for (std::size_t i = 0; i < threads_.size() && runs < max_runs; ++runs) {
    const std::string what = words(threads_[i]);
    std::size_t end = i + 1;
    while (end < threads_.size() && words(threads_[end]) == what) ++end;
    const std::string which =
        end == i + 1 ? fmt::format("thread {}", i) : fmt::format("threads {} to {}", i, end - 1);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", which, what);
    i = end;
  }
  return "the threads of a block wait for one another: " + text;
}

EmuFault BlockMachine::describe_wait() const {
  for (const Thread& thread : threads_) {
    if (thread.state != State::waits_for_value) continue;
    return {EmuFault::Kind::deadlock,
            fmt::format("a block waits for the value {} of a semaphore, {}, and no block that may "
                        "run writes it",
                        thread.value, launch_.memory.describe(thread.address)),
            thread.line, index_, thread.lane->thread};
  }
  // The blocks of a cluster wait for one another.
  const auto first = std::find_if(threads_.begin(), threads_.end(),
                                  [](const Thread& each) { return each.state != State::ended; });
  std::string text = describe_waiting();
  for (const auto& other : cluster_->blocks) {
    if (other.get() == this) continue;
    text += fmt::format("; in block {} of the cluster, {}", other->rank_,
                        other->has_ended() ? "all threads have ended" : other->describe_waiting());
  }
  return {EmuFault::Kind::deadlock, std::move(text), first->line, index_, first->lane->thread};
}

void BlockMachine::wait(Thread& thread, State state, Meeting meeting, unsigned line) {
  thread.state = state;
  thread.meeting = meeting;
  thread.line = line;
  thread.fibre.pause();
}

bool BlockMachine::meet(emu::Lane* lane, Group& group, unsigned count, Meeting meeting,
                        unsigned line) {
  if (group.arrived == 0) {
    group.meeting = meeting;
    group.line = line;
    group.first = lane->thread;
  } else if (group.meeting != meeting || group.line != line) {
    stop(lane, EmuFault::Kind::divergence,
         fmt::format("thread {} is at {} in line {}, where thread {} is at {} in line {}; all "
                     "threads must come to the same one",
                     lane->thread, name_of(static_cast<int>(meeting)), line, group.first,
                     name_of(static_cast<int>(group.meeting)), group.line),
         line);
  }
  if (++group.arrived == count) return true;
  wait(threads_[lane->thread], State::waiting, meeting, line);
  return false;
}

void BlockMachine::release(Group& group, unsigned first, unsigned count) {
  group = {};
  for (unsigned i = first; i < first + count; ++i) {
    if (threads_[i].state == State::waiting) threads_[i].state = State::ready;
  }
}

bool BlockMachine::meet_warp(emu::Lane* lane, Meeting meeting, unsigned line) {
  const unsigned warp = lane->thread / warp_size;
  return meet(lane, warps_[warp], lanes_of(warp), meeting, line);
}

void BlockMachine::release_warp(emu::Lane* lane) {
  const unsigned warp = lane->thread / warp_size;
  release(warps_[warp], first_of(warp), lanes_of(warp));
}

/// Threads that only arrive go on at once, and may be at the next barrier of the block meanwhile.
void BlockMachine::come_to_barrier(emu::Lane* lane, unsigned barrier, unsigned threads, bool waits,
                                   unsigned line) {
  if (auto why = named_barriers_.refuse(barrier, lane->thread, threads)) {
    stop(lane, EmuFault::Kind::divergence, *std::move(why), line);
  }
  const auto passing = named_barriers_.come(barrier, lane->thread, threads, waits);
  if (passing.complete) note_passing(barrier, passing.waiting, waits ? lane : nullptr);
  for (const unsigned thread : passing.waiting) threads_[thread].state = State::ready;
  if (passing.complete) stored_.clear();
  if (waits && !passing.complete) {
    wait(threads_[lane->thread], State::waiting, Meeting::named_barrier, line);
  }
}

std::string BlockMachine::describe(const void* address) const {
  const emu::Range& shared = threads_[0].lane->shared;
  const auto offset = static_cast<long long>(reinterpret_cast<std::uintptr_t>(address) -
                                             reinterpret_cast<std::uintptr_t>(shared.begin));
  constexpr long long near = 1 << 20;
  const bool shared_is_nearest =
      bytes_away(offset, launch_.shared_bytes) <= launch_.memory.bytes_to_nearest(address);
  if (offset > -near && offset < near && shared_is_nearest) {
    return describe_offset(offset, launch_.shared_bytes, "shared memory");
  }
  return launch_.memory.describe(address);
}

void BlockMachine::stop(emu::Lane* lane, EmuFault::Kind kind, std::string message, unsigned line,
                        const void* earlier) {
  fault_ = EmuFault{kind, std::move(message), line, index_, lane->thread};
  if (line == 0) fault_->frames = call_frames();
  fault_->earlier = earlier;
  throw ThreadStopped{};
}

void BlockMachine::check_access(emu::Lane* lane, const void* address, std::size_t bytes,
                                std::size_t alignment, unsigned line) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    stop(lane, EmuFault::Kind::memory,
         fmt::format("an access of {} bytes at {} is not at a multiple of {}", bytes,
                     describe(address), alignment),
         line);
  }
  const auto* at = static_cast<const unsigned char*>(address);
  const auto offset = static_cast<std::uint64_t>(at - lane->shared.begin);
  if (offset < lane->barriers && lane->barriers - offset >= bytes) return;
  if (const emu::Range* range = launch_.memory.find(address, bytes)) {
    lane->global = *range;
    return;
  }
  stop(lane, EmuFault::Kind::memory,
       fmt::format("an access of {} bytes is outside of memory: {}", bytes, describe(address)),
       line);
}

void BlockMachine::check_shared(emu::Lane* lane, const void* address, std::size_t bytes,
                                unsigned line) {
  const auto offset =
      static_cast<std::uint64_t>(static_cast<const unsigned char*>(address) - lane->shared.begin);
  if (offset < lane->barriers && lane->barriers - offset >= bytes) return;
  stop(lane, EmuFault::Kind::memory,
       fmt::format("{} bytes are not in shared memory: {}", bytes, describe(address)), line);
}

/// Rows of 16 bytes: lane 8m + r gives row r of matrix m. Each lane has a word of every matrix: two
/// neighbours of row lane / 4, or with `transposed` of column lane / 4.
template <class F>
void BlockMachine::for_each_half(unsigned warp, int count, bool transposed, F&& f) {
  Operands& operands = operands_[warp];
  for (std::size_t matrix = 0; matrix < static_cast<std::size_t>(count); ++matrix) {
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      auto* const word = static_cast<unsigned char*>(operands.c[lane]) + matrix * 4;
      for (std::size_t half = 0; half < 2; ++half) {
        const std::size_t across = lane % 4 * 2 + half, along = lane / 4;
        const std::size_t row = transposed ? across : along, column = transposed ? along : across;
        auto* const element =
            static_cast<unsigned char*>(const_cast<void*>(operands.a[matrix * 8 + row])) +
            column * 2;
        f(first_of(warp) + static_cast<unsigned>(lane), word + half * 2, element);
      }
    }
  }
}

void BlockMachine::move_matrices(unsigned warp, int count, bool transposed, bool stores) {
  for_each_half(warp, count, transposed,
                [&](unsigned, unsigned char* half, unsigned char* element) {
                  stores ? std::memcpy(element, half, 2) : std::memcpy(half, element, 2);
                });
}

void BlockMachine::compare_matrices(emu::Lane* lane, int count, bool transposed, unsigned line) {
  for_each_half(lane->thread / warp_size, count, transposed,
                [&](unsigned thread, const unsigned char* half, const unsigned char* element) {
                  compare_store(lane, thread, element, half, nullptr, 2, line);
                });
}

void BlockMachine::compare_store(emu::Lane* lane, unsigned thread, const unsigned char* address,
                                 const unsigned char* bytes, const unsigned char* masks,
                                 unsigned count, unsigned line) {
  const auto other = stored_.store(thread, address, bytes, masks, count);
  if (!other) return;
  stop(lane, EmuFault::Kind::replicas,
       fmt::format("threads {} and {} store different bits at one address, {}, with no barrier of "
                   "the block in between",
                   *other, thread, describe(address)),
       line);
}

}  // namespace tilevm::backend
