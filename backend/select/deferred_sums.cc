// Products of bipolar integers in loops: what their instructions count is put together to the
// result once, after the loop.
//
// The value of a product is a linear function of counts: of the pairs of bits that are both 1, of
// the ones of each operand, and of executions (backend/emit/emit_dot_bipolar.cc). So counts may be
// added up over executions first. Nobody notices if, inside of the loop, the accumulator is read
// and written by such products alone. The outermost loop of which this is true is taken.
#include <algorithm>
#include <set>

#include "backend/select/passes.h"
#include "isa/base/check.h"

namespace tilevm::backend {
namespace {

using isa::InstStmt;
using isa::StmtId;
using isa::VarId;

/// Registers that counts may take beside the accumulator.
constexpr std::size_t most_registers = 64;

/// The registers of the counts of a product, for each register of a fragment of c.
std::size_t count_registers(const isa::DotPlan& plan) {
  std::set<std::int32_t> rows, columns, sums;
  for (const isa::DotPlan::Step& step : plan.steps) {
    if (!sums.insert(step.c).second) continue;
    rows.insert(step.a);
    columns.insert(step.b);
  }
  const auto a_planes = static_cast<std::size_t>(plan.a_form.planes),
             b_planes = static_cast<std::size_t>(plan.b_form.planes);
  return sums.size() * (a_planes + b_planes - 1) +
         (plan.b_form.offset != 0 ? rows.size() * a_planes : 0) +
         (plan.a_form.offset != 0 ? columns.size() * b_planes : 0);
}

bool is_small(const isa::DotPlan& plan) {
  const std::size_t of_fragment = plan.c.empty() ? 0 : plan.c.front().size();
  return count_registers(plan) * of_fragment <= most_registers;
}

/// Whether a statement does nothing with an accumulator but to add bipolar products to it.
bool only_accumulates(StmtId id, VarId accumulator, Selection& selection) {
  const BipolarDot* const form = selection.form<BipolarDot>(id);
  if (form == nullptr || form->dot.beside || !is_small(*form->dot.plan)) return false;
  const InstStmt& stmt = *selection.statements.instruction(id);
  const auto& inst = *std::get_if<isa::Dot>(&stmt.inst);
  return inst.c.var == accumulator && stmt.results.front() == accumulator;
}

/// The outermost loop in which all that touches the accumulator only adds products to it.
StmtId find_loop(StmtId dot, VarId accumulator, const isa::Uses& uses, Selection& selection) {
  const isa::Statements& statements = selection.statements;
  const auto fits = [&](StmtId loop) {
    const auto is_fine = [&](StmtId id) {
      return !statements.contains(loop, id) || only_accumulates(id, accumulator, selection);
    };
    const auto read = uses.of(accumulator), written = selection.definitions.of(accumulator);
    return std::all_of(read.begin(), read.end(), is_fine) &&
           std::all_of(written.begin(), written.end(), is_fine);
  };
  StmtId found{};
  for (StmtId loop = statements.loop(dot); loop.valid() && fits(loop);
       loop = statements.loop(loop)) {
    found = loop;
  }
  return found;
}

}  // namespace

void defer_sums(Selection& selection) {
  std::vector<StmtId> dots;
  selection.statements.for_each([&](StmtId id) {
    if (selection.form<BipolarDot>(id) != nullptr) dots.push_back(id);
  });
  if (dots.empty()) return;
  const isa::Uses uses(selection.kernel, selection.statements);
  for (const StmtId id : dots) {
    const VarId accumulator = selection.statements.instruction(id)->results.front();
    if (!only_accumulates(id, accumulator, selection)) continue;
    const StmtId loop = find_loop(id, accumulator, uses, selection);
    if (!loop.valid()) continue;
    selection.form<BipolarDot>(id)->after = loop;
    selection.result.deferred.push_back({selection.statements.instruction(id), loop});
  }
}

}  // namespace tilevm::backend
