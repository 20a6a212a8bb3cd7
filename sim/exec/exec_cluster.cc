// Clusters: where a block stands in its cluster, and the barrier of all blocks of one.
#include "isa/inst/cluster.h"
#include "sim/checks/cluster_checks.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {
namespace {

/// Arrives, unless the block waits since it has come here, and waits.
bool synchronize_cluster(std::string_view mnemonic, Span span, Context& context) {
  BlockState& state = context.state;
  const bool has_come = state.groups[state.group].wait.has_value();
  if (!has_come && !arrive_at_cluster(mnemonic, span, context)) return false;
  return wait_for_cluster(mnemonic, span, context);
}

}  // namespace

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
