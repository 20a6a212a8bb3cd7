#include "isa/inst/transfer.h"

#include <fmt/format.h>

#include "isa/program/tile_move.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {

template <>
RuleResult result_types(const LoadGlobal& inst, const RuleContext& context) {
  std::optional<RegisterLayout> layout = inst.layout;
  if (!layout && context.expected != nullptr) layout = context.expected->layout;
  if (!layout) {
    add_note(context.error(Code::missing_operand, "`LoadGlobal` needs `layout`"),
             "the layout says which thread holds which element; only with `out=` may it be left "
             "out");
    return std::nullopt;
  }
  if (!check_shape_agrees(inst.shape, *layout, position_of(&LoadGlobal::shape), context)) {
    return std::nullopt;
  }
  const GlobalType& source = context.type(inst.src);
  if (!check_offset(inst.offset, source.rank(), layout->rank(), position_of(&LoadGlobal::offset),
                    context)) {
    return std::nullopt;
  }
  const auto tile = make_tile(source.dtype, *layout, position_of(&LoadGlobal::layout), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

template <>
RuleResult result_types(const LoadShared& inst, const RuleContext& context) {
  std::optional<RegisterLayout> layout = inst.layout;
  if (!layout && context.expected != nullptr) layout = context.expected->layout;
  if (!layout) {
    add_note(context.error(Code::missing_operand, "`LoadShared` needs `layout`"),
             "the layout says which thread holds which element; only with `out=` may it be left "
             "out");
    return std::nullopt;
  }
  if (!check_shape_agrees(inst.shape, *layout, position_of(&LoadShared::shape), context)) {
    return std::nullopt;
  }
  const SharedType& source = context.type(inst.src);
  if (!check_offset(inst.offset, source.layout.rank(), layout->rank(),
                    position_of(&LoadShared::offset), context)) {
    return std::nullopt;
  }
  const auto tile = make_tile(source.dtype, *layout, position_of(&LoadShared::layout), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

template <>
RuleResult result_types(const StoreGlobal& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  const GlobalType& destination = context.type(inst.dst);
  if (source.dtype != destination.dtype) {
    add_note(context.error(Code::type_mismatch, position_of(&StoreGlobal::src),
                           fmt::format("{} holds {}, but {} is a view of {}",
                                       context.name(inst.src.var), to_string(source.dtype),
                                       context.name(inst.dst.var), to_string(destination.dtype))),
             fmt::format("convert it first: `Cast({}, {})`", context.variable(inst.src.var).name,
                         to_string(destination.dtype)));
    return std::nullopt;
  }
  if (!check_offset(inst.offset, destination.rank(), source.layout.rank(),
                    position_of(&StoreGlobal::offset), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const StoreShared& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  const SharedType& destination = context.type(inst.dst);
  if (source.dtype != destination.dtype) {
    add_note(context.error(Code::type_mismatch, position_of(&StoreShared::src),
                           fmt::format("{} holds {}, but {} holds {}", context.name(inst.src.var),
                                       to_string(source.dtype), context.name(inst.dst.var),
                                       to_string(destination.dtype))),
             fmt::format("convert it first: `Cast({}, {})`", context.variable(inst.src.var).name,
                         to_string(destination.dtype)));
    return std::nullopt;
  }
  if (!check_offset(inst.offset, destination.layout.rank(), source.layout.rank(),
                    position_of(&StoreShared::offset), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const Prefetch& inst, const RuleContext& context) {
  constexpr auto slot = position_of(&Prefetch::shape);
  const GlobalType& source = context.type(inst.src);
  const auto tile = tile_shape(inst, source);
  if (!tile) {
    add_note(context.error(Code::missing_operand,
                           fmt::format("`Prefetch` needs `shape`, since extents of {} are known at "
                                       "run time only",
                                       context.name(inst.src.var))),
             "the tile to fetch has constant extents, as a tile to load has");
    return std::nullopt;
  }
  if (!check_extents(*tile, slot, context) ||
      !check_offset(inst.offset, source.rank(), static_cast<int>(tile->size()),
                    position_of(&Prefetch::offset), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
TileMove tile_move(const LoadGlobal& inst, const InstStmt& stmt) {
  RegisterMove move{stmt.results[0], inst.src.var, inst.offset, false};
  move.cache = inst.cache;
  return move;
}

template <>
TileMove tile_move(const LoadShared& inst, const InstStmt& stmt) {
  return RegisterMove{stmt.results[0], inst.src.var, inst.offset, false};
}

template <>
TileMove tile_move(const StoreGlobal& inst, const InstStmt&) {
  RegisterMove move{inst.src.var, inst.dst.var, inst.offset, true};
  move.cache = inst.cache;
  return move;
}

template <>
TileMove tile_move(const StoreShared& inst, const InstStmt&) {
  return RegisterMove{inst.src.var, inst.dst.var, inst.offset, true};
}

}  // namespace tilevm::isa
