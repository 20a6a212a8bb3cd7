// Which stage of a memory barrier an instruction names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/checks/group_barriers.h"
#include "sim/state/preparation.h"

namespace tilevm::sim {

/// A stage of a barrier, prepared.
struct StageAccess {
  std::size_t first = 0;  ///< the barrier's first stage, in GroupsPlan::objects
  std::int64_t stages = 1;
  std::optional<ScalarCode> stage;
  std::optional<ScalarCode> block;  ///< rank in the cluster of the block whose barrier it is
  std::string name;
  BarrierUseSite site;
};

/// That of an instruction with `barrier` and `stage`.
template <class Inst>
StageAccess make_stage(const Inst& inst, const Preparation& preparation) {
  const isa::KernelInfo::Barrier& barrier = preparation.info.barrier(inst.barrier.var);
  StageAccess access{static_cast<std::size_t>(barrier.first),
                     barrier.stages,
                     {},
                     {},
                     preparation.name(inst.barrier.var),
                     {0, preparation.mnemonic(), preparation.span}};
  if (inst.stage) access.stage = ScalarCode(inst.stage->value);
  if constexpr (requires { inst.block; }) {
    if (inst.block) access.block = ScalarCode(inst.block->value);
  }
  return access;
}

/// The stage of this execution; nothing after a fault.
[[nodiscard]] std::optional<BarrierUseSite> find_stage(const StageAccess& access, Context& context);

}  // namespace tilevm::sim
