// Barriers between groups of warps and between the blocks of a cluster, and proxy fences.
#include <fmt/format.h>

#include <utility>

#include "isa/inst/barrier.h"
#include "isa/inst/cluster.h"
#include "isa/inst/limits.h"
#include "sim/checks/barrier_stage.h"
#include "sim/checks/cluster_checks.h"
#include "sim/checks/group_barriers.h"
#include "sim/checks/product_checks.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {
namespace {

/// The object of a named barrier, and for how many warps it is.
template <class Inst>
std::pair<std::size_t, std::uint32_t> named(const Inst& inst, const Preparation& preparation) {
  const auto id = static_cast<std::size_t>(inst.id.value.constant_int().value_or(0));
  return {static_cast<std::size_t>(preparation.info.barrier_stages) + id,
          static_cast<std::uint32_t>(inst.warps.value.constant_int().value_or(1))};
}

/// The object of the current block.
BarrierUseSite of_block(BarrierUseSite site, const Context& context) {
  site.object = context.settings.groups->object_of(context.state.rank, site.object);
  return site;
}

/// Arrives, unless the block waits since it has come here, and waits.
bool synchronize_cluster(std::string_view mnemonic, Span span, Context& context) {
  BlockState& state = context.state;
  const bool has_come = state.groups[state.group].wait.has_value();
  if (!has_come && !arrive_at_cluster(mnemonic, span, context)) return false;
  return wait_for_cluster(mnemonic, span, context);
}

}  // namespace

template <>
Action prepare(const isa::AllocateBarrier&, const Preparation& preparation) {
  const isa::KernelInfo::Barrier& barrier = preparation.info.barrier(preparation.result());
  return [first = static_cast<std::size_t>(barrier.first),
          stages = static_cast<std::size_t>(barrier.stages)](Context& context) {
    if (!context.settings.has_parties()) return true;  // nothing uses it
    for (std::size_t i = 0; i < stages; ++i) make_barrier(first + i, context);
    return true;
  };
}

template <>
Action prepare(const isa::Arrive& inst, const Preparation& preparation) {
  return [access = make_stage(inst, preparation)](Context& context) {
    const auto site = find_stage(access, context);
    return site && arrive(*site, 0, context);
  };
}

template <>
Action prepare(const isa::ArriveExpect& inst, const Preparation& preparation) {
  return [access = make_stage(inst, preparation),
          code = ScalarCode(inst.bytes.value)](Context& context) {
    std::int64_t bytes = 0;
    if (!context.evaluate(code, bytes)) return false;
    const auto site = find_stage(access, context);
    if (!site) return false;
    if (0 <= bytes && bytes < isa::max_arrivals) return arrive(*site, bytes, context);
    return context.fail(Code::barrier_phase, site->span,
                        fmt::format("`{}` expects {} bytes; a barrier counts 0 to {} in one "
                                    "instruction",
                                    site->mnemonic, bytes, isa::max_arrivals - 1));
  };
}

template <>
Action prepare(const isa::WaitBarrier& inst, const Preparation& preparation) {
  return [access = make_stage(inst, preparation),
          parity = ScalarCode(inst.parity.value)](Context& context) {
    std::uint64_t bits = 0;
    if (!context.evaluate(parity, bits)) return false;
    const auto site = find_stage(access, context);
    return site && wait_for_phase(*site, bits, context);
  };
}

template <>
Action prepare(const isa::FenceProxy&, const Preparation& preparation) {
  return [number = preparation.new_barrier()](Context& context) {
    if (context.settings.has_parties()) {
      context.state.parties.fence(context.state.group);
    } else {
      note_fence(number, context);
    }
    return true;
  };
}

template <>
Action prepare(const isa::SyncNamedBarrier& inst, const Preparation& preparation) {
  const auto [object, warps] = named(inst, preparation);
  return [site = BarrierUseSite{object, preparation.mnemonic(), preparation.span},
          warps = warps](Context& context) {
    return come_to_named(of_block(site, context), warps, true, context);
  };
}

template <>
Action prepare(const isa::ArriveNamedBarrier& inst, const Preparation& preparation) {
  const auto [object, warps] = named(inst, preparation);
  return [site = BarrierUseSite{object, preparation.mnemonic(), preparation.span},
          warps = warps](Context& context) {
    return come_to_named(of_block(site, context), warps, false, context);
  };
}

template <>
Action prepare(const isa::BlockRank&, const Preparation& preparation) {
  return [slot = static_cast<std::size_t>(preparation.result().index)](Context& context) {
    context.state.scalars[slot] = context.state.rank;
    return true;
  };
}

template <>
Action prepare(const isa::SynchronizeCluster&, const Preparation& preparation) {
  return [mnemonic = preparation.mnemonic(), span = preparation.span](Context& context) {
    return synchronize_cluster(mnemonic, span, context);
  };
}

template <>
Action prepare(const isa::ArriveCluster&, const Preparation& preparation) {
  return [mnemonic = preparation.mnemonic(), span = preparation.span](Context& context) {
    return arrive_at_cluster(mnemonic, span, context);
  };
}

template <>
Action prepare(const isa::WaitCluster&, const Preparation& preparation) {
  return [mnemonic = preparation.mnemonic(), span = preparation.span](Context& context) {
    return wait_for_cluster(mnemonic, span, context);
  };
}

}  // namespace tilevm::sim
