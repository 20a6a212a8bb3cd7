#include "sim/checks/barrier_stage.h"

#include <fmt/format.h>

namespace tilevm::sim {

std::optional<BarrierUseSite> find_stage(const StageAccess& access, Context& context) {
  std::int64_t stage = 0;
  if (access.stage && !context.evaluate(*access.stage, stage)) return std::nullopt;
  if (stage < 0 || stage >= access.stages) {
    context.fail(Code::out_of_bounds, access.site.span,
                 fmt::format("`{}` names stage {} of `{}`, which has stages 0 to {}",
                             access.site.mnemonic, stage, access.name, access.stages - 1));
    return std::nullopt;
  }
  const GroupsPlan& groups = *context.settings.groups;
  std::int64_t block = context.state.rank;
  if (access.block && !context.evaluate(*access.block, block)) return std::nullopt;
  if (block < 0 || block >= groups.blocks) {
    context.fail(Code::out_of_bounds, access.site.span,
                 fmt::format("`{}` names block {} of the cluster, which has blocks 0 to {}",
                             access.site.mnemonic, block, groups.blocks - 1));
    return std::nullopt;
  }
  BarrierUseSite site = access.site;
  site.object = groups.object_of(static_cast<std::uint32_t>(block),
                                 access.first + static_cast<std::size_t>(stage));
  return site;
}

}  // namespace tilevm::sim
