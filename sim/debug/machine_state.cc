#include "sim/debug/machine_state.h"

#include <span>

#include "isa/base/hash.h"

namespace tilevm::sim::debug {
namespace {

/// Hashes values one after another.
class StateHash {
 public:
  void add(std::span<const std::uint8_t> bytes) { hash_ = xxh64(bytes, hash_); }
  void add(std::uint64_t value) {
    add({reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)});
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add({reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)});
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

void add_shared(const SharedMemory& shared, StateHash& hash) {
  hash.add(shared.bytes);
  hash.add(shared.undefined);
  for (const SharedRange& range : shared.unwritten) hash.add(range.begin), hash.add(range.end);
  for (const PendingCopy& copy : shared.copies) {
    hash.add(static_cast<std::uint64_t>(copy.stage));
    hash.add(copy.group);
    hash.add(static_cast<std::uint64_t>(copy.arrived));
    hash.add(copy.low), hash.add(copy.high);
    hash.add(copy.data);
  }
  hash.add(shared.groups);
  hash.add(shared.since_barrier.epoch);
  hash.add(shared.since_barrier.recent.size());
  hash.add(static_cast<std::uint64_t>(shared.since_barrier.marking));
  for (const bool bit : shared.in_flight) hash.add(static_cast<std::uint64_t>(bit));
}

void add_products(const GroupProducts& products, StateHash& hash) {
  hash.add(products.groups);
  for (const PendingProduct& product : products.pending) {
    hash.add(product.group);
    hash.add(static_cast<std::uint64_t>(product.complete));
  }
}

/// Where the groups of warps are, and the phases of their barriers: what they know of one another
/// follows from the past and changes no value.
void add_groups(const BlockState& state, StateHash& hash) {
  hash.add(static_cast<std::uint64_t>(state.group));
  for (std::size_t g = 0; g < state.groups.size(); ++g) {
    const GroupState& group = state.groups[g];
    hash.add(static_cast<std::uint64_t>(group.status));
    hash.add(static_cast<std::uint64_t>(group.children));
    hash.add(group.wait ? static_cast<std::uint64_t>(group.wait->phase) + 1 : 0);
    if (g != state.group) hash.add(group.next), hash.add(group.scalars);
    add_products(group.products, hash);
  }
  for (const SyncObject& object : state.parties.objects()) {
    hash.add(static_cast<std::uint64_t>(object.phase));
    hash.add(static_cast<std::uint64_t>(object.pending));
    hash.add(static_cast<std::uint64_t>(object.bytes));
  }
  for (const AsyncOperation& operation : state.under_way) hash.add(operation.data);
}

/// What a block of a cluster has for itself.
void add_own(const OwnState& state, StateHash& hash) {
  for (const std::int64_t index : state.block) hash.add(static_cast<std::uint64_t>(index));
  for (const GlobalView& view : state.views) {
    hash.add(static_cast<std::uint64_t>(view.buffer));
    for (const std::int64_t extent : view.extents) hash.add(static_cast<std::uint64_t>(extent));
    for (const std::int64_t stride : view.strides) hash.add(static_cast<std::uint64_t>(stride));
  }
  hash.add({state.registers.at(0), state.registers.bytes()});
  hash.add(static_cast<std::uint64_t>(state.undefined.any()));
  hash.add({state.undefined.at(0), state.undefined.bytes()});
  add_shared(state.shared, hash);
  add_products(state.products, hash);
  hash.add(state.prints.bytes());
}

void add_block(const BlockState& state, StateHash& hash) {
  add_own(state, hash);
  hash.add(state.order);
  hash.add(state.scalars);
  hash.add(static_cast<std::uint64_t>(state.rank));
  for (std::size_t i = 0; i < state.others.size(); ++i) {
    if (i != state.rank) add_own(state.others[i], hash);
  }
  hash.add(state.next);
  hash.add(state.steps);
  hash.add(state.draws);
  hash.add(state.turns);
  hash.add(static_cast<std::uint64_t>(state.wait.has_value()));
  if (!state.groups.empty()) add_groups(state, hash);
}

}  // namespace

namespace {

/// Bytes of what a block of a cluster has for itself.
std::size_t bytes_of(const OwnState& state) {
  const SharedMemory& shared = state.shared;
  std::size_t bytes = state.registers.bytes() + state.undefined.bytes();
  bytes += state.views.size() * sizeof(GlobalView) + state.prints.bytes().size();
  bytes += shared.bytes.size() + shared.undefined.size() + shared.in_flight.size() / 8;
  bytes += shared.since_barrier.records.size() * sizeof(AccessRecord);
  bytes += shared.since_barrier.recent.size() * sizeof(RecentAccess);
  for (const PendingCopy& copy : shared.copies) bytes += sizeof(PendingCopy) + copy.data.size();
  for (const BufferHistory& history : state.global.since_barrier) {
    bytes += history.touched.size() * 64;
    bytes += history.recent.size() * sizeof(GlobalFootprint) + history.marks.size() * 64;
  }
  for (const TouchedBits& block : state.global.block) bytes += block.size() * 64;
  return bytes;
}

}  // namespace

std::size_t bytes_of(const Resident& resident) {
  const BlockState& state = resident.state;
  std::size_t bytes = sizeof(Resident) + bytes_of(static_cast<const OwnState&>(state));
  for (const OwnState& other : state.others) bytes += sizeof(OwnState) + bytes_of(other);
  bytes += (state.scalars.size() + resident.last_run.size()) * sizeof(std::uint64_t);
  bytes += state.accesses.size() * sizeof(GroupAccess);
  for (const GroupState& group : state.groups) {
    bytes += sizeof(GroupState) + group.scalars.size() * sizeof(std::uint64_t);
    for (const PendingCopy& copy : group.copies.copies) bytes += sizeof(copy) + copy.data.size();
    bytes += group.products.pending.size() * sizeof(PendingProduct);
  }
  for (const AsyncOperation& each : state.under_way) bytes += sizeof(each) + each.data.size();
  return bytes;
}

std::uint64_t hash_of(const MachineState& state) {
  StateHash hash;
  hash.add(state.launch);
  hash.add(state.moment);
  hash.add(state.next_rank);
  hash.add(static_cast<std::uint64_t>(state.phase));
  hash.add(state.position);
  hash.add(static_cast<std::uint64_t>(state.stuck));
  for (const auto& resident : state.residents) {
    hash.add(resident->rank);
    hash.add(static_cast<std::uint64_t>(resident->ended));
    hash.add(resident->last_run);
    add_block(resident->state, hash);
  }
  hash.add(state.executed);
  return hash.value();
}

}  // namespace tilevm::sim::debug
