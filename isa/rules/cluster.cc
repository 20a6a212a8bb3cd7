#include "isa/inst/cluster.h"

#include <fmt/format.h>

#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

template <class Inst>
RuleResult cluster_types(std::vector<Type> results, const RuleContext& context) {
  const std::string what = fmt::format("`{}`", Inst::schema.description.mnemonic);
  return has_cluster(what, context) ? RuleResult(std::move(results)) : std::nullopt;
}

}  // namespace

template <>
RuleResult result_types(const BlockRank&, const RuleContext& context) {
  return cluster_types<BlockRank>({ScalarType{ScalarKind::i32}}, context);
}

template <>
RuleResult result_types(const SynchronizeCluster&, const RuleContext& context) {
  return cluster_types<SynchronizeCluster>({}, context);
}

template <>
RuleResult result_types(const ArriveCluster&, const RuleContext& context) {
  return cluster_types<ArriveCluster>({}, context);
}

template <>
RuleResult result_types(const WaitCluster&, const RuleContext& context) {
  return cluster_types<WaitCluster>({}, context);
}

}  // namespace tilevm::isa
