// Instructions that compute on register tiles, element by element.
#include <algorithm>
#include <cstring>
#include <utility>

#include "isa/type/arith.h"
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

/// result = loop(a, b), all three alike, of at most 32 bits.
Action combine_tiles(const Tile& a, const Tile& b, const Tile& result, BinaryLoop loop) {
  return [a, b, result, loop = std::move(loop)](Context& context) {
    std::uint32_t* codes_a = lanes(a, context.scratch.codes_a).data();
    std::uint32_t* codes_b = lanes(a, context.scratch.codes_b).data();
    RegisterSlab& registers = context.state.registers;
    for_each_piece(a, [&](std::size_t first, std::size_t count) {
      unpack(a, registers.at(a.offset), first, count, codes_a);
      unpack(b, registers.at(b.offset), first, count, codes_b);
      loop(codes_a, codes_b, count * a.locals);
      pack(result, codes_a, first, count, registers.at(result.offset));
    });
    return true;
  };
}

/// The same for types of 64 bits.
template <class F>
Action combine_wide_tiles(const Tile& a, const Tile& b, const Tile& result, F f) {
  return [a, b, result, f](Context& context) {
    std::uint64_t* codes_a = lanes(a, context.scratch.wide_a).data();
    std::uint64_t* codes_b = lanes(a, context.scratch.wide_b).data();
    RegisterSlab& registers = context.state.registers;
    for_each_piece(a, [&](std::size_t first, std::size_t count) {
      unpack(a, registers.at(a.offset), first, count, codes_a);
      unpack(b, registers.at(b.offset), first, count, codes_b);
      for (std::size_t i = 0; i < count * a.locals; ++i) codes_a[i] = f(codes_a[i], codes_b[i]);
      pack(result, codes_a, first, count, registers.at(result.offset));
    });
    return true;
  };
}

Action prepare_binary(isa::BinaryOp op, isa::RegisterOperand a, isa::RegisterOperand b,
                      const Preparation& preparation) {
  const isa::DType type = preparation.register_type(a.var).dtype;
  const Tile tile_a = preparation.tile(a.var), tile_b = preparation.tile(b.var);
  const Tile result = preparation.result_tile();
  if (type.bits > 32) {
    return combine_wide_tiles(tile_a, tile_b, result, [op, type](std::uint64_t x, std::uint64_t y) {
      return isa::apply(op, type, x, y);
    });
  }
  return combine_tiles(tile_a, tile_b, result, binary_loop(op, type));
}

}  // namespace

Action prepare(const isa::Add& inst, const Preparation& preparation) {
  return prepare_binary(isa::BinaryOp::add, inst.a, inst.b, preparation);
}

Action prepare(const isa::Sub& inst, const Preparation& preparation) {
  return prepare_binary(isa::BinaryOp::sub, inst.a, inst.b, preparation);
}

Action prepare(const isa::Mul& inst, const Preparation& preparation) {
  return prepare_binary(isa::BinaryOp::mul, inst.a, inst.b, preparation);
}

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
