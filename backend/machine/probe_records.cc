// The records of probes (isa/program/probe.h): after all operations of a statement, at the begin of
// each iteration of a loop, and after a loop that puts products together there.
#include <utility>

#include "backend/machine/passes.h"

namespace tilevm::backend {
namespace {

std::vector<isa::VarId> values_of(const isa::InstStmt& stmt) {
  const auto results = isa::probed_results(stmt);
  return {results.begin(), results.end()};
}

std::vector<isa::VarId> values_of(const isa::Stmt& stmt) {
  if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) return values_of(*inst);
  if (const auto* scalar = std::get_if<isa::ScalarStmt>(&stmt.node)) return {scalar->target};
  if (const auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) return {loop->var};
  return {};
}

class RecordPlacement {
 public:
  explicit RecordPlacement(const isa::ProbePlan& probes) : probes_(probes) {}

  MachineBlock place(MachineBlock block) {
    MachineBlock result;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const isa::Stmt* const stmt = block[i].stmt;
      const bool is_last = i + 1 == block.size() || block[i + 1].stmt != stmt;
      result.push_back(place(std::move(block[i])));
      const MachineNode& placed = result.back();
      if (const auto* op = std::get_if<MachineOp>(&placed.node)) {
        if (const auto* ends = std::get_if<EndCounts>(&op->code)) {
          result.push_back(op_node(stmt, ProbeRecord{ends->dot->id, values_of(*ends->dot)}));
          continue;
        }
      }
      if (is_last && stmt != nullptr && !is_structure(*stmt) && records(*stmt)) {
        result.push_back(op_node(stmt, record_of(*stmt)));
      }
    }
    return result;
  }

 private:
  MachineNode place(MachineNode node) {
    if (auto* loop = std::get_if<MachineLoop>(&node.node)) {
      loop->body = place(std::move(loop->body));
      if (records(*node.stmt)) {
        loop->body.insert(loop->body.begin(), op_node(nullptr, record_of(*node.stmt)));
      }
    } else if (auto* branch = std::get_if<MachineBranch>(&node.node)) {
      for (MachineBlock& arm : branch->arms) arm = place(std::move(arm));
      branch->otherwise = place(std::move(branch->otherwise));
    } else if (auto* fork = std::get_if<MachineFork>(&node.node)) {
      for (MachineBlock& group : fork->groups) group = place(std::move(group));
    }
    return node;
  }

  static bool is_structure(const isa::Stmt& stmt) {
    return !std::holds_alternative<isa::InstStmt>(stmt.node) &&
           !std::holds_alternative<isa::ScalarStmt>(stmt.node);
  }
  [[nodiscard]] bool records(const isa::Stmt& stmt) const {
    return probes_[stmt.id()] == isa::ProbeMode::records;
  }
  static ProbeRecord record_of(const isa::Stmt& stmt) { return {stmt.id(), values_of(stmt)}; }

  const isa::ProbePlan& probes_;
};

}  // namespace

MachineKernel place_records(MachineKernel machine, const MachineSource& source) {
  if (source.selected.probes.empty()) return machine;
  machine.body = RecordPlacement(source.selected.probes).place(std::move(machine.body));
  return machine;
}

}  // namespace tilevm::backend
