// Commits, waits and barriers of the program as operations on barriers of the machine.
//
// Bulk copies are counted by a ring of mbarriers, one for each copy group that may be unfinished.
// In a kernel without split barriers warp 0 alone commits and waits: the Synchronize that must
// follow a CopyAsyncWaitGroup tells the other warps. In a kernel with split barriers the producer
// warps copy, the first of them commits, and every warp waits for itself.
//
// An mbarrier counts one group at a time. So before warps copy for the next group, every warp must
// know that the group which used its mbarrier last is complete: a commit that finds the ring full
// waits, and meets all warps at barrier 0. Programs that wait as they go never get there.
#include <utility>

#include "backend/machine/passes.h"

namespace tilevm::backend {
namespace {

class RingExpansion {
 public:
  RingExpansion(MachineKernel machine, const MachineSource& source)
      : machine_(std::move(machine)), bulk_(source.selected.bulk), warps_(source.warps()) {}

  MachineKernel run() {
    if (bulk_.any()) add_barriers();
    machine_.body = rewrite(std::move(machine_.body), [&](MachineBlock& to, MachineNode node) {
      expand(to, std::move(node));
    });
    end_copies(machine_.body, nullptr);
    return std::move(machine_);
  }

 private:
  void add_barriers() {
    machine_.barriers.push_back({MachineBarrier::Kind::mbarrier, 1, bulk_.count});
    if (is_split()) {
      machine_.barriers.push_back({MachineBarrier::Kind::named, warps_ * 32, 1, 1});
      machine_.groups.push_back({bulk_.first_producer, warps_ - bulk_.first_producer});
      producers_ = machine_.groups.size() - 1;
      machine_.groups.push_back({0, bulk_.first_producer});
      consumers_ = machine_.groups.size() - 1;
    } else {
      machine_.groups.push_back({0, 1});
      producers_ = machine_.groups.size() - 1;
    }
    machine_.begin.push_back(op_node(nullptr, InitRing{}));
    machine_.begin.push_back(op_node(nullptr, BlockSync{}));
  }

  /// What a node becomes: one in a form of the program's own synchronization, or the node.
  void expand(MachineBlock& to, MachineNode node) {
    const auto* op = std::get_if<MachineOp>(&node.node);
    const Form* form = op == nullptr ? nullptr : std::get_if<Form>(&op->code);
    const isa::Stmt* const stmt = node.stmt;
    if (form == nullptr) {
      to.push_back(std::move(node));
    } else if (std::holds_alternative<GroupCommit>(*form)) {
      if (bulk_.any()) commit(to, stmt);
      if (!bulk_.are_all) to.push_back(op_node(stmt, CommitPieces{}));
    } else if (const auto* wait = std::get_if<GroupWait>(form)) {
      if (bulk_.any()) wait_for(to, stmt, wait->pending);
      if (!bulk_.are_all) to.push_back(op_node(stmt, WaitPieces{wait->pending}));
    } else if (std::holds_alternative<FullBarrier>(*form)) {
      synchronize(to, stmt);
    } else if (std::holds_alternative<SplitBarrier>(*form)) {
      pass_split(to, stmt);
    } else if (std::holds_alternative<EarlyExit>(*form)) {
      end_copies(to, stmt);
      to.push_back(op_node(stmt, EndBlock{}));
    } else {
      to.push_back(std::move(node));
    }
  }

  void commit(MachineBlock& to, const isa::Stmt* stmt) const {
    to.push_back(op_node(stmt, ArriveExpect{}, producers_));
    MachineGuard guard{.test = RingTest::fits};
    wait_for(guard.otherwise, stmt, bulk_.count - 1);
    synchronize(guard.otherwise, stmt);
    to.push_back({stmt, std::move(guard)});
  }

  void wait_for(MachineBlock& to, const isa::Stmt* stmt, std::int64_t pending) const {
    // With two stages a commit leaves one group unfinished at most.
    const bool newest = is_split() && bulk_.count == 2 && pending == 0;
    to.push_back(op_node(stmt, WaitPhases{pending, newest}, is_split() ? whole_block : producers_));
  }

  void synchronize(MachineBlock& to, const isa::Stmt* stmt) const {
    to.push_back(op_node(stmt, BlockSync{}));
    if (bulk_.any()) to.push_back(op_node(stmt, PublishPhases{}));
  }

  /// Producer warps wait for all warps, and the others go on, unless one of them could arrive at
  /// the next barrier before all have arrived at this one. None can if a warp must first wait for a
  /// group that was closed after this barrier.
  void pass_split(MachineBlock& to, const isa::Stmt* stmt) const {
    constexpr std::size_t named = 1;  // index of the named barrier in MachineKernel::barriers
    MachineGuard guard{.test = RingTest::none_since_split};
    guard.body.push_back(op_node(stmt, BlockSync{}));
    MachineGuard roles{.test = InGroup{producers_}};
    roles.body.push_back(op_node(stmt, NamedSync{named}, producers_));
    roles.otherwise.push_back(op_node(stmt, NamedArrive{named}, consumers_));
    guard.otherwise.push_back({stmt, std::move(roles)});
    to.push_back({stmt, std::move(guard)});
    to.push_back(op_node(stmt, MarkSplit{}));
    to.push_back(op_node(stmt, PublishPhases{}));
  }

  /// A block must not end while copies into its memory are under way.
  void end_copies(MachineBlock& to, const isa::Stmt* stmt) const {
    if (!bulk_.any()) return;
    MachineGuard open{.test = RingTest::open};
    commit(open.body, stmt);
    to.push_back({stmt, std::move(open)});
    wait_for(to, stmt, 0);
  }

  [[nodiscard]] bool is_split() const { return bulk_.first_producer > 0; }

  static constexpr std::size_t whole_block = 0;

  MachineKernel machine_;
  const BulkGroups& bulk_;
  std::int64_t warps_;
  std::size_t producers_ = 0;  ///< the group whose first warp commits
  std::size_t consumers_ = 0;  ///< the other warps, if barriers may be split
};

}  // namespace

MachineKernel expand_barriers(MachineKernel machine, const MachineSource& source) {
  return RingExpansion(std::move(machine), source).run();
}

}  // namespace tilevm::backend
