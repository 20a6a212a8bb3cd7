// More than 400 lines: copies to shared and to global memory share boxes and their checks.
// Asynchronous copies: from global to shared memory by all threads, and boxes by tensor maps, to
// shared memory, of other blocks of a cluster as well, counted by barriers, and to global memory,
// in commit groups of a thread.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "isa/program/tile_move.h"
#include "isa/rules/tensor_map.h"
#include "isa/type/bits.h"
#include "sim/access/copy_plan.h"
#include "sim/access/shared_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/checks/barrier_stage.h"
#include "sim/checks/cluster_checks.h"
#include "sim/checks/group_races.h"
#include "sim/exec/async_copy.h"
#include "sim/exec/global_moves.h"
#include "sim/exec/semantics.h"
#include "sim/shadow/shadow_access.h"
#include "sim/state/access_observer.h"
#include "sim/state/cluster.h"
#include "sim/state/random_draw.h"

namespace tilevm::sim {
namespace {

/// Where the index of a copy is for each element.
IndexedTile index_tile(const isa::CopyAsync& inst, const isa::Shape& shape,
                       const Preparation& preparation) {
  const isa::VarId index = inst.index->var;
  return indexed_copy({index, inst.dim->dims.front()}, preparation.register_type(index),
                      preparation.registers.offset(index), shape);
}

/// Numbers of chains (GroupOrder::chain): of the copies that a stage of a barrier counts, by stage,
/// and of those that a thread puts in groups, two for each thread.
constexpr std::uint32_t loads_chain = 0x40000000, stores_chain = 0x50000000;
/// The 16 bits that hardware fills in for NaN, again and again.
constexpr std::uint64_t nan_pattern = 0x7ff77ff77ff77ff7;

/// Both sides of a copy.
struct BoxAccess {
  GlobalAccess global;
  SharedAccess shared;
  std::vector<std::size_t> order;  ///< the view's dimension, by dimension of the map
};

BoxAccess make_box(const isa::TensorCopy& copy, const Preparation& preparation) {
  const isa::SharedType& type = preparation.shared_type(copy.tensor);
  const isa::Shape shape = isa::tile_shape(copy.offset, type);
  const auto parts = preparation.tables.parts(shape);
  const Tile tile = data_tile(*parts, type.dtype.bits);
  BoxAccess box{make_global_access(copy.view, shape, copy.view_offset, tile, parts, preparation),
                make_shared_access(copy.tensor, shape, copy.offset, tile, parts, preparation),
                *isa::map_order(preparation.global_type(copy.view))};
  box.global.tile_name = preparation.name(copy.tensor);
  return box;
}

bool refuse_box(const GlobalAccess& access, std::string why, Context& context) {
  return context.fail(Code::bad_tensor_box, access.span, std::move(why));
}

/// What hardware wants of a view and of the place of a box, which may be known only now.
bool check_box(const GlobalAccess& access, const std::vector<std::size_t>& order,
               const TileOrigin& origin, bool stores, Context& context) {
  const GlobalView& view = context.state.views[access.view];
  const auto rank = static_cast<std::size_t>(view.rank);
  const std::int64_t bytes = access.tile.bits / 8;
  std::vector<std::int64_t> extents, strides;
  for (const std::size_t d : order) {
    extents.push_back(view.extents[d]);
    strides.push_back(view.strides[d] * bytes);
  }
  strides.pop_back();
  if (const auto why = isa::why_no_map(extents, strides)) {
    return refuse_box(
        access,
        fmt::format("`{}` has no tensor map of `{}`: {}", access.mnemonic, access.view_name, *why),
        context);
  }
  const std::size_t inner = order.back();
  const std::int64_t begin = origin[inner];
  if (begin * bytes % isa::map_unit != 0) {
    return refuse_box(
        access,
        fmt::format("`{}` begins at element {} of dimension {} of `{}`; a copy by a tensor map "
                    "begins at a multiple of 16 bytes, {} elements",
                    access.mnemonic, begin, inner, access.view_name, isa::map_unit / bytes),
        context);
  }
  for (std::size_t d = 0; stores && d < rank; ++d) {
    if (origin[d] >= 0) continue;
    return refuse_box(
        access,
        fmt::format("`{}` begins at {} along dimension {} of `{}`; a store by a tensor "
                    "map does not begin below zero",
                    access.mnemonic, origin[d], d, access.view_name),
        context);
  }
  const std::int64_t last = view.extents[inner];
  const bool is_cut = begin < last && begin + access.extents[inner] > last;
  if (!stores || !is_cut || last * bytes % isa::map_unit == 0) return true;
  refuse_box(
      access,
      fmt::format("`{}` reaches past the end of dimension {} of `{}`, whose extent of {} is not a "
                  "multiple of 16 bytes: hardware writes up to the next one",
                  access.mnemonic, inner, access.view_name, last),
      context);
  add_note(context.fault->diagnostic,
           "make the extent a multiple of 16 bytes, or store the edge by `StoreGlobal`",
           access.view_span);
  return false;
}

std::uint32_t own_thread(const Context& context) {
  return context.settings.groups->groups[context.state.group].threads.first;
}

void tell_observer(const ResolvedAccess& shared, bool writes, Context& context) {
  AccessObserver* const observer = context.settings.observers.accesses;
  if (observer != nullptr) observer->shared(*shared.access, shared.origin, writes, context);
}

// --- To shared memory ----------------------------------------------------------------------------

class TensorLoad : public AsyncPlan {
 public:
  TensorLoad(BoxAccess box, StageAccess stage, bool fills_nan,
             const std::optional<isa::ScalarOperand>& multicast)
      : plan_{std::move(box.global), std::move(box.shared)},
        order_(std::move(box.order)),
        stage_(std::move(stage)),
        fills_nan_(fills_nan) {
    if (multicast) multicast_ = ScalarCode(multicast->value);
  }

  bool begin(Context& context) const {
    const auto site = find_stage(stage_, context);
    ResolvedAccess to;
    std::uint64_t mask = std::uint64_t{1} << context.state.rank;
    if (!site || !resolve(plan_.destination, context, to) || !find_mask(mask, context)) {
      return false;
    }
    const GroupsPlan& groups = *context.settings.groups;
    const std::size_t stage = site->object % groups.block_objects;
    for (std::uint32_t block = 0; block < groups.blocks; ++block) {
      if ((mask >> block & 1) == 0) continue;
      BarrierUseSite counted = *site;
      counted.object = groups.object_of(block, stage);
      if (!begin_for(block, counted, to, context)) return false;
    }
    return true;
  }

  bool complete(AsyncOperation& operation, Context& context) const override {
    PendingCopy copy;
    copy.plan = &plan_;
    copy.shared_origin = operation.shared_origin;
    copy.data = std::move(operation.data);
    copy.padding = std::move(operation.padding);
    copy.shadow = std::move(operation.shadow);
    const BlockVisit visit(operation.block, context.state);
    fill_shared(copy, context);
    return true;
  }

 private:
  void fill_nan(PendingCopy& copy, const Context& context) const {
    TileInView cursor(plan_.source, context, copy.source_origin);
    const Tile& tile = plan_.source.tile;
    for (std::size_t i = 0; i < tile.locals; ++i) {
      if (cursor.locate(0, i)) continue;
      isa::put_bits(copy.data.data(), i * tile.bits, tile.bits, nan_pattern >> (64 - tile.bits));
    }
  }

  /// The blocks of the cluster that get the box.
  bool find_mask(std::uint64_t& mask, Context& context) const {
    if (!multicast_) return true;
    const std::uint64_t all = (std::uint64_t{1} << context.settings.groups->blocks) - 1;
    if (!context.evaluate(*multicast_, mask)) return false;
    if (mask != 0 && mask <= all) return true;
    return context.fail(Code::out_of_bounds, stage_.site.span,
                        fmt::format("`{}` has the multicast mask {}; bit r names the block of rank "
                                    "r, and the mask of all blocks of the cluster is {}",
                                    stage_.site.mnemonic, static_cast<std::int64_t>(mask), all));
  }

  /// The phases of barriers that the copying thread knows to be complete ended before the copy
  /// began. So whoever waits for the phase that counts the copy knows them: in a cluster, it
  /// arrives at barriers of other blocks for which it does not wait itself.
  static void tell_phases(std::size_t object, Context& context) {
    if (context.settings.groups->blocks == 1) return;
    GroupOrder& parties = context.state.parties;
    const PartyClock seen = parties.released(context.state.group).seen;
    for (const SyncObject& each : parties.objects()) {
      const std::uint32_t known = seen[each.chain];
      if (known > 0) parties.object(object).left.seen.raise(each.chain, known);
    }
  }

  /// Begins the copy to a block of the cluster, which counts its bytes.
  bool begin_for(std::uint32_t block, const BarrierUseSite& site, const ResolvedAccess& to,
                 Context& context) const {
    BlockState& state = context.state;
    const auto bytes = static_cast<std::int64_t>(plan_.destination.tile.bytes());
    if (!begin_counted(site, bytes, context)) return false;
    const Party chain = state.parties.chain(
        state.group, loads_chain + static_cast<std::uint32_t>(site.object), isa::Proxy::async);
    const Segment segment{chain, state.parties.object(site.object).copies++};
    if (!note_remote_use(block, {block, segment, site.mnemonic, site.span}, context)) return false;
    tell_phases(site.object, context);
    PendingCopy copy;
    copy.plan = &plan_;
    state.begun = segment;
    const bool is_read = load_for_copy(plan_.source, context, copy);
    state.begun.reset();
    if (!is_read || !check_box(plan_.source, order_, copy.source_origin, false, context)) {
      return false;
    }
    if (!check_place(block, to, segment, context)) return false;
    if (fills_nan_) fill_nan(copy, context);
    state.under_way.push_back({.plan = this,
                               .span = stage_.site.span,
                               .group = state.group,
                               .segment = segment,
                               .object = site.object,
                               .bytes = bytes,
                               .block = block,
                               .shared_origin = to.origin,
                               .data = std::move(copy.data),
                               .padding = std::move(copy.padding),
                               .shadow = std::move(copy.shadow)});
    return !arrives_now(context) || complete_operation(state.under_way.size() - 1, context);
  }

  /// Whether the copy may fill its place in the shared memory of a block.
  static bool check_place(std::uint32_t block, const ResolvedAccess& to, const Segment& segment,
                          Context& context) {
    const BlockVisit visit(block, context.state);
    tell_observer(to, true, context);
    return check_async_access(to, SharedUse::copy, {segment, own_thread(context)}, context);
  }

  /// Whether the copy that began last is complete at once. Copies that a stage counts complete in
  /// the order in which they began.
  static bool arrives_now(Context& context) {
    switch (context.settings.completion.time) {
      case Completion::Time::latest:
        return false;
      case Completion::Time::earliest:
        break;
      case Completion::Time::random:
        if (next_random(context) % 2 != 0) return false;
        break;
    }
    const auto& all = context.state.under_way;
    return std::none_of(all.begin(), all.end() - 1, [&](const AsyncOperation& each) {
      return each.object == all.back().object;
    });
  }

  CopyPlan plan_;
  std::vector<std::size_t> order_;  ///< BoxAccess::order
  StageAccess stage_;
  std::optional<ScalarCode> multicast_;
  bool fills_nan_;
};

// --- To global memory ----------------------------------------------------------------------------

TensorStores& stores_of_thread(Context& context) {
  auto& all = context.state.tensor_stores;
  const std::uint32_t thread = own_thread(context);
  const auto known = std::find_if(all.begin(), all.end(),
                                  [&](const TensorStores& each) { return each.thread == thread; });
  if (known != all.end()) return *known;
  all.push_back({.thread = thread});
  return all.back();
}

/// The chain of what a thread's groups do to shared memory, and of what they do to global memory.
Party stores_of(std::uint32_t thread, bool to_global, const Context& context) {
  return context.state.parties.chain(0, stores_chain + 2 * thread + (to_global ? 1 : 0),
                                     isa::Proxy::async);
}

bool begin_store(const BoxAccess& box, Context& context) {
  ResolvedAccess from;
  TileOrigin origin;
  if (!resolve(box.shared, context, from) || !find_origin(box.global, context, origin) ||
      !check_box(box.global, box.order, origin, true, context)) {
    return false;
  }
  BlockState& state = context.state;
  TensorStores& stores = stores_of_thread(context);
  tell_observer(from, false, context);
  const Segment reading{stores_of(stores.thread, false, context), stores.groups},
      writing{stores_of(stores.thread, true, context), stores.groups};
  if (!check_async_access(from, SharedUse::product, {reading, stores.thread}, context)) {
    return false;
  }
  CopiedTile copied;
  copied.data.resize(box.shared.tile.bytes());
  read_shared(from, state.shared.bytes.data(), copied.data.data());
  const Checks& checks = context.settings.checks;
  const bool may_lack =
      checks.padding || (checks.uninitialized && may_be_undefined(box.shared, state.shared));
  if (may_lack) {
    copied.undefined.resize(copied.data.size());
    read_shared(from, state.shared.undefined.data(), copied.undefined.data());
  }
  if (checks.padding) copied.padding = state.padding[box.shared.tensor_number];
  if (state.shadow.kept) copied.shadow = read_slots(from, context);
  stores.is_open = true;
  stores.last = box.global.span;
  state.begun = writing;
  const bool is_stored = store_copy(box.global, origin, copied, context);
  state.begun.reset();
  return is_stored;
}

void wait_for_stores(std::uint32_t pending, bool reading, Context& context) {
  TensorStores& stores = stores_of_thread(context);
  if (stores.groups < pending) return;
  const std::uint32_t complete = stores.groups - pending;
  BlockState& state = context.state;
  stores.read = std::max(stores.read, complete);
  state.parties.know(state.group, stores_of(stores.thread, false, context), stores.read);
  if (reading) return;
  stores.written = std::max(stores.written, complete);
  state.parties.know(state.group, stores_of(stores.thread, true, context), stores.written);
}

bool waits_for_reading(const std::optional<isa::ScalarOperand>& flag) {
  return flag && flag->value.constant_value()->as_bool();
}

}  // namespace

/// All copies of the action and of the state share one plan, since pending copies point at the
/// plan.
template <>
Action prepare(const isa::CopyAsync& inst, const Preparation& preparation) {
  const isa::SharedType& type = preparation.shared_type(inst.dst.var);
  const isa::Shape shape = isa::tile_shape(inst.shared_offset, type);
  const auto parts = preparation.tables.parts(shape);
  const Tile tile = data_tile(*parts, type.dtype.bits);
  std::optional<int> indexed_dim;
  if (inst.dim) indexed_dim = inst.dim->dims.front();
  GlobalAccess source =
      make_global_access(inst.src.var, shape, inst.offset, tile, parts, preparation, indexed_dim);
  if (inst.index) {
    const isa::VarId index = inst.index->var;
    source.indexed = make_indexed_access(index_tile(inst, shape, preparation), source.tile_dims,
                                         tile, preparation.name(index), preparation);
  }
  auto plan = std::make_shared<const CopyPlan>(CopyPlan{
      std::move(source),
      make_shared_access(inst.dst.var, shape, inst.shared_offset, tile, parts, preparation)});
  return [plan = std::move(plan)](Context& context) { return issue_copy(*plan, context); };
}

/// All indices must have values.
template <>
UndefinedTransfer undefined_transfer(const isa::CopyAsync& inst, const Preparation& preparation) {
  return use_transfer(tile_operands(inst), preparation);
}

template <>
Action prepare(const isa::CopyAsyncCommitGroup&, const Preparation&) {
  return [](Context& context) {
    commit_copies(context.state.shared);
    return true;
  };
}

template <>
Action prepare(const isa::CopyAsyncWaitGroup& inst, const Preparation& preparation) {
  const auto pending = static_cast<std::uint64_t>(inst.pending.value.constant_int().value_or(0));
  return [pending, span = preparation.span, number = preparation.new_barrier()](Context& context) {
    wait_for_copies(pending, span, number, context);
    return true;
  };
}

template <>
Action prepare(const isa::CopyAsyncTensorGlobalToShared& inst, const Preparation& preparation) {
  const isa::TensorCopy copy = *isa::tensor_copy(inst);
  auto load = std::make_shared<const TensorLoad>(
      make_box(copy, preparation), make_stage(inst, preparation), copy.fill_nan, inst.multicast);
  return [load = std::move(load)](Context& context) { return load->begin(context); };
}

template <>
Action prepare(const isa::CopyAsyncTensorSharedToGlobal& inst, const Preparation& preparation) {
  auto box = std::make_shared<const BoxAccess>(make_box(*isa::tensor_copy(inst), preparation));
  return [box = std::move(box)](Context& context) { return begin_store(*box, context); };
}

template <>
Action prepare(const isa::CopyAsyncTensorCommitGroup&, const Preparation&) {
  return [](Context& context) {
    TensorStores& stores = stores_of_thread(context);
    ++stores.groups;
    stores.is_open = false;
    return true;
  };
}

template <>
Action prepare(const isa::CopyAsyncTensorWaitGroup& inst, const Preparation&) {
  const auto pending = static_cast<std::uint32_t>(inst.pending.value.constant_int().value_or(0));
  return [pending, reading = waits_for_reading(inst.read)](Context& context) {
    wait_for_stores(pending, reading, context);
    return true;
  };
}

}  // namespace tilevm::sim
