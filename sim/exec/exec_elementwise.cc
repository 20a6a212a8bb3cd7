// Instructions that work on register tiles element by element.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "isa/rules/support.h"
#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/exec/semantics.h"
#include "sim/state/on_lanes.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

/// The check before a division: no element of `tile` may be zero.
struct ZeroCheck {
  Tile tile;
  std::shared_ptr<const LayoutParts> parts;
  std::string_view mnemonic;
  std::string name;  ///< the divisor's
  Span span;
};

/// Reports the zeros of a divisor.
bool report_zeros(const ZeroCheck& check, Context& context) {
  const Tile& tile = check.tile;
  const std::uint8_t* registers = context.state.registers.at(tile.offset);
  const auto zeros = find_offenders(check.parts->first_threads, tile.locals,
                                    [&](std::size_t t, std::size_t i) -> std::optional<Offender<>> {
                                      const std::uint8_t* bytes = registers + t * tile.thread_bytes;
                                      if (isa::get_bits(bytes, i * tile.bits, tile.bits) != 0)
                                        return std::nullopt;
                                      return Offender<>{check.parts->index(t, i)};
                                    });
  context.fail(
      Code::run_division_by_zero, check.span,
      fmt::format("`{}` divides by zero: {} of {} elements of `{}` are 0, first {}", check.mnemonic,
                  zeros.count, check.parts->first_threads.size() * tile.locals, check.name,
                  element_text(check.name, zeros.first)));
  context.fault->thread = static_cast<std::int64_t>(zeros.thread);
  return false;
}

template <class Lane>
bool has_zero(const std::uint8_t* lanes, std::size_t n) {
  unsigned zeros = 0;
  for (std::size_t i = 0; i < n; ++i) zeros |= load_lane<Lane>(lanes, i) == 0 ? 1U : 0U;
  return zeros != 0;
}

/// Runs `then`, unless an element of the divisor is zero.
Action unless_zero(ZeroCheck check, Action then) {
  return [check = std::move(check), then = std::move(then)](Context& context) {
    const Tile& tile = check.tile;
    const LaneOperand divisor{tile, nullptr};
    const std::uint8_t* lanes =
        read_lanes(divisor, context.state.registers, 0, tile.threads, context.scratch.lanes[0]);
    const bool zero = with_lane(
        tile.bits, [&]<class Lane>() { return has_zero<Lane>(lanes, tile.threads * tile.locals); });
    return zero ? report_zeros(check, context) : then(context);
  };
}

}  // namespace

Action prepare_binary(isa::BinaryOp op, isa::RegisterOperand a, isa::RegisterOperand b,
                      const Preparation& preparation) {
  const isa::DType type = preparation.register_type(a.var).dtype;
  Action action =
      on_lanes(std::array{lane_operand(a.var, preparation), lane_operand(b.var, preparation)},
               preparation.result_tile(), binary_loop(op, type));
  if (!isa::faults_on_zero(op, type)) return action;
  constexpr std::size_t divisor = isa::position_of(&isa::Div::b);
  return unless_zero({preparation.tile(b.var), preparation.parts(b.var), isa::describe(op).mnemonic,
                      preparation.name(b.var), preparation.slot_span(divisor)},
                     std::move(action));
}

Action prepare_unary(isa::UnaryOp op, isa::RegisterOperand a, const Preparation& preparation) {
  return on_lanes(std::array{lane_operand(a.var, preparation)}, preparation.result_tile(),
                  unary_loop(op, preparation.register_type(a.var).dtype));
}

template <>
Action prepare(const isa::Fma& inst, const Preparation& preparation) {
  return on_lanes(
      std::array{lane_operand(inst.a.var, preparation), lane_operand(inst.b.var, preparation),
                 lane_operand(inst.c.var, preparation)},
      preparation.result_tile(), fma_loop(preparation.register_type(inst.a.var).dtype));
}

template <>
Action prepare(const isa::Where& inst, const Preparation& preparation) {
  return on_lanes(
      std::array{lane_operand(inst.condition.var, preparation),
                 lane_operand(inst.a.var, preparation), lane_operand(inst.b.var, preparation)},
      preparation.result_tile(), where_loop(preparation.register_type(inst.a.var).dtype));
}

UndefinedTransfer valued_undefined_transfer(const isa::Where& inst,
                                            const Preparation& preparation) {
  return choosing_transfer(inst.condition.var, inst.a.var, inst.b.var, preparation);
}
UndefinedTransfer valued_undefined_transfer(const isa::Binary<isa::BinaryOp::bit_and>& inst,
                                            const Preparation& preparation) {
  return bitwise_transfer(false, inst.a.var, inst.b.var, preparation);
}
UndefinedTransfer valued_undefined_transfer(const isa::Binary<isa::BinaryOp::bit_or>& inst,
                                            const Preparation& preparation) {
  return bitwise_transfer(true, inst.a.var, inst.b.var, preparation);
}

ShadowFlow binary_shadow(isa::BinaryOp op, isa::RegisterOperand a, isa::RegisterOperand b,
                         const Preparation& preparation) {
  const isa::RealFunction2 function = isa::unrounded(op, preparation.register_type(a.var).dtype);
  return function != nullptr ? computed(function, a, b, preparation) : restarted(preparation);
}

ShadowFlow unary_shadow(isa::UnaryOp op, isa::RegisterOperand a, const Preparation& preparation) {
  return computed(isa::unrounded(op), a, preparation);
}

template <>
ShadowFlow shadow_flow(const isa::Fma& inst, const Preparation& preparation) {
  return computed([](double a, double b, double c) { return std::fma(a, b, c); }, inst.a, inst.b,
                  inst.c, preparation);
}

template <>
ShadowFlow shadow_flow(const isa::Where& inst, const Preparation& preparation) {
  return chosen(inst.condition, inst.a, inst.b, preparation);
}

}  // namespace tilevm::sim
