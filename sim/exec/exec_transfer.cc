// Instructions that move tiles between registers and memory.
#include <utility>

#include "sim/access/global_access.h"
#include "sim/access/shared_access.h"
#include "sim/exec/global_moves.h"
#include "sim/exec/semantics.h"
#include "sim/exec/shared_moves.h"

namespace tilevm::sim {
namespace {

/// The access of a tile in registers.
GlobalAccess of_registers(isa::VarId view, isa::VarId tile,
                          const std::optional<isa::OffsetList>& offset,
                          const Preparation& preparation) {
  GlobalAccess access =
      make_global_access(view, preparation.register_type(tile).shape(), offset,
                         preparation.tile(tile), preparation.parts(tile), preparation);
  access.tile_name = preparation.name(tile);
  return access;
}

}  // namespace

/// Every thread reads its elements; elements outside the view are zero.
template <>
Action prepare(const isa::LoadGlobal& inst, const Preparation& preparation) {
  return [access = of_registers(inst.src.var, preparation.result(), inst.offset, preparation)](
             Context& context) { return load(access, context); };
}

template <>
Action prepare(const isa::LoadShared& inst, const Preparation& preparation) {
  const isa::VarId result = preparation.result();
  return [access = make_shared_access(inst.src.var, preparation.register_type(result).shape(),
                                      inst.offset, preparation.tile(result),
                                      preparation.parts(result), preparation)](Context& context) {
    return load_tile(access, context);
  };
}

/// The first thread that holds an element writes the element, unless it is outside the view.
template <>
Action prepare(const isa::StoreGlobal& inst, const Preparation& preparation) {
  return [access = of_registers(inst.dst.var, inst.src.var, inst.offset, preparation)](
             Context& context) { return store(access, context); };
}

template <>
Action prepare(const isa::StoreShared& inst, const Preparation& preparation) {
  const isa::VarId src = inst.src.var;
  return [access = make_shared_access(inst.dst.var, preparation.register_type(src).shape(),
                                      inst.offset, preparation.tile(src), preparation.parts(src),
                                      preparation)](Context& context) {
    return store_tile(access, context);
  };
}

// The actions of loads and stores move the undefined mask along with the elements. A store to
// global memory needs defined values only for elements inside the view.
template <>
UndefinedTransfer undefined_transfer(const isa::LoadGlobal&, const Preparation&) {
  return {};
}
template <>
UndefinedTransfer undefined_transfer(const isa::LoadShared&, const Preparation&) {
  return {};
}
template <>
UndefinedTransfer undefined_transfer(const isa::StoreGlobal&, const Preparation&) {
  return {};
}
template <>
UndefinedTransfer undefined_transfer(const isa::StoreShared& inst, const Preparation& preparation) {
  return use_transfer(tile_operands(inst), preparation);
}
template <>
ShadowFlow shadow_flow(const isa::LoadGlobal&, const Preparation&) {
  return {};
}
template <>
ShadowFlow shadow_flow(const isa::LoadShared&, const Preparation&) {
  return {};
}

/// Nothing, but the offsets are computed: they may fault.
template <>
Action prepare(const isa::Prefetch& inst, const Preparation&) {
  std::vector<ScalarCode> offsets;
  if (inst.offset) {
    for (const auto& entry : inst.offset->entries) offsets.emplace_back(entry.value);
  }
  return [offsets = std::move(offsets)](Context& context) {
    std::uint64_t unused = 0;
    return std::all_of(offsets.begin(), offsets.end(),
                       [&](const ScalarCode& offset) { return context.evaluate(offset, unused); });
  };
}

}  // namespace tilevm::sim
