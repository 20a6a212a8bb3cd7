// Asynchronous copies that are made in bulk (PTX ISA, cp.async.bulk): one instruction of one thread
// copies a row of the tile, instead of 16 bytes by each of many threads. A row is as many of the
// tile's last dimensions as have no gaps on both sides.
//
// Rows must be runs of whole 16 bytes, and be inside the view, since nothing is filled with zeros.
// Warp 0 alone commits groups and waits for them, at a memory barrier for each of the last few
// groups. The Synchronize that must follow a CopyAsyncWaitGroup tells the other warps. In a kernel
// with split barriers (split_barriers.cc) the last warps are the producers, the first of them
// commits, and every warp waits for the groups itself.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "backend/select/passes.h"
#include "isa/access/access_run.h"
#include "isa/inst/instruction_set.h"

namespace tilevm::backend {
namespace {

using isa::InstStmt;
using isa::StmtId;
using isa::VarId;

/// The stride in elements between neighbours along a tile dimension, if it is a constant.
std::optional<std::int64_t> stride_along(const isa::TileMapping& mapping, int tile_dim) {
  if (mapping.swizzle || mapping.indexed) return {};
  for (std::size_t d = 0; d < mapping.dimensions.size(); ++d) {
    if (mapping.dimensions[d].tile_dim != tile_dim) continue;
    const auto of_dimension = [&](const auto& digit) { return digit.dim == static_cast<int>(d); };
    if (std::count_if(mapping.digits.begin(), mapping.digits.end(), of_dimension) != 1) return {};
    const auto digit = std::find_if(mapping.digits.begin(), mapping.digits.end(), of_dimension);
    if (digit->divisor != 1 || digit->size != 0) return {};
    return digit->stride;
  }
  return {};
}

/// How many of the tile's last dimensions make a row: they have no gaps on both sides.
std::size_t dense_dimensions(const isa::AccessPlan& plan) {
  std::int64_t elements = 1;
  for (std::size_t count = 0; count < plan.pieces.size(); ++count) {
    const std::size_t d = plan.pieces.size() - 1 - count;
    const std::int64_t extent = plan.pieces[d] * (count == 0 ? plan.elements : 1);
    const auto is_dense = [&](const isa::TileMapping& mapping) {
      return stride_along(mapping, static_cast<int>(d)) == elements;
    };
    if (extent > 1 && !(is_dense(plan.mapping) && is_dense(plan.to.mapping))) return count;
    elements *= extent;
  }
  return plan.pieces.size();
}

/// Rows are pieces of which each fills the last dimensions.
isa::AccessSide by_row(const isa::AccessSide& side, const isa::Shape& rows) {
  isa::AccessSide result{side.mapping, {}, {}, isa::AddressForm::whole};
  result.outer = isa::number_accesses(side.mapping.tensor_terms(isa::piece_terms(rows, 1)));
  isa::choose_address(result);
  return result;
}

/// Four warps use all four schedulers. From 64 rows on, eight warps share the rows.
std::int64_t warps_for(std::int64_t rows, std::int64_t warps) {
  return std::min({rows, warps, std::int64_t{rows < 64 ? 4 : 8}});
}

/// Whether rows take the warps of a block fewer instructions than pieces of 16 bytes do, as counted
/// in machine code. A row takes 5, and each warp that copies rows some 10 more. A piece of every
/// thread takes 4, or 16 if its addresses are computed from its number, and each warp 12 more.
bool pays(const isa::AccessPlan& plan, std::int64_t rows, std::int64_t warps) {
  const std::int64_t piece = plan.by_piece ? 16 : 4;
  return 5 * rows + 10 * warps_for(rows, warps) < warps * (piece * plan.count + 12);
}

std::optional<BulkCopy> bulk_copy(const isa::AccessPlan& plan, std::int64_t warps) {
  constexpr std::int64_t piece_bits = 128;
  if (plan.form != isa::AccessForm::copy || plan.elements * plan.mapping.dtype.bits != piece_bits) {
    return {};
  }
  if (plan.tests_bounds() || plan.cut_dim) return {};
  const std::size_t dense = dense_dimensions(plan);
  if (dense == 0) return {};
  isa::Shape outer = plan.pieces;
  std::fill(outer.end() - static_cast<std::ptrdiff_t>(dense), outer.end(), 1);
  const std::int64_t rows = isa::element_count(outer);
  if (!pays(plan, rows, warps)) return {};
  return BulkCopy{.rows = rows,
                  .row_bytes = isa::element_count(plan.pieces) / rows * piece_bits / 8,
                  .warps = warps_for(rows, warps),
                  .from = by_row(plan, outer),
                  .to = by_row(plan.to, outer)};
}

/// Whether a view is always one of a pointer whose memory no statement of the kernel writes. Bulk
/// copies may miss what the same launch writes: they access memory through another proxy (PTX ISA,
/// proxies).
bool is_constant(VarId view, const Selection& selection) {
  const auto& uses = selection.program.pointer_uses(selection.result.kernel);
  const auto made_of = selection.definitions.of(view);
  return std::all_of(made_of.begin(), made_of.end(), [&](StmtId id) {
    const InstStmt* stmt = selection.statements.instruction(id);
    const auto* made = stmt != nullptr ? std::get_if<isa::ViewGlobal>(&stmt->inst) : nullptr;
    return made != nullptr && std::any_of(uses.begin(), uses.end(), [&](const auto& use) {
             return use.parameter == made->ptr.var && !use.written;
           });
  });
}

/// The number of groups that a kernel leaves in flight, and one more that it fills meanwhile.
std::int64_t group_count(const Selection& selection) {
  std::int64_t pending = 0;
  selection.statements.for_each_instruction([&](StmtId, const InstStmt& stmt) {
    const auto* wait = std::get_if<isa::CopyAsyncWaitGroup>(&stmt.inst);
    if (wait == nullptr) return;
    pending = std::max(pending, wait->pending.value.constant_int().value_or(0));
  });
  constexpr std::int64_t most = 64;
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::min(most, pending + 2))));
}

/// The copies of a kernel that can be made in bulk, in runs: copies that follow one another in a
/// block.
struct BulkRuns {
  std::vector<std::vector<StmtId>> runs{{}};
  bool are_all = true;
};

/// Replaces the forms of the copies; their warps are still to be assigned.
BulkRuns replace_copies(Selection& selection) {
  BulkRuns found;
  selection.statements.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
    const auto* inst = std::get_if<isa::CopyAsync>(&stmt.inst);
    const StmtId previous = selection.statements.previous(id);
    const bool follows = previous.valid() && selection.statements.instruction(previous) != nullptr;
    if (!follows || inst == nullptr) found.runs.emplace_back();
    if (inst == nullptr) return;
    std::optional<BulkCopy> copy;
    if (is_constant(inst->src.var, selection)) {
      copy = bulk_copy(selection.info.access_plan(stmt), selection.warps());
    }
    if (!copy) {
      found.are_all = false;
      found.runs.emplace_back();
      return;
    }
    selection.result.forms[id] = *std::move(copy);
    found.runs.back().push_back(id);
  });
  std::erase_if(found.runs, [](const auto& run) { return run.empty(); });
  return found;
}

/// Gives copies their warps in turn.
class WarpAssignment {
 public:
  /// `last`: each run takes the last warps of the block.
  WarpAssignment(Selection& selection, bool last)
      : selection_(selection), last_(last), first_producer_(selection.warps()) {}

  /// A run that would take all warps is split into single copies.
  void assign(const std::vector<StmtId>& run) {
    CopyRun whole{.is_single = run.size() == 1};
    for (const StmtId id : run) {
      const BulkCopy& copy = copy_of(id);
      whole.warps += copy.warps;
      whole.bytes += copy.rows * copy.row_bytes;
    }
    if (run.size() > 1 && whole.warps >= selection_.warps()) {
      for (const StmtId id : run) assign({id});
      return;
    }
    if (next_ + whole.warps > selection_.warps()) next_ = 0;
    if (last_) next_ = selection_.warps() - whole.warps;
    whole.first_warp = next_;
    first_producer_ = std::min(first_producer_, next_);
    for (const StmtId id : run) {
      BulkCopy& copy = copy_of(id);
      copy.first_warp = next_;
      copy.run = whole;
      copy.begins_run = id == run.front();
      copy.ends_run = id == run.back();
      next_ += copy.warps;
    }
  }
  /// The first of all warps that copy.
  [[nodiscard]] std::int64_t first_producer() const { return first_producer_; }

 private:
  [[nodiscard]] BulkCopy& copy_of(StmtId id) { return *selection_.form<BulkCopy>(id); }

  Selection& selection_;
  bool last_;
  std::int64_t next_ = 1;  // warp 0 commits and waits
  std::int64_t first_producer_;
};

}  // namespace

void select_bulk_copies(Selection& selection) {
  constexpr int first_with_bulk_copies = 90;
  const isa::Target& target = selection.program.target();
  if (target.sm < first_with_bulk_copies || selection.info.num_threads % 32 != 0) return;
  // Warps that run their own parts do not meet where groups of bulk copies are counted.
  if (selection.info.has_groups() || !selection.info.barriers.empty()) return;
  const std::int64_t groups = group_count(selection);
  const std::int64_t shared = selection.info.shared_footprint + groups * barrier_bytes;
  if (shared > isa::max_shared_bytes(target)) return;

  const BulkRuns found = replace_copies(selection);
  if (found.runs.empty()) return;
  const bool splits = selection.kernel.split_barriers && found.are_all;
  WarpAssignment assignment(selection, splits);
  for (const auto& run : found.runs) assignment.assign(run);
  selection.result.bulk = {groups, splits ? assignment.first_producer() : 0, found.are_all};
}

}  // namespace tilevm::backend
