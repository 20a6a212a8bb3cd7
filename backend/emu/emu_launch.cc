#include "backend/emu/emu_launch.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <thread>

namespace tilevm::backend {
namespace {

using Order = EmuOptions::Order;
using Outcome = BlockMachine::Outcome;

/// A permutation of 0 .. n - 1 without a table: a Feistel network over the next power of four,
/// whose values outside are sent through again.
class SeededOrder {
 public:
  SeededOrder(std::uint64_t n, std::uint64_t seed) : n_(n), seed_(seed) {
    while ((std::uint64_t{1} << 2 * half_) < n) ++half_;
  }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t k) const {
    do {
      k = mix(k);
    } while (k >= n_);
    return k;
  }

 private:
  [[nodiscard]] std::uint64_t mix(std::uint64_t k) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t low = k & mask, high = k >> half_;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = high ^ (SeededNumbers(seed_ + round * 0x51ed + low).next() & mask);
      high = low;
      low = next;
    }
    return high << half_ | low;
  }
  std::uint64_t n_, seed_;
  unsigned half_ = 0;  ///< bits
};

/// A cluster of blocks, or a block alone: its number, and its rank in the order in which they
/// begin.
struct Turn {
  std::uint64_t rank, number;
};

/// The clusters of a launch, or its blocks, handed out to workers.
class Blocks {
 public:
  explicit Blocks(const EmuLaunch& launch)
      : launch_(launch),
        count_(count_of(launch)),
        seeded_(count_, launch.options.seed),
        end_(count_) {}

  static std::uint64_t count_of(const EmuLaunch& launch) {
    return std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2] /
           launch.cluster_blocks();
  }

  /// The next block that nobody has begun; nothing if there is none.
  std::optional<Turn> next() {
    const std::uint64_t rank = begun_.fetch_add(1);
    if (is_after_fault(rank)) return std::nullopt;
    switch (launch_.options.blocks) {
      case Order::forward:
        return Turn{rank, rank};
      case Order::backward:
        return Turn{rank, count_ - 1 - rank};
      case Order::seeded:
        return Turn{rank, seeded_(rank)};
    }
    return std::nullopt;
  }
  /// Whether a block need not run, since one that begins before it met a fault. The others do, so
  /// that the fault that is reported does not depend on the number of workers.
  [[nodiscard]] bool is_after_fault(std::uint64_t rank) const { return rank >= end_; }

  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    end_ = 0;
  }
  void fail(std::uint64_t rank, EmuFault fault) {
    const std::lock_guard lock(mutex_);
    if (rank >= end_) return;
    fault_ = std::move(fault);
    end_ = rank;
  }
  [[nodiscard]] Result<std::optional<EmuFault>> take() {
    if (error_) return *error_;
    return std::move(fault_);
  }

  /// Counts what may let a waiting block go on: a block began, or ran further.
  void note_progress() { ++progress_; }
  [[nodiscard]] std::uint64_t progress() const { return progress_; }

  void begin_worker() { ++workers_; }
  void end_worker() {
    const std::lock_guard lock(mutex_);
    --workers_;
  }

  /// A worker tried all its blocks since `progress` was read, and none could go on. True if that
  /// holds of every worker and there was no progress meanwhile: then no block can ever go on.
  /// `counted` is the worker's own, the last progress that it was counted for.
  bool are_all_stuck(std::uint64_t progress, std::optional<std::uint64_t>& counted) {
    const std::lock_guard lock(mutex_);
    if (progress_ != progress) return false;
    if (stuck_at_ != progress) stuck_ = 0;
    stuck_at_ = progress;
    if (counted != progress) ++stuck_;
    counted = progress;
    return stuck_ >= workers_;
  }

 private:
  const EmuLaunch& launch_;
  const std::uint64_t count_;
  SeededOrder seeded_;
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> end_;  ///< blocks of this rank and later ones need not run
  std::mutex mutex_;
  std::optional<Error> error_;
  std::optional<EmuFault> fault_;
  std::atomic<std::uint64_t> progress_{0};
  int workers_ = 0, stuck_ = 0;  ///< stuck at the progress `stuck_at_`
  std::optional<std::uint64_t> stuck_at_;
};

/// A host thread: it runs a block to its end, and begins another only while all it has wait.
class Worker {
 public:
  Worker(const EmuLaunch& launch, Blocks& blocks, std::uint64_t most)
      : launch_(launch), blocks_(blocks), most_(most) {}

  void run() {
    while (!launch_.options.is_stopped()) {
      const std::uint64_t progress = blocks_.progress();
      if (go_on() || begin_next()) continue;
      if (waiting_.empty()) return;
      if (blocks_.are_all_stuck(progress, counted_)) {
        const Begun& first = waiting_.front();
        blocks_.fail(first.turn.rank, first_waiting(*first.cluster).describe_wait());
      }
      std::this_thread::yield();
    }
  }

 private:
  struct Begun {
    Turn turn;
    std::unique_ptr<EmuCluster> cluster;
  };

  /// The first block of a cluster that has not ended.
  static const BlockMachine& first_waiting(const EmuCluster& cluster) {
    return **std::find_if(cluster.blocks.begin(), cluster.blocks.end(),
                          [](const auto& machine) { return !machine->has_ended(); });
  }

  /// Runs the blocks that have begun; whether one went on.
  bool go_on() {
    std::erase_if(waiting_,
                  [&](const Begun& each) { return blocks_.is_after_fault(each.turn.rank); });
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (!run(*at)) continue;
      blocks_.note_progress();
      const auto& machines = at->cluster->blocks;
      const bool ended = std::all_of(machines.begin(), machines.end(),
                                     [](const auto& machine) { return machine->has_ended(); });
      if (ended && !blocks_.is_after_fault(at->turn.rank)) {
        free_.push_back(std::move(at->cluster));
        waiting_.erase(at);
      }
      return true;
    }
    return false;
  }

  /// Runs the blocks of a cluster in turn; whether one went on, or met a fault.
  bool run(const Begun& begun) {
    bool advanced = false;
    for (const auto& machine : begun.cluster->blocks) {
      if (machine->has_ended()) continue;
      const Outcome outcome = machine->run();
      advanced = advanced || outcome != Outcome::waits || machine->advanced();
      if (outcome != Outcome::faulted) continue;
      blocks_.fail(begun.turn.rank, machine->fault());
      return true;
    }
    return advanced;
  }

  bool begin_next() {
    if (waiting_.size() >= most_) return false;
    const std::optional<Turn> turn = blocks_.next();
    if (!turn) return false;
    if (free_.empty()) free_.push_back(make_cluster());
    waiting_.push_back({*turn, std::move(free_.back())});
    free_.pop_back();
    blocks_.note_progress();
    EmuCluster& cluster = *waiting_.back().cluster;
    const unsigned count = launch_.cluster_blocks();
    cluster.begin(count * launch_.threads);
    for (unsigned rank = 0; rank < count; ++rank) {
      const Status begun = cluster.blocks[rank]->begin(member(turn->number, rank), cluster, rank);
      if (!begun) blocks_.fail(begun.error());
    }
    return true;
  }

  std::unique_ptr<EmuCluster> make_cluster() {
    auto cluster = std::make_unique<EmuCluster>();
    for (unsigned rank = 0; rank < launch_.cluster_blocks(); ++rank) {
      cluster->blocks.push_back(std::make_unique<BlockMachine>(launch_, stacks_));
    }
    return cluster;
  }

  /// The number in the grid of a block of a cluster; x counts first.
  [[nodiscard]] std::uint64_t member(std::uint64_t cluster, std::uint64_t rank) const {
    std::uint64_t number = 0, stride = 1;
    for (std::size_t d = 0; d < launch_.grid.size(); ++d) {
      const std::uint64_t own = launch_.cluster[d], clusters = launch_.grid[d] / own;
      number += (cluster % clusters * own + rank % own) * stride;
      cluster /= clusters;
      rank /= own;
      stride *= launch_.grid[d];
    }
    return number;
  }

  const EmuLaunch& launch_;
  Blocks& blocks_;
  const std::uint64_t most_;
  StackPool stacks_;  // outlives the machines
  std::list<Begun> waiting_;
  std::vector<std::unique_ptr<EmuCluster>> free_;
  std::optional<std::uint64_t> counted_;  ///< progress that are_all_stuck saw last
};

/// Each host thread may have as many clusters, or blocks, as its share of those that may be
/// resident, and no more than the system has stacks for.
std::uint64_t share_of(const EmuLaunch& launch, std::uint64_t workers) {
  constexpr std::uint64_t max_stacks = 16384;
  const std::uint64_t blocks = launch.cluster_blocks();
  const std::uint64_t clusters = (launch.options.resident_blocks + blocks - 1) / blocks;
  const std::uint64_t share = (clusters + workers - 1) / workers;
  return std::clamp<std::uint64_t>(
      share, 1, std::max<std::uint64_t>(max_stacks / (launch.threads * blocks) / workers, 1));
}

}  // namespace

Result<std::optional<EmuFault>> run_emulated(const EmuLaunch& launch) {
  Blocks blocks(launch);
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  std::uint64_t count =
      launch.options.threads > 0 ? static_cast<unsigned>(launch.options.threads) : cores;
  // An order of blocks is one of a single host thread.
  if (launch.options.blocks != Order::forward) count = 1;
  count = std::min(count, Blocks::count_of(launch));
  for (std::uint64_t i = 0; i < count; ++i) blocks.begin_worker();
  const auto work = [&] {
    Worker(launch, blocks, share_of(launch, count)).run();
    blocks.end_worker();
  };
  std::vector<std::jthread> others;
  for (std::uint64_t i = 1; i < count; ++i) others.emplace_back(work);
  work();
  others.clear();
  if (launch.options.is_stopped()) {
    return Error{ErrorKind::limit, "the emulated launch was stopped"};
  }
  return blocks.take();
}

}  // namespace tilevm::backend
