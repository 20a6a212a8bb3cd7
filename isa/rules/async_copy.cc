#include "isa/inst/async_copy.h"

#include <fmt/format.h>

#include "isa/program/tile_move.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

constexpr std::int64_t max_pending = 1 << 20;

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
      !check_offset(inst.offset, src.rank(), tile_rank, position_of(&CopyAsync::offset), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const CopyAsyncCommitGroup&, const RuleContext&) {
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const CopyAsyncWaitGroup& inst, const RuleContext& context) {
  constexpr auto slot = position_of(&CopyAsyncWaitGroup::pending);
  const auto pending = inst.pending.value.constant_int();
  if (!pending) {
    context.error(Code::not_a_constant, slot,
                  fmt::format("`{}` is not a constant; how many groups may stay in flight is known "
                              "before the run",
                              to_string(inst.pending.value)));
    return std::nullopt;
  }
  if (*pending < 0 || *pending > max_pending) {
    context.error(Code::constant_overflow, slot,
                  fmt::format("{} groups may stay in flight; the number must lie between 0 and {}",
                              *pending, max_pending));
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
TileMove tile_move(const CopyAsync& inst, const InstStmt&) {
  return CopyMove{inst.src.var, inst.dst.var, inst.offset, inst.shared_offset};
}

}  // namespace tilevm::isa
