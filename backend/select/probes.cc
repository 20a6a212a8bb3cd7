// Which statements of a kernel have a probe (isa/program/probe.h).
//
// Every statement that writes a register tile, a scalar or memory makes a record, and so does every
// iteration of a loop. A product that is put together after a loop makes its record there. Without
// a probe are statements whose result the code does not have (fused and elided forms), and an
// update of memory by a variable that takes its result. Bulk copies that share one branch make one
// record, at the last of them.

#include <algorithm>
#include <variant>

#include "backend/select/passes.h"
#include "isa/analysis/operands.h"
#include "isa/inst/slot_table.h"

namespace tilevm::backend {
namespace {

using isa::ProbeMode;

/// Whether a variable's value is in registers: a tile or a scalar.
bool is_value(const isa::Type& type) {
  return std::holds_alternative<isa::RegisterType>(type) ||
         std::holds_alternative<isa::ScalarType>(type);
}

/// Whether an instruction reads a variable that it also writes.
bool reads_its_result(const isa::InstStmt& stmt) {
  bool found = false;
  isa::for_each_operand(stmt.inst, [&](isa::VarId var) {
    found = found || std::find(stmt.results.begin(), stmt.results.end(), var) != stmt.results.end();
  });
  return found;
}

ProbeMode mode_of(const isa::InstStmt& stmt, const isa::Kernel& kernel, const Form& form) {
  // The result of a product in flight must not be touched.
  if (std::holds_alternative<AsyncDot>(form)) return ProbeMode::none;
  if (std::holds_alternative<ElidedView>(form) || std::holds_alternative<ElidedCast>(form)) {
    return ProbeMode::none;
  }
  // The simulator's probe looks at operands after the statement.
  if (isa::updates_memory(stmt.inst) && reads_its_result(stmt)) return ProbeMode::none;
  if (const auto* copy = std::get_if<BulkCopy>(&form)) {
    return copy->ends_run ? ProbeMode::records : ProbeMode::joins;
  }
  const auto results = isa::probed_results(stmt);
  const bool has_value = std::any_of(results.begin(), results.end(), [&](isa::VarId var) {
    return is_value(kernel.variable(var).type);
  });
  // No thread writes what the copy engine moves: later loads of it show a difference.
  if (isa::description(stmt.inst).by_copy_engine) return ProbeMode::none;
  return has_value || isa::writes_memory(stmt.inst) ? ProbeMode::records : ProbeMode::none;
}

ProbeMode mode_of(const isa::Stmt& stmt, const isa::Kernel& kernel, const Form& form) {
  if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
    return mode_of(*inst, kernel, form);
  }
  const bool records = std::holds_alternative<isa::ScalarStmt>(stmt.node) ||
                       std::holds_alternative<isa::ForStmt>(stmt.node) ||
                       std::holds_alternative<isa::WhileStmt>(stmt.node);
  return records ? ProbeMode::records : ProbeMode::none;
}

}  // namespace

void place_probes(Selection& selection) {
  if (!selection.options.probes) return;
  const isa::StmtMap<Form>& forms = selection.result.forms;
  isa::ProbePlan& plan = selection.result.probes;
  plan = isa::ProbePlan(forms.size());
  isa::for_each_statement(selection.kernel.body, [&](const isa::Stmt& stmt) {
    if (selection.info.group_of[stmt.id()] != 0)
      return;  // threads of a block make a record together
    plan[stmt.id()] = mode_of(stmt, selection.kernel, forms[stmt.id()]);
  });
  for (const DeferredSum& sum : selection.result.deferred) {
    plan.record_after({sum.loop, sum.dot->id});
  }
}

}  // namespace tilevm::backend
