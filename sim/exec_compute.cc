// Instructions that compute on register tiles, element by element.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "isa/broadcast.h"
#include "isa/inst/support.h"
#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "sim/elements.h"
#include "sim/replicas.h"
#include "sim/semantics.h"

namespace tilevm::sim {
namespace {

/// result = loop(a).
Action map_tile(const LaneOperand& a, const Tile& result, LaneLoop1 loop) {
  return [a = std::array{a}, result, loop = std::move(loop)](Context& context) {
    for_lanes(a, result, context.state.registers, context.scratch.lanes,
              [&](const auto& in, std::uint8_t* out, std::size_t n) { loop(in[0], out, n); });
    return true;
  };
}

/// result = loop(a, b).
Action combine_tiles(const LaneOperand& a, const LaneOperand& b, const Tile& result,
                     LaneLoop2 loop) {
  return [operands = std::array{a, b}, result, loop = std::move(loop)](Context& context) {
    for_lanes(
        operands, result, context.state.registers, context.scratch.lanes,
        [&](const auto& in, std::uint8_t* out, std::size_t n) { loop(in[0], in[1], out, n); });
    return true;
  };
}

/// What a division must look at first: no element of `tile` may be zero.
struct ZeroCheck {
  Tile tile;
  std::shared_ptr<const LayoutParts> parts;
  std::string_view mnemonic;
  std::string name;  ///< the divisor's
  Span span;
};

/// Reports the zeros of a divisor: counts each element once, names the first.
bool report_zeros(const ZeroCheck& check, Context& context) {
  const Tile& tile = check.tile;
  const std::uint8_t* registers = context.state.registers.at(tile.offset);
  std::size_t count = 0, thread = 0;
  isa::Index first;
  for (const std::int32_t holder : check.parts->first_threads) {
    const auto t = static_cast<std::size_t>(holder);
    for (std::size_t i = 0; i < tile.locals; ++i) {
      if (isa::get_bits(registers + t * tile.thread_bytes, i * tile.bits, tile.bits) != 0) continue;
      isa::Index index;
      for (std::size_t d = 0; d < check.parts->rank; ++d) {
        index.push_back(check.parts->thread_part(t)[d] + check.parts->local_part(i)[d]);
      }
      if (count++ > 0 && index >= first) continue;
      thread = t;
      first = std::move(index);
    }
  }
  context.fail(Code::run_division_by_zero, check.span,
               fmt::format("`{}` divides by zero: {} of {} elements of `{}` are 0, first `{}[{}]`",
                           check.mnemonic, count, check.parts->first_threads.size() * tile.locals,
                           check.name, check.name, fmt::join(first, ", ")));
  context.fault->thread = static_cast<std::int64_t>(thread);
  return false;
}

template <class Lane>
bool has_zero(const std::uint8_t* lanes, std::size_t n) {
  unsigned zeros = 0;
  for (std::size_t i = 0; i < n; ++i) zeros |= load_lane<Lane>(lanes, i) == 0 ? 1U : 0U;
  return zeros != 0;
}

/// `then`, unless an element of the divisor is zero.
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

LaneOperand operand(isa::VarId var, const Preparation& preparation) {
  const isa::RegisterLayout& layout = preparation.register_type(var).layout;
  const isa::RegisterLayout& result = preparation.register_type(preparation.result()).layout;
  return {preparation.tile(var), preparation.tables.places(result, layout)};
}

}  // namespace

template <isa::BinaryOp op>
Action prepare(const isa::Binary<op>& inst, const Preparation& preparation) {
  const isa::DType type = preparation.register_type(inst.a.var).dtype;
  Action action = combine_tiles(operand(inst.a.var, preparation), operand(inst.b.var, preparation),
                                preparation.result_tile(), binary_loop(op, type));
  if (!isa::faults_on_zero(op, type)) return action;
  constexpr std::size_t divisor = isa::position_of(&isa::Binary<op>::b);
  return unless_zero({preparation.tile(inst.b.var), preparation.parts(inst.b.var),
                      isa::Binary<op>::schema.description.mnemonic,
                      preparation.variable(inst.b.var).name, preparation.slot_span(divisor)},
                     std::move(action));
}

template Action prepare(const isa::Add&, const Preparation&);
template Action prepare(const isa::Sub&, const Preparation&);
template Action prepare(const isa::Mul&, const Preparation&);
template Action prepare(const isa::Div&, const Preparation&);
template Action prepare(const isa::Mod&, const Preparation&);

Action prepare(const isa::Neg& inst, const Preparation& preparation) {
  const isa::DType type = preparation.register_type(inst.a.var).dtype;
  return map_tile(operand(inst.a.var, preparation), preparation.result_tile(),
                  unary_loop(isa::UnaryOp::neg, type));
}

Action prepare(const isa::Cast& inst, const Preparation& preparation) {
  const isa::DType from = preparation.register_type(inst.src.var).dtype;
  return map_tile(operand(inst.src.var, preparation), preparation.result_tile(),
                  preparation.tables.cast(from, inst.dtype));
}

/// Bit j of a thread stays bit j of that thread. Where both share their bytes (RegisterFile) there
/// is nothing to do.
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
                               preparation.variable(to).name, preparation.span}](Context& context) {
    return action(context) && (!context.settings.checks.replicas || check_replicas(check, context));
  };
}

}  // namespace tilevm::sim
