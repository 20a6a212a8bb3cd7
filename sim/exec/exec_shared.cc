// Instructions on shared memory, barriers, and asynchronous copies.
#include <limits>
#include <utility>

#include "isa/program/tile_move.h"
#include "sim/access/shared_access.h"
#include "sim/checks/shared_checks.h"
#include "sim/exec/async_copy.h"
#include "sim/exec/semantics.h"
#include "sim/shadow/shadow_access.h"

namespace tilevm::sim {
namespace {

/// A tile that one thread holds, in row-major order: what a copy moves.
Tile data_tile(const LayoutParts& parts, unsigned bits) {
  Tile tile;
  tile.threads = 1;
  tile.locals = parts.locals;
  tile.bits = bits;
  tile.thread_bytes = (parts.locals * bits + 7) / 8;
  return tile;
}

}  // namespace

/// The verifier gave the tensor its place; what lies there stays.
template <>
Action prepare(const isa::AllocateShared&, const Preparation&) {
  return [](Context&) { return true; };
}

template <>
Action prepare(const isa::LoadShared& inst, const Preparation& preparation) {
  const isa::VarId result = preparation.result();
  return [access = make_shared_access(
              "LoadShared", inst.src.var, preparation.register_type(result).shape(), inst.offset,
              preparation.tile(result), preparation.parts(result), preparation)](Context& context) {
    Numbers origin{};
    if (!find_shared_origin(access, context, origin)) return false;
    if (!check_touch(access, origin, SharedUse::read, context)) return false;
    const FoundTable runs = find_runs(access, context, origin);
    const SharedMemory& shared = context.state.shared;
    read_shared(runs, access, shared.bytes.data(), context.state.registers.at(access.tile.offset));
    UndefinedRegisters& undefined = context.state.undefined;
    if (may_be_undefined(access, shared)) {
      read_shared(runs, access, shared.undefined.data(), undefined.at(access.tile.offset));
      undefined.update(access.tile, {"LoadShared", access.span});
    } else if (undefined.any()) {
      undefined.clear(access.tile);
    }
    if (context.state.shadow.kept) load_shadow(runs, access, context);
    return true;
  };
}

template <>
Action prepare(const isa::StoreShared& inst, const Preparation& preparation) {
  const isa::VarId src = inst.src.var;
  return [access = make_shared_access(
              "StoreShared", inst.dst.var, preparation.register_type(src).shape(), inst.offset,
              preparation.tile(src), preparation.parts(src), preparation)](Context& context) {
    Numbers origin{};
    if (!find_shared_origin(access, context, origin)) return false;
    if (!check_touch(access, origin, SharedUse::write, context)) return false;
    const FoundTable runs = find_runs(access, context, origin);
    SharedMemory& shared = context.state.shared;
    write_shared(runs, access, context.state.registers.at(access.tile.offset), shared.bytes.data());
    if (may_be_undefined(access, shared)) define_shared(runs, access, shared);
    if (context.state.shadow.kept) store_shadow(runs, access, context);
    return true;
  };
}

/// The plan is shared by all copies of the action and of the state, since pending copies point at
/// it.
template <>
Action prepare(const isa::CopyAsync& inst, const Preparation& preparation) {
  const isa::SharedType& type = preparation.shared_type(inst.dst.var);
  const isa::Shape shape = isa::tile_shape(inst.shared_offset, type);
  const auto parts = preparation.tables.parts(shape);
  const Tile tile = data_tile(*parts, type.dtype.bits);
  auto plan = std::make_shared<const CopyPlan>(CopyPlan{
      make_global_access("CopyAsync", inst.src.var, shape, inst.offset, tile, parts, preparation),
      make_shared_access("CopyAsync", inst.dst.var, shape, inst.shared_offset, tile, parts,
                         preparation)});
  return [plan = std::move(plan)](Context& context) { return issue_copy(*plan, context); };
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
  return [pending, span = preparation.span,
          number = preparation.new_barrier("CopyAsyncWaitGroup")](Context& context) {
    wait_for_copies(pending, span, number, context);
    return true;
  };
}

template <>
Action prepare(const isa::Synchronize&, const Preparation& preparation) {
  return [number = preparation.new_barrier("Synchronize")](Context& context) {
    synchronize(number, context);
    return true;
  };
}

/// No record has this number, so the block has ended.
template <>
Action prepare(const isa::Exit&, const Preparation&) {
  return [](Context& context) {
    context.state.next = std::numeric_limits<std::size_t>::max();
    return true;
  };
}

}  // namespace tilevm::sim
