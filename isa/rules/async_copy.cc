#include "isa/inst/async_copy.h"

#include <fmt/format.h>

#include "isa/layout/broadcast.h"
#include "isa/program/exchange.h"
#include "isa/program/tile_move.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

bool check_shared_offset(const CopyAsync& inst, const SharedType& dst, int tile_rank,
                         const RuleContext& context) {
  constexpr auto slot = position_of(&CopyAsync::shared_offset);
  if (!check_offset(inst.shared_offset, dst.layout.rank(), tile_rank, slot, context)) return false;
  if (!inst.shared_offset) return true;
  for (const OffsetList::Entry& entry : inst.shared_offset->entries) {
    if (!entry.tile || entry.value.constant_int() == std::int64_t{0}) continue;
    add_note(context.error(Code::offset_out_of_range, slot,
                           fmt::format("`{}:` begins a whole dimension of {}; a copy fills it from "
                                       "0 on",
                                       to_string(entry.value), context.name(inst.dst.var))),
             "write `0:`, or leave the colon out to fix an index");
    return false;
  }
  return true;
}

/// The index, if there is one, and where the tile begins.
bool check_source(const CopyAsync& inst, const GlobalType& src, const Shape& tile,
                  const RuleContext& context) {
  const auto rank = static_cast<int>(tile.size());
  constexpr auto offset = position_of(&CopyAsync::offset), index = position_of(&CopyAsync::index),
                 dim = position_of(&CopyAsync::dim);
  if (inst.index.has_value() != inst.dim.has_value()) {
    context.error(Code::missing_operand, inst.index ? index : dim,
                  "`index` says where elements are along `dim`; give both or neither");
    return false;
  }
  if (!inst.index) return check_offset(inst.offset, src.rank(), rank, offset, context);
  if (!one_dimension(*inst.dim, src.rank(), dim, context) ||
      !check_index_type(*inst.index, index, context) ||
      !check_indexed_offset(inst.offset, src.rank(), rank, offset, context)) {
    return false;
  }
  const Shape& shape = context.type(*inst.index).shape();
  if (broadcast_shape(shape, tile) == tile) return true;
  auto& diagnostic =
      context.error(Code::shape_mismatch, index,
                    fmt::format("{} has shape {}, which does not broadcast to that of the tile, {}",
                                context.name(inst.index->var), to_string(shape), to_string(tile)));
  note_operand(diagnostic, *inst.index, context);
  return false;
}

}  // namespace

template <>
RuleResult result_types(const CopyAsync& inst, const RuleContext& context) {
  const SharedType& dst = context.type(inst.dst);
  const GlobalType& src = context.type(inst.src);
  if (src.dtype != dst.dtype) {
    context.error(Code::type_mismatch, position_of(&CopyAsync::src),
                  fmt::format("{} is a view of {}, but {} holds {}; a copy does not convert",
                              context.name(inst.src.var), to_string(src.dtype),
                              context.name(inst.dst.var), to_string(dst.dtype)));
    return std::nullopt;
  }
  int tile_rank = dst.layout.rank();
  if (inst.shared_offset) {
    tile_rank = 0;
    for (const auto& entry : inst.shared_offset->entries) tile_rank += entry.tile ? 1 : 0;
  }
  if (!check_shared_offset(inst, dst, tile_rank, context) ||
      !check_source(inst, src, tile_shape(inst.shared_offset, dst), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

/// Every thread needs the indices of its pieces.
template <>
std::int64_t exchange_bytes(const CopyAsync& inst, const InstStmt&, const Kernel& kernel) {
  if (!inst.index) return 0;
  const auto& index = *std::get_if<RegisterType>(&kernel.variable(inst.index->var).type);
  return index.layout.size() * (index.dtype.bits > 32 ? 8 : 4);
}

template <>
RuleResult result_types(const CopyAsyncCommitGroup&, const RuleContext&) {
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const CopyAsyncWaitGroup& inst, const RuleContext& context) {
  constexpr auto slot = position_of(&CopyAsyncWaitGroup::pending);
  if (!check_pending(inst.pending, slot, context)) return std::nullopt;
  return std::vector<Type>{};
}

template <>
TileMove tile_move(const CopyAsync& inst, const InstStmt&) {
  CopyMove move{inst.src.var, inst.dst.var, inst.offset, inst.shared_offset};
  if (inst.index) move.indexed = IndexedDim{inst.index->var, inst.dim->dims.front()};
  return move;
}

}  // namespace tilevm::isa
