#include "backend/select/bulk_copies.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "isa/access/access_run.h"
#include "isa/inst/instruction_set.h"

namespace tilevm::backend {
namespace {

using isa::InstStmt;
using isa::VarId;

/// A statement, and the number of those that stand before it or that may run before it again, in a
/// later round of a loop.
struct Reach {
  const InstStmt* stmt;
  std::size_t end;
  bool follows;  ///< the statement before it, in the same block
};

void list(const isa::Block& block, bool loops, std::vector<Reach>& all) {
  bool follows = false;
  for (const isa::Stmt& stmt : block) {
    const std::size_t first = all.size();
    const bool is_instruction = std::holds_alternative<InstStmt>(stmt.node);
    const auto loop = [&](const isa::Block& body) {
      list(body, true, all);
      if (loops) return;
      for (std::size_t i = first; i < all.size(); ++i) all[i].end = all.size();
    };
    if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
      all.push_back({inst, first, follows});
    } else if (const auto* range = std::get_if<isa::ForStmt>(&stmt.node)) {
      loop(range->body);
    } else if (const auto* condition = std::get_if<isa::WhileStmt>(&stmt.node)) {
      loop(condition->body);
    } else if (const auto* branch = std::get_if<isa::IfStmt>(&stmt.node)) {
      for (const isa::IfStmt::Arm& arm : branch->arms) list(arm.body, loops, all);
      list(branch->otherwise, loops, all);
    }
    follows = is_instruction;
  }
}

/// In elements, from one of the tile's neighbours along a dimension to the next, where this is a
/// constant.
std::optional<std::int64_t> stride_along(const isa::TilePlace& place, int tile_dim) {
  if (place.swizzle) return {};
  for (std::size_t d = 0; d < place.dimensions.size(); ++d) {
    if (place.dimensions[d].tile_dim != tile_dim) continue;
    const auto of_dimension = [&](const auto& digit) { return digit.dim == static_cast<int>(d); };
    if (std::count_if(place.digits.begin(), place.digits.end(), of_dimension) != 1) return {};
    const auto digit = std::find_if(place.digits.begin(), place.digits.end(), of_dimension);
    if (digit->divisor != 1 || digit->size != 0) return {};
    return digit->stride;
  }
  return {};
}

/// How many of the tile's last dimensions lie without gaps on both sides: those of a row.
std::size_t dense_dimensions(const isa::AccessPlan& plan) {
  std::int64_t elements = 1;
  for (std::size_t count = 0; count < plan.pieces.size(); ++count) {
    const std::size_t d = plan.pieces.size() - 1 - count;
    const std::int64_t extent = plan.pieces[d] * (count == 0 ? plan.elements : 1);
    const auto is_dense = [&](const isa::TilePlace& place) {
      return stride_along(place, static_cast<int>(d)) == elements;
    };
    if (extent > 1 && !(is_dense(plan.place) && is_dense(plan.to.place))) return count;
    elements *= extent;
  }
  return plan.pieces.size();
}

/// Rows are pieces of which each fills the last dimensions.
isa::AccessSide by_row(const isa::AccessSide& side, const isa::Shape& rows) {
  isa::AccessSide result{side.place, {}, {}, isa::AddressForm::whole};
  result.outer = isa::number_accesses(side.place.place_terms(isa::piece_terms(rows, 1)));
  isa::choose_address(result);
  return result;
}

/// Four warps have four schedulers. With many rows each of eight copies some of them.
std::int64_t warps_for(std::int64_t rows, std::int64_t warps) {
  return std::min({rows, warps, std::int64_t{rows < 64 ? 4 : 8}});
}

/// Whether rows take the warps of a block fewer instructions than pieces of 16 bytes do, as counted
/// in machine code: a row takes 5 and each warp that copies some 10 more, a piece of every thread
/// 4, or 16 where its places are computed from its number, and each warp 12 more.
bool pays(const isa::AccessPlan& plan, std::int64_t rows, std::int64_t warps) {
  const std::int64_t piece = plan.by_piece ? 16 : 4;
  return 5 * rows + 10 * warps_for(rows, warps) < warps * (piece * plan.count + 12);
}

std::optional<BulkCopy> bulk_copy(const isa::AccessPlan& plan, std::int64_t warps) {
  constexpr std::int64_t piece_bits = 128;
  if (plan.form != isa::AccessForm::copy || plan.elements * plan.place.dtype.bits != piece_bits) {
    return {};
  }
  if (plan.tests_bounds() || plan.cut_dim) return {};
  const std::size_t dense = dense_dimensions(plan);
  if (dense == 0) return {};
  isa::Shape outer = plan.pieces;
  std::fill(outer.end() - static_cast<std::ptrdiff_t>(dense), outer.end(), 1);
  const std::int64_t rows = isa::element_count(outer);
  if (!pays(plan, rows, warps)) return {};
  return BulkCopy{rows,
                  isa::element_count(plan.pieces) / rows * piece_bits / 8,
                  0,
                  warps_for(rows, warps),
                  by_row(plan, outer),
                  by_row(plan.to, outer)};
}

/// Whether a view is always one of a pointer whose memory no statement of the kernel writes.
bool is_constant(VarId view, const std::vector<Reach>& statements,
                 const std::vector<isa::PointerUse>& uses) {
  return std::all_of(statements.begin(), statements.end(), [&](const Reach& reach) {
    const auto& results = reach.stmt->results;
    if (std::find(results.begin(), results.end(), view) == results.end()) return true;
    const auto* made = std::get_if<isa::ViewGlobal>(&reach.stmt->inst);
    return made != nullptr && std::any_of(uses.begin(), uses.end(), [&](const auto& use) {
             return use.parameter == made->ptr.var && !use.written;
           });
  });
}

/// The number of groups that a kernel leaves under way, and one that it makes meanwhile.
std::int64_t group_count(const std::vector<Reach>& statements) {
  std::int64_t pending = 0;
  for (const Reach& reach : statements) {
    const auto* wait = std::get_if<isa::CopyAsyncWaitGroup>(&reach.stmt->inst);
    if (wait == nullptr) continue;
    pending = std::max(pending, wait->pending.value.constant_int().value_or(0));
  }
  constexpr std::int64_t most = 64;
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min(most, pending + 2))));
}

}  // namespace

BulkCopies::BulkCopies(const isa::VerifiedProgram& program, int kernel)
    : info_(program.info(kernel)) {
  constexpr int first_with_bulk_copies = 90;
  if (program.target().sm < first_with_bulk_copies || info_.num_threads % 32 != 0) return;
  std::vector<Reach> statements;
  list(program.kernel(kernel).body, false, statements);
  const std::int64_t groups = group_count(statements);
  const std::int64_t shared = info_.shared_footprint + groups * barrier_bytes;
  if (shared > isa::max_shared_bytes(program.target())) return;

  const std::int64_t warps = info_.num_threads / 32;
  std::vector<std::vector<const InstStmt*>> runs(1);
  std::size_t end = 0, others = 0;
  for (const Reach& reach : statements) {
    const auto* inst = std::get_if<isa::CopyAsync>(&reach.stmt->inst);
    if (!reach.follows || inst == nullptr) runs.emplace_back();
    if (inst == nullptr) continue;
    std::optional<BulkCopy> copy;
    if (is_constant(inst->src.var, statements, program.pointer_uses(kernel))) {
      copy = bulk_copy(program.access_plan(*reach.stmt), warps);
    }
    if (!copy) {
      ++others;
      runs.emplace_back();
      continue;
    }
    copies_.emplace(reach.stmt, *std::move(copy));
    runs.back().push_back(reach.stmt);
    end = std::max(end, reach.end);
  }
  if (copies_.empty()) return;
  groups_ = groups;
  are_all_ = others == 0;
  const bool drift = program.kernel(kernel).drift && are_all_;
  for (const auto& run : runs) place_warps(run, drift);
  if (drift) copiers_ = std::ranges::min(runs_, {}, &CopyRun::first_warp).first_warp;
  std::vector<const InstStmt*> before;
  for (const Reach& reach : statements) before.push_back(reach.stmt);
  before.resize(end);
  place_fences(before);
}

/// A run that would take all warps is one of single copies.
void BulkCopies::place_warps(const std::vector<const InstStmt*>& run, bool last) {
  const std::int64_t warps = info_.num_threads / 32;
  std::int64_t wanted = 0, bytes = 0;
  for (const InstStmt* stmt : run) {
    wanted += copies_.at(stmt).warps;
    bytes += copies_.at(stmt).rows * copies_.at(stmt).bytes;
  }
  if (run.size() > 1 && wanted >= warps) {
    for (const InstStmt* stmt : run) place_warps({stmt}, last);
    return;
  }
  if (run.empty()) return;
  if (next_warp_ + wanted > warps) next_warp_ = 0;
  if (last) next_warp_ = warps - wanted;
  runs_.push_back({run.front(), run.back(), next_warp_, wanted, bytes});
  for (const InstStmt* stmt : run) {
    BulkCopy& copy = copies_.at(stmt);
    copy.first_warp = next_warp_;
    copy.run = &runs_.back();
    next_warp_ += copy.warps;
  }
}

bool BulkCopies::meets_bulk_copy(VarId tensor) const {
  const auto& a = info_.shared_tile(tensor);
  return std::any_of(copies_.begin(), copies_.end(), [&](const auto& copy) {
    const auto& b = info_.shared_tile(std::get_if<isa::CopyAsync>(&copy.first->inst)->dst.var);
    return a.place < b.place + b.bytes && b.place < a.place + a.bytes;
  });
}

/// Copies in pieces are stores that end with a wait.
void BulkCopies::place_fences(const std::vector<const InstStmt*>& before) {
  std::vector<const InstStmt*> waits;
  bool in_pieces = false;
  for (const InstStmt* stmt : before) {
    const auto* copy = std::get_if<isa::CopyAsync>(&stmt->inst);
    const auto* store = std::get_if<isa::StoreShared>(&stmt->inst);
    if (std::holds_alternative<isa::CopyAsyncWaitGroup>(stmt->inst)) waits.push_back(stmt);
    const bool pieces = copy != nullptr && find(*stmt) == nullptr && meets_bulk_copy(copy->dst.var);
    const bool stores = store != nullptr && meets_bulk_copy(store->dst.var);
    in_pieces = in_pieces || pieces;
    if (pieces || stores || std::holds_alternative<isa::StoreGlobal>(stmt->inst)) {
      fences_.insert(stmt);
    }
  }
  if (in_pieces) fences_.insert(waits.begin(), waits.end());
}

const BulkCopy* BulkCopies::find(const isa::InstStmt& stmt) const {
  const auto found = copies_.find(&stmt);
  return found == copies_.end() ? nullptr : &found->second;
}

}  // namespace tilevm::backend
