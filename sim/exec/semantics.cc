#include "sim/exec/semantics.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "sim/checks/neutral_elements.h"

namespace tilevm::sim {
namespace {

template <class Inst>
UndefinedTransfer plain_transfer_of(const Inst& inst, const Preparation& preparation) {
  if constexpr (requires { valued_undefined_transfer(inst, preparation); }) {
    return valued_undefined_transfer(inst, preparation);
  } else if constexpr (Inst::schema.description.elementwise) {
    return elementwise_transfer(tile_operands(inst), preparation);
  } else if constexpr (isa::has_register_tiles<Inst>()) {
    return undefined_transfer(inst, preparation);
  } else {
    return {};
  }
}

template <class Inst>
UndefinedTransfer transfer_of(const Inst& inst, const Preparation& preparation) {
  UndefinedTransfer transfer = plain_transfer_of(inst, preparation);
  if constexpr (requires { neutral_elements(inst, preparation); }) {
    if (preparation.follows_padding) {
      return ignore_neutral(neutral_elements(inst, preparation), std::move(transfer), preparation);
    }
  }
  return transfer;
}

template <class Inst>
ShadowFlow shadow_flow_of(const Inst& inst, const Preparation& preparation) {
  if constexpr (Inst::schema.description.result == isa::ResultKind::register_tile) {
    return shadow_flow(inst, preparation);
  } else {
    return {};
  }
}

/// Whether an operand of the instruction is a tensor in memory.
template <class Inst>
constexpr bool touches_memory() {
  bool found = false;
  isa::for_each_slot<Inst>(
      [&](const auto& info, std::size_t) { found = found || info.access != isa::Access::none; });
  return found;
}

template <class Inst>
DataFlow flow_of(const Inst& inst, const Preparation& preparation) {
  if constexpr (Inst::schema.description.result != isa::ResultKind::register_tile) {
    return {};
  } else if constexpr (Inst::schema.description.elementwise) {
    DataFlow flow = elementwise_flow(tile_operands(inst), preparation);
    if constexpr (std::is_same_v<Inst, isa::Where>) flow.kind = DataFlow::Kind::selected;
    return flow;
  } else if constexpr (touches_memory<Inst>() && !isa::is_product<Inst>()) {
    return {DataFlow::Kind::loaded, {}, {}};
  } else {
    return data_flow(inst, preparation);
  }
}

}  // namespace

DataFlow data_flow_of(const Preparation& preparation) {
  return std::visit([&](const auto& inst) { return flow_of(inst, preparation); },
                    preparation.stmt.inst);
}

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
