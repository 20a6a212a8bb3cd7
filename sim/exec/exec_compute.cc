// Instructions that give tiles a new reading.
#include <cstring>
#include <utility>

#include "sim/checks/replicas.h"
#include "sim/exec/semantics.h"

namespace tilevm::sim {

/// Bit j of a thread stays bit j of that thread. Where both share their bytes (RegisterFile) there
/// is nothing to do.
template <>
Action prepare(const isa::View& inst, const Preparation& preparation) {
  const Tile source = preparation.tile(inst.src.var), result = preparation.result_tile();
  Action action = [source, result](Context& context) {
    if (source.offset == result.offset) return true;
    std::memcpy(context.state.registers.at(result.offset),
                context.state.registers.at(source.offset), result.bytes());
    return true;
  };
  const isa::VarId to = preparation.result();
  const isa::RegisterLayout& layout = preparation.register_type(to).layout;
  if (!may_differ(preparation.register_type(inst.src.var).layout, layout)) return action;
  return [action = std::move(action),
          check = ReplicaCheck{result, first_holders(layout), preparation.parts(to),
                               preparation.name(to), preparation.span}](Context& context) {
    return action(context) && (!context.settings.checks.replicas || check_replicas(check, context));
  };
}

}  // namespace tilevm::sim
