#include "isa/access/access_planner.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "isa/access/access_matrix.h"
#include "isa/access/access_run.h"
#include "isa/layout/broadcast.h"
#include "isa/rules/rules.h"

namespace tilevm::isa {
namespace {

/// The tensor dimension along which the tile's last one runs, or -1.
int last_dimension(const TilePlacement& placement, int tile_rank) {
  for (std::size_t d = 0; d < placement.dimensions.size(); ++d) {
    if (tile_rank > 0 && placement.dimensions[d].tile_dim == tile_rank - 1)
      return static_cast<int>(d);
  }
  return -1;
}

/// What keeps `count` elements along the last dimension from being contiguous and aligned in the
/// view.
MissedReason missed_reason_in(const GlobalType& view, const TilePlacement& placement, int tile_rank,
                              std::int64_t count, const Divisibility& multiples) {
  using Kind = MissedReason::Kind;
  const int dim = last_dimension(placement, tile_rank);
  if (dim < 0) return {Kind::registers, 0, 0};
  const auto at = static_cast<std::size_t>(dim);
  const std::int64_t offset = multiples.of(placement.dimensions[at].offset);
  if (offset % count != 0) return {Kind::offset, dim, offset};
  // What is left of the last piece must be whole bytes.
  const std::int64_t bits = view.dtype.bits, extent = multiples.of(view.extents[at]);
  if (bits < 8 && extent * bits % 8 != 0) return {Kind::extent, dim, extent};
  if (const auto* layout = view.layout.memory_layout()) {
    return keeps_together(*layout, dim, count) ? MissedReason{}
                                               : MissedReason{Kind::layout, dim, count};
  }
  const auto& strides = *view.layout.strides();
  if (count > 1 && strides[at].constant_int() != std::int64_t{1}) {
    return {Kind::registers, dim, 0};
  }
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const std::int64_t stride = multiples.of(strides[d]);
    if (d != at && stride % count != 0) return {Kind::stride, static_cast<int>(d), stride};
  }
  return {};
}

std::optional<int> dimension_of_index(const std::optional<IndexedDim>& indexed) {
  return indexed ? std::optional(indexed->dim) : std::nullopt;
}

/// Moves by loads and stores of single elements.
AccessForm form_of_one(const DType& dtype) {
  return dtype.bits < 8 ? AccessForm::bits : AccessForm::bytes;
}

/// The widest pieces, in elements, and why they are no wider; 0 for copies by ordinary moves.
std::int64_t widest_piece(const CopyMove& move, const SharedType& shared, const GlobalType& global,
                          int rank, bool one_index, const Divisibility& multiples,
                          MissedReason& missed) {
  const auto shared_placement = place_tile(move.offset, shared.layout.rank(), rank);
  const auto global_placement =
      place_tile(move.view_offset, global.rank(), rank, dimension_of_index(move.indexed));
  const int shared_dim = last_dimension(shared_placement, rank);
  for (const std::int64_t bytes : {16, 8, 4}) {
    const std::int64_t count = bytes * 8 / shared.dtype.bits;
    if (count * shared.dtype.bits != bytes * 8) continue;
    if (count > 1 && !one_index) {
      missed = {MissedReason::Kind::index, 0, 0};
      continue;
    }
    const bool together = shared_dim >= 0 && keeps_together(shared.layout, shared_dim, count);
    const MissedReason found =
        together ? missed_reason_in(global, global_placement, rank, count, multiples)
                 : MissedReason{MissedReason::Kind::layout, shared_dim, count};
    if (found.kind == MissedReason::Kind::none) return count;
    missed = found;
  }
  return 0;
}

/// Each thread moves pieces at equal distances, where the pieces' number can be cut that way.
void map_pieces(AccessPlan& plan, std::int64_t threads) {
  for (AccessSide* side : {static_cast<AccessSide*>(&plan), &plan.to}) {
    const auto terms = side->mapping.tensor_terms(piece_terms(plan.pieces, plan.elements));
    const auto cut = cut_terms(terms, threads);
    plan.by_piece = !cut || plan.form != AccessForm::copy;
    side->outer = number_accesses(plan.by_piece ? terms : cut->high);
    if (plan.by_piece) continue;
    side->threads = cut->low;
    std::erase_if(side->threads, [](const TensorTerm& term) { return term.stride == 0; });
    choose_address(*side);
  }
}

}  // namespace

AccessPlanner::AccessPlanner(const Kernel& kernel, const KernelInfo& info, const Target& target)
    : kernel_(kernel),
      info_(info),
      target_(target),
      facts_(find_scalar_facts(kernel)),
      statements_(kernel),
      uses_(kernel, statements_) {}

bool AccessPlanner::is_stored(VarId tensor) const {
  const auto uses = uses_.of(tensor);
  return std::any_of(uses.begin(), uses.end(), [&](StmtId id) {
    const InstStmt* stmt = statements_.instruction(id);
    const auto move = stmt != nullptr ? tile_move(*stmt) : std::nullopt;
    const auto* store = move ? std::get_if<RegisterMove>(&*move) : nullptr;
    return store != nullptr && store->stores && store->tensor == tensor;
  });
}

MappedIndex AccessPlanner::mapped_index(const IndexedDim& indexed) const {
  return {indexed.dim, std::get_if<RegisterType>(&kernel_.variable(indexed.index).type)->dtype};
}

bool AccessPlanner::has_one_index(const CopyMove& move) const {
  if (!move.indexed) return true;
  const auto& index = *std::get_if<RegisterType>(&kernel_.variable(move.indexed->index).type);
  return index.shape().empty() || index.shape().back() == 1;
}

AccessPlan AccessPlanner::plan_move(const RegisterMove& move, std::int64_t) const {
  const auto& tile = *std::get_if<RegisterType>(&kernel_.variable(move.tile).type);
  const Type& type = kernel_.variable(move.tensor).type;
  const auto* view = std::get_if<GlobalType>(&type);
  AccessPlan plan;
  std::optional<MappedIndex> index;
  if (move.indexed) {
    const auto& indices = *std::get_if<RegisterType>(&kernel_.variable(move.indexed->index).type);
    index = mapped_index(*move.indexed);
    plan.index_places = *broadcast_places(tile.layout, indices.layout);
  }
  plan.mapping = view != nullptr ? map_tile(*view, move.offset, tile.shape(), facts_, index)
                                 : map_tile(*std::get_if<SharedType>(&type), move.offset,
                                            tile.shape(), facts_, index);
  if (move.combines) {
    plan_elements(plan, tile.layout);
    return plan;
  }
  plan_runs(plan, tile.layout, move.stores);
  constexpr int first_to_store = 90;
  if (index) return plan;
  if (view != nullptr || (move.stores && target_.sm < first_to_store)) return plan;
  if (!move.stores || !plan.mapping.may_overlap()) plan_matrices(plan, tile.layout);
  plan.moves_own_stores = plan.form == AccessForm::matrix && is_stored(move.tensor);
  return plan;
}

AccessPlan AccessPlanner::plan_move(const CopyMove& move, std::int64_t threads) const {
  const auto& shared = *std::get_if<SharedType>(&kernel_.variable(move.tensor).type);
  const auto& global = *std::get_if<GlobalType>(&kernel_.variable(move.view).type);
  AccessPlan plan;
  const Shape tile = tile_shape(move.offset, shared);
  const int rank = static_cast<int>(tile.size());
  const auto index = move.indexed ? std::optional(mapped_index(*move.indexed)) : std::nullopt;
  const std::int64_t count =
      widest_piece(move, shared, global, rank, has_one_index(move), facts_.multiples, plan.missed);
  plan.pieces = tile;
  plan.form = form_of_one(shared.dtype);
  plan.mapping = map_tile(global, move.view_offset, tile, facts_, index);
  plan.to.mapping = map_tile(shared, move.offset, tile, facts_);
  if (count > 0) {
    plan.form = AccessForm::copy;
    plan.elements = count;
    plan.pieces.back() /= count;
    const auto dim = static_cast<std::size_t>(last_dimension(
        place_tile(move.view_offset, global.rank(), rank, dimension_of_index(move.indexed)), rank));
    const auto& last = plan.mapping.dimensions[dim];
    if (!last.inside && last.extent_multiple % count != 0) plan.cut_dim = dim;
  }
  plan.widths = {std::max<std::int64_t>(1, plan.elements * shared.dtype.bits / 8)};
  plan.count = (element_count(plan.pieces) + threads - 1) / threads;
  map_pieces(plan, threads);
  return plan;
}

std::optional<AccessPlan> AccessPlanner::plan(const InstStmt& stmt) const {
  const std::optional<TileMove> move = tile_move(stmt);
  if (!move) return std::nullopt;
  return std::visit([&](const auto& each) { return plan_move(each, info_.threads_at(stmt.id)); },
                    *move);
}

}  // namespace tilevm::isa
