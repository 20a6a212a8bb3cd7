#include "sim/exec/semantics.h"

#include <type_traits>
#include <variant>

namespace tilevm::sim {
namespace {

template <class Inst>
UndefinedTransfer transfer_of(const Inst& inst, const Preparation& preparation) {
  if constexpr (Inst::schema.description.elementwise) {
    return elementwise_transfer(tile_operands(inst), preparation);
  } else if constexpr (isa::has_register_tiles<Inst>()) {
    return undefined_transfer(inst, preparation);
  } else {
    return {};
  }
}

template <class Inst>
ShadowFlow shadow_flow_of(const Inst& inst, const Preparation& preparation) {
  if constexpr (Inst::schema.description.result == isa::ResultKind::register_tile) {
    return shadow_flow(inst, preparation);
  } else {
    return {};
  }
}

}  // namespace

Semantics semantics_of(const Preparation& preparation, bool keeps_shadow) {
  return std::visit(
      [&](const auto& inst) {
        Semantics semantics{prepare(inst, preparation), transfer_of(inst, preparation), {}};
        if (keeps_shadow) semantics.shadow = shadow_flow_of(inst, preparation);
        return semantics;
      },
      preparation.stmt.inst);
}

}  // namespace tilevm::sim
