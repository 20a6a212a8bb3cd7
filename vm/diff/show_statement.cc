#include "vm/diff/show_statement.h"

#include <memory>
#include <utility>

#include "isa/analysis/operands.h"
#include "isa/analysis/statements.h"
#include "vm/diff/probe_dump.h"
#include "vm/run/make_engine.h"

namespace tilevm::vm {

namespace {

/// Windows that hold only the block of the statement, whose record is the target.
ProbeLogs aim_at(const BisectedStatement& found, const DiffCase& what) {
  const bool path = std::holds_alternative<PathDifference>(found.what);
  ProbeLogs logs = make_logs(what);
  isa::ProbeWindow& window = logs[found.launch].window;
  window = {found.block, 1, found.record + 1, {}};
  const bool exists = !path || found.record > 0;
  if (exists) window.target = isa::ProbeWindow::Target{found.block, found.record};
  return logs;
}

/// What the simulator reads at the statement. A program that it cannot run has no operands.
std::optional<Error> tell_operands(ProbedRuns& runs, ProbeLogs logs, int threads,
                                   BisectedStatement& found) {
  const Result<std::unique_ptr<Engine>> simulator = make_engine("sim", {.threads = threads});
  if (!simulator) return simulator.error();
  if (runs.run(**simulator, logs)) return std::nullopt;
  found.before = std::move(logs[found.launch].dump);
  const isa::Kernel& kernel = runs.what().program.kernel(found.kernel);
  const isa::Statements statements(kernel);
  for (LoopTrip& trip : found.loops) {
    const auto* loop = std::get_if<isa::ForStmt>(&statements[trip.loop].node);
    if (loop == nullptr || trip.loop == found.statement) continue;
    const auto slot = static_cast<std::size_t>(loop->var.index);
    const auto* type = std::get_if<isa::ScalarType>(&kernel.variable(loop->var).type);
    if (type == nullptr || slot >= found.before.scalars.size()) continue;
    trip.value = isa::Scalar{type->kind, found.before.scalars[slot]};
  }
  return std::nullopt;
}

/// Whether a statement writes to the tensor in shared memory that has an address.
bool fills(const isa::Stmt& stmt, const isa::KernelInfo& info, std::uint64_t address) {
  const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
  if (inst == nullptr) return false;
  bool fills = false;
  isa::for_each_memory_operand<isa::SharedOperand>(
      inst->inst, [&](isa::Access access, isa::VarId var) {
        const auto& tile = info.shared_tile(var);
        const auto begin = static_cast<std::uint64_t>(tile.gpu_offset);
        const bool inside = address - begin < static_cast<std::uint64_t>(tile.bytes);
        fills = fills || (isa::writes(access) && inside);
      });
  return fills;
}

/// Copies that share a branch have one record, at the last of them. The one that differs is known
/// if no other one fills the same tensor.
isa::StmtId choose_copy(const ProbedRuns& runs, const BisectedStatement& found) {
  const auto* write = std::get_if<WriteDifference>(&found.what);
  if (write == nullptr) return found.statement;
  const isa::Statements statements(runs.what().program.kernel(found.kernel));
  const isa::ProbePlan& plan = runs.plan(found.kernel);
  std::vector<isa::StmtId> filling;
  isa::StmtId copy = found.statement;
  do {
    const isa::KernelInfo& info = runs.what().program.info(found.kernel);
    if (fills(statements[copy], info, write->address)) filling.push_back(copy);
    copy = statements.previous(copy);
  } while (copy.valid() && plan[copy] == isa::ProbeMode::joins);
  return filling.size() == 1 ? filling.front() : found.statement;
}

}  // namespace

std::optional<Error> show_statement(ProbedRuns& runs, Engine& a, Engine& b, int threads,
                                    BisectedStatement& found) {
  const DiffCase& what = runs.what();
  found.after_loop = runs.plan(found.kernel).loop_of(found.statement);
  ProbeLogs logs_a = aim_at(found, what), logs_b = logs_a;
  if (auto error = tell_operands(runs, logs_a, threads, found)) return error;
  if (std::holds_alternative<PathDifference>(found.what)) return std::nullopt;
  if (auto error = runs.run(a, logs_a)) return error;
  if (auto error = runs.run(b, logs_b)) return error;
  const isa::Statements statements(what.program.kernel(found.kernel));
  if (found.after_loop.valid()) {
    std::erase_if(found.loops, [&](const LoopTrip& trip) {
      return statements.contains(found.after_loop, trip.loop);
    });
  }
  found.what = compare_dumps(what.program, found.kernel, statements[found.statement],
                             logs_a[found.launch].dump, logs_b[found.launch].dump);
  found.statement = choose_copy(runs, found);
  return std::nullopt;
}

}  // namespace tilevm::vm
