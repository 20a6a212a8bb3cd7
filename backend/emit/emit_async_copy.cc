// Asynchronous copies: the tile in pieces of 16, 8 or 4 bytes where the plan has them, else element
// by element by ordinary moves, since the data may arrive early.
#include <algorithm>

#include <fmt/format.h>

#include "backend/emit/emit_address.h"
#include "backend/emit/explain.h"
#include "isa/access/access_plan.h"

namespace tilevm::backend {
namespace {

/// A copy's tile and how its pieces are reached on both sides.
class CopyEmission {
 public:
  CopyEmission(const isa::CopyAsync& inst, const isa::InstStmt& stmt, KernelEmission& kernel)
      : kernel_(kernel),
        plan_(kernel.program().access_plan(stmt)),
        from_(plan_, inst.src.var, numbers(), plan_.address, "", kernel),
        to_(plan_.to, inst.dst.var, numbers(), plan_.to.address, "to_", kernel) {}

  /// l_ counts the pieces of a thread, neighbours in neighbouring threads.
  void run() {
    constexpr std::int64_t most_unrolled = 16;
    CodeWriter& out = kernel_.out;
    const std::int64_t pieces = isa::element_count(plan_.pieces);
    out.open_plain();
    from_.declare_base();
    to_.declare_base();
    out.open_plain(fmt::format("{}for (int l_ = 0; l_ < {}; ++l_)",
                               plan_.count <= most_unrolled ? "TV_UNROLL " : "", plan_.count));
    const bool cut = pieces < plan_.count * kernel_.threads();
    if (cut || plan_.by_piece) {
      out.line(fmt::format("const tv::u32 piece_ = tv::thread() + l_ * {};", kernel_.threads()));
    }
    if (cut) out.line(fmt::format("if (piece_ >= {}) break;", pieces));
    from_.declare_access();
    to_.declare_access();
    if (plan_.tests_bounds()) {
      out.line(fmt::format("const bool inside_ = {};", from_.bounds_test()));
    }
    plan_.form == isa::AccessForm::copy ? move_piece() : move_element();
    out.close();
    out.close();
  }

 private:
  [[nodiscard]] AddressEmission::Numbers numbers() const {
    if (plan_.by_piece) return {"piece_", isa::element_count(plan_.pieces)};
    return {"l_", plan_.count};
  }
  [[nodiscard]] int bits() const { return plan_.place.dtype.bits; }
  [[nodiscard]] std::string inside() const { return plan_.tests_bounds() ? "inside_" : "true"; }

  /// Where nothing is valid, the address of the source means nothing.
  void move_piece() {
    const std::int64_t bytes = plan_.elements * bits() / 8;
    std::string valid = fmt::format("{}", bytes);
    if (plan_.cut_dim) {
      const std::size_t dim = *plan_.cut_dim;
      valid = fmt::format("tv::valid_bytes<{}, {}>({} - ({}))", plan_.elements, bits(),
                          from_.extent(dim), from_.index(dim));
    }
    if (plan_.tests_bounds()) valid = fmt::format("inside_ ? {} : 0", valid);
    kernel_.out.line(fmt::format("tv::copy_async<{}>({}, {}, {});", bytes, to_.address(0),
                                 from_.address(0), valid));
  }

  void move_element() {
    kernel_.out.line(fmt::format("tv::store<{0}>({1}, {2}, {3} ? tv::load<{0}>({4}, {5}) : 0);",
                                 bits(), to_.data(), to_.element(), inside(), from_.data(),
                                 from_.element()));
  }

  KernelEmission& kernel_;
  const isa::AccessPlan& plan_;
  AddressEmission from_, to_;
};

/// One thread of each of its warps copies every so many rows; all of it is the same for the threads
/// of a warp, so that the compiler keeps it in registers of the warp.
void emit_bulk_copy(const BulkCopy& copy, const isa::CopyAsync& inst, const isa::InstStmt& stmt,
                    KernelEmission& kernel) {
  constexpr std::int64_t most_unrolled = 32;
  CodeWriter& out = kernel.out;
  const CopyRun& run = *copy.run;
  const bool alone = run.first == run.last;
  if (!alone && run.first == &stmt) {
    out.open_plain(fmt::format("if (bulk_.warp - {}u < {})", run.first_warp, run.warps));
  }
  AddressEmission from(copy.from, inst.src.var, {"row_", copy.rows}, copy.from.address, "", kernel);
  AddressEmission to(copy.to, inst.dst.var, {"row_", copy.rows}, copy.to.address, "to_", kernel);
  out.open_plain(
      fmt::format("if (bulk_.warp - {}u < {} && tv::leads_warp())", copy.first_warp, copy.warps));
  from.declare_base();
  to.declare_base();
  const std::int64_t turns = (copy.rows + copy.warps - 1) / copy.warps;
  out.open_plain(fmt::format("{}for (tv::u32 l_ = 0; l_ < {}; ++l_)",
                             turns <= most_unrolled ? "TV_UNROLL " : "", turns));
  out.line(
      fmt::format("const tv::u32 row_ = bulk_.warp - {} + l_ * {};", copy.first_warp, copy.warps));
  if (copy.rows % copy.warps != 0) {
    out.line(fmt::format("if (l_ == {} && row_ >= {}) break;", turns - 1, copy.rows));
  }
  from.declare_access();
  to.declare_access();
  out.line(
      fmt::format("tv::copy_bulk<{}>(bulk_, {}, {});", copy.bytes, to.address(0), from.address(0)));
  out.close();
  out.close();
  if (run.last != &stmt) return;
  if (!alone) out.close();
  out.line(fmt::format("bulk_.bytes += {};", run.bytes));
}

}  // namespace

void emit_instruction(const isa::CopyAsync& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  if (const BulkCopy* copy = kernel.bulk_copies().find(stmt)) {
    kernel.chose(stmt, explain_bulk_copy(*copy));
    emit_bulk_copy(*copy, inst, stmt, kernel);
    return;
  }
  const isa::AccessPlan& plan = kernel.program().access_plan(stmt);
  const std::string moved = plan.form == isa::AccessForm::copy ? "" : ", loaded and stored";
  kernel.chose(stmt, explain_access(plan, false) + moved,
               explain_obstacle(plan, kernel.definition().variable(inst.src.var).type,
                                kernel.program().source()));
  CopyEmission(inst, stmt, kernel).run();
  kernel.fence_for_bulk(stmt);
}

void emit_instruction(const isa::CopyAsyncCommitGroup&, const isa::InstStmt&,
                      KernelEmission& kernel) {
  if (kernel.bulk_copies().groups() > 0) kernel.out.line("tv::commit_bulk(bulk_);");
  if (kernel.bulk_copies().are_all()) return;
  kernel.out.line("tv::copy_async_commit();");
}

/// To wait for more than is asked is always right, and the instruction's number is small.
void emit_instruction(const isa::CopyAsyncWaitGroup& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  constexpr std::int64_t most = 15;
  const std::int64_t pending = std::min(most, inst.pending.value.constant_int().value_or(0));
  if (kernel.bulk_copies().groups() > 0) {
    kernel.out.line(fmt::format("tv::wait_for_bulk<{}>(bulk_);", pending));
  }
  if (kernel.bulk_copies().are_all()) return;
  kernel.out.line(fmt::format("tv::copy_async_wait<{}>();", pending));
  kernel.fence_for_bulk(stmt);
}

}  // namespace tilevm::backend
