// Instructions that give a tile another type or layout.
#include <array>
#include <cstring>
#include <utility>

#include "isa/layout/layout_ops.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/checks/replicas.h"
#include "sim/exec/move_elements.h"
#include "sim/exec/semantics.h"
#include "sim/state/on_lanes.h"

namespace tilevm::sim {

/// Bit j of a thread stays bit j of that thread. If source and result share their bytes
/// (RegisterFile), nothing is copied.
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

namespace {

/// Whether elements change their threads.
bool crosses_threads(const isa::ConvertLayout& inst, const Preparation& preparation) {
  return !isa::thread_local_equivalent(preparation.register_type(inst.src.var).layout, inst.layout);
}

std::shared_ptr<const ElementMoves> convert_moves(const isa::ConvertLayout& inst,
                                                  const Preparation& preparation) {
  return make_moves({inst.src.var}, preparation, [](isa::Index&) { return 0U; });
}

}  // namespace

/// Each place takes its element from another place, of the same thread if that is enough.
template <>
Action prepare(const isa::ConvertLayout& inst, const Preparation& preparation) {
  if (crosses_threads(inst, preparation)) return move_elements(convert_moves(inst, preparation));
  const Tile result = preparation.result_tile();
  const std::size_t bytes = lane_bytes(result.bits);
  return on_lanes(std::array{lane_operand(inst.src.var, preparation)}, result,
                  [bytes](const std::uint8_t* in, std::uint8_t* out, std::size_t count) {
                    if (in != out) std::memcpy(out, in, count * bytes);
                  });
}

template <>
Action prepare(const isa::Cast& inst, const Preparation& preparation) {
  const isa::DType from = preparation.register_type(inst.src.var).dtype;
  return on_lanes(std::array{lane_operand(inst.src.var, preparation)}, preparation.result_tile(),
                  preparation.tables.cast(from, inst.dtype));
}

template <>
UndefinedTransfer undefined_transfer(const isa::View& inst, const Preparation& preparation) {
  return view_transfer(inst.src.var, preparation);
}

template <>
UndefinedTransfer undefined_transfer(const isa::ConvertLayout& inst,
                                     const Preparation& preparation) {
  if (crosses_threads(inst, preparation)) return move_undefined(convert_moves(inst, preparation));
  return convert_transfer(inst.src.var, preparation);
}

template <>
ShadowFlow shadow_flow(const isa::Cast& inst, const Preparation& preparation) {
  return computed([](double x) { return x; }, inst.src, preparation);
}

template <>
ShadowFlow shadow_flow(const isa::View& inst, const Preparation& preparation) {
  return viewed(inst.src, preparation);
}

template <>
ShadowFlow shadow_flow(const isa::ConvertLayout& inst, const Preparation& preparation) {
  if (crosses_threads(inst, preparation))
    return moved(convert_moves(inst, preparation), preparation);
  return moved(inst.src, preparation);
}

template <>
DataFlow data_flow(const isa::View& inst, const Preparation&) {
  return {DataFlow::Kind::viewed, inst.src.var, {}};
}

template <>
DataFlow data_flow(const isa::ConvertLayout& inst, const Preparation& preparation) {
  if (crosses_threads(inst, preparation)) {
    return moved_flow({inst.src.var}, convert_moves(inst, preparation));
  }
  return moved_flow(inst.src.var, preparation);
}

}  // namespace tilevm::sim
