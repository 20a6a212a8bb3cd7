// Instructions that compute on register tiles, element by element.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "isa/broadcast.h"
#include "isa/inst/support.h"
#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/elements.h"
#include "sim/semantics.h"

namespace tilevm::sim {
namespace {

/// One piece of a tile in 32-bit or 64-bit lanes (for_each_piece), kept from call to call.
template <class Lane>
std::vector<Lane>& lanes(const Tile& tile, std::vector<Lane>& buffer) {
  const std::size_t needed = std::max<std::size_t>(tile.locals, 2048);
  if (buffer.size() < needed) buffer.resize(needed);
  return buffer;
}

/// result = loop(a) for types of at most 32 bits.
Action map_tile(const Tile& a, const Tile& result, UnaryLoop loop) {
  return [a, result, loop = std::move(loop)](Context& context) {
    std::uint32_t* codes = lanes(a, context.scratch.codes_a).data();
    RegisterSlab& registers = context.state.registers;
    for_each_piece(a, [&](std::size_t first, std::size_t count) {
      unpack(a, registers.at(a.offset), first, count, codes);
      loop(codes, codes, count * a.locals);
      pack(result, codes, first, count, registers.at(result.offset));
    });
    return true;
  };
}

/// The same where one of the types has 64 bits, by the definition of the operation.
template <class F>
Action map_wide_tile(const Tile& a, const Tile& result, F f) {
  return [a, result, f](Context& context) {
    std::uint64_t* codes = lanes(a, context.scratch.wide_a).data();
    RegisterSlab& registers = context.state.registers;
    for_each_piece(a, [&](std::size_t first, std::size_t count) {
      unpack(a, registers.at(a.offset), first, count, codes);
      for (std::size_t i = 0; i < count * a.locals; ++i) codes[i] = f(codes[i]);
      pack(result, codes, first, count, registers.at(result.offset));
    });
    return true;
  };
}

/// An operand, and where the elements lie that the result's places take (isa/broadcast.h); no
/// places: where the result's lie.
struct Operand {
  Tile tile;
  std::shared_ptr<const isa::PlaceMap> places;
};

/// Reads what the result's places take from an operand, for some of the threads.
template <class Lane>
void fetch(const Operand& operand, RegisterSlab& registers, std::size_t first, std::size_t count,
           std::vector<Lane>& buffer, Lane* out) {
  const std::uint8_t* bytes = registers.at(operand.tile.offset);
  if (!operand.places) return unpack(operand.tile, bytes, first, count, out);
  Lane* codes = lanes(operand.tile, buffer).data();
  const isa::PlaceMap& places = *operand.places;
  for (std::size_t t = 0; t < count; ++t) {
    unpack(operand.tile, bytes, first + t, 1, codes);
    for (const std::int32_t place : places) *out++ = codes[static_cast<std::size_t>(place)];
  }
}

/// result = loop(a, b), all of one type of at most 32 bits.
Action combine_tiles(Operand a, Operand b, const Tile& result, BinaryLoop loop) {
  return [a = std::move(a), b = std::move(b), result, loop = std::move(loop)](Context& context) {
    Scratch& scratch = context.scratch;
    std::uint32_t* codes_a = lanes(result, scratch.codes_a).data();
    std::uint32_t* codes_b = lanes(result, scratch.codes_b).data();
    RegisterSlab& registers = context.state.registers;
    for_each_piece(result, [&](std::size_t first, std::size_t count) {
      fetch(a, registers, first, count, scratch.codes_c, codes_a);
      fetch(b, registers, first, count, scratch.codes_c, codes_b);
      loop(codes_a, codes_b, count * result.locals);
      pack(result, codes_a, first, count, registers.at(result.offset));
    });
    return true;
  };
}

/// The same for types of 64 bits.
template <class F>
Action combine_wide_tiles(Operand a, Operand b, const Tile& result, F f) {
  return [a = std::move(a), b = std::move(b), result, f](Context& context) {
    Scratch& scratch = context.scratch;
    std::uint64_t* codes_a = lanes(result, scratch.wide_a).data();
    std::uint64_t* codes_b = lanes(result, scratch.wide_b).data();
    RegisterSlab& registers = context.state.registers;
    for_each_piece(result, [&](std::size_t first, std::size_t count) {
      fetch(a, registers, first, count, scratch.wide_c, codes_a);
      fetch(b, registers, first, count, scratch.wide_c, codes_b);
      for (std::size_t i = 0; i < count * result.locals; ++i) {
        codes_a[i] = f(codes_a[i], codes_b[i]);
      }
      pack(result, codes_a, first, count, registers.at(result.offset));
    });
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

/// `then`, unless an element of the divisor is zero.
Action unless_zero(ZeroCheck check, Action then) {
  return [check = std::move(check), then = std::move(then)](Context& context) {
    std::uint64_t* codes = lanes(check.tile, context.scratch.wide_b).data();
    const std::uint8_t* registers = context.state.registers.at(check.tile.offset);
    bool zero = false;
    for_each_piece(check.tile, [&](std::size_t first, std::size_t count) {
      unpack(check.tile, registers, first, count, codes);
      for (std::size_t i = 0; i < count * check.tile.locals; ++i) zero |= codes[i] == 0;
    });
    return zero ? report_zeros(check, context) : then(context);
  };
}

Operand operand(isa::VarId var, const Preparation& preparation) {
  const isa::RegisterLayout& layout = preparation.register_type(var).layout;
  const isa::RegisterLayout& result = preparation.register_type(preparation.result()).layout;
  return {preparation.tile(var), preparation.tables.places(result, layout)};
}

Action combine(isa::BinaryOp op, isa::RegisterOperand a, isa::RegisterOperand b,
               const Preparation& preparation) {
  const isa::DType type = preparation.register_type(a.var).dtype;
  Operand left = operand(a.var, preparation), right = operand(b.var, preparation);
  const Tile result = preparation.result_tile();
  if (type.bits <= 32) {
    return combine_tiles(std::move(left), std::move(right), result, binary_loop(op, type));
  }
  return combine_wide_tiles(
      std::move(left), std::move(right), result,
      [op, type](std::uint64_t x, std::uint64_t y) { return isa::apply(op, type, x, y); });
}

}  // namespace

template <isa::BinaryOp op>
Action prepare(const isa::Binary<op>& inst, const Preparation& preparation) {
  Action action = combine(op, inst.a, inst.b, preparation);
  if (!isa::faults_on_zero(op, preparation.register_type(inst.b.var).dtype)) return action;
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
  const Tile tile = preparation.tile(inst.a.var), result = preparation.result_tile();
  if (type.bits > 32) {
    return map_wide_tile(
        tile, result, [type](std::uint64_t x) { return isa::apply(isa::UnaryOp::neg, type, x); });
  }
  return map_tile(tile, result, unary_loop(isa::UnaryOp::neg, type));
}

Action prepare(const isa::Cast& inst, const Preparation& preparation) {
  const isa::DType from = preparation.register_type(inst.src.var).dtype, to = inst.dtype;
  const Tile tile = preparation.tile(inst.src.var), result = preparation.result_tile();
  if (from.bits > 32 || to.bits > 32) {
    return map_wide_tile(tile, result,
                         [from, to](std::uint64_t x) { return isa::cast(from, to, x); });
  }
  return map_tile(tile, result, preparation.tables.cast(from, to));
}

/// Bit j of a thread stays bit j of that thread. Where both share their bytes (RegisterFile) there
/// is nothing to do.
Action prepare(const isa::View& inst, const Preparation& preparation) {
  const Tile source = preparation.tile(inst.src.var), result = preparation.result_tile();
  if (source.offset == result.offset) return [](Context&) { return true; };
  return [source, result](Context& context) {
    std::memcpy(context.state.registers.at(result.offset),
                context.state.registers.at(source.offset), result.bytes());
    return true;
  };
}

}  // namespace tilevm::sim
