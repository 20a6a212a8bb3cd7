#include "sim/debug/record_table.h"

#include <algorithm>
#include <set>

#include "isa/program/stmt_map.h"

namespace tilevm::sim::debug {
namespace {

/// What a statement says of its records.
struct StatementInfo {
  int depth = 0;
  std::vector<isa::VarId> written;
};

using Statements = std::vector<StatementInfo>;

void walk(const isa::Block& block, int depth, Statements& statements) {
  for (const isa::Stmt& stmt : block) {
    const auto index = static_cast<std::size_t>(stmt.id().index);
    if (statements.size() <= index) statements.resize(index + 1);
    statements[index].depth = depth;
    if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
      statements[index].written = inst->results;
    } else if (const auto* scalar = std::get_if<isa::ScalarStmt>(&stmt.node)) {
      statements[index].written = {scalar->target};
    } else if (const auto* loop = std::get_if<isa::ForStmt>(&stmt.node)) {
      statements[index].written = {loop->var};
    }
    isa::for_each_block_of(stmt,
                           [&](const isa::Block& inner) { walk(inner, depth + 1, statements); });
  }
}

bool is_visible(PlanOp::Kind kind) {
  switch (kind) {
    case PlanOp::Kind::instruction:
    case PlanOp::Kind::assign:
    case PlanOp::Kind::branch:
    case PlanOp::Kind::loop_next:
      return true;
    case PlanOp::Kind::jump:
    case PlanOp::Kind::loop_enter:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Whether a record of this kind writes what its statement does.
bool writes_results(PlanOp::Kind kind) {
  switch (kind) {
    case PlanOp::Kind::instruction:
    case PlanOp::Kind::assign:
    case PlanOp::Kind::loop_next:
      return true;
    case PlanOp::Kind::branch:
    case PlanOp::Kind::jump:
    case PlanOp::Kind::loop_enter:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace

RecordTable::RecordTable(const isa::VerifiedProgram& program, int kernel, const Plan& plan) {
  Statements statements;
  walk(program.kernel(kernel).body, 0, statements);
  std::set<int> lines;
  for (const PlanOp& record : plan.records) {
    const auto index = static_cast<std::size_t>(record.statement.index);
    RecordInfo info;
    info.line = program.source().locate(record.span.begin).line;
    info.depth = statements[index].depth;
    info.visible = is_visible(record.kind);
    info.first_of_line = info.visible && lines.insert(info.line).second;
    info.loop_end = plan.records.size();
    if (writes_results(record.kind)) info.written = statements[index].written;
    infos_.push_back(std::move(info));
  }
  // A jump back closes a loop; inner loops close first.
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    const PlanOp& record = plan.records[i];
    if (record.kind != PlanOp::Kind::jump || record.target > i) continue;
    const bool is_last = plan.records[record.target].target == i + 1;
    if (!is_last) continue;  // a `continue`
    for (std::size_t k = record.target; k <= i; ++k) {
      if (infos_[k].loop_begin != 0 || infos_[k].loop_end != plan.records.size()) continue;
      infos_[k].loop_begin = record.target;
      infos_[k].loop_end = i + 1;
    }
  }
}

std::optional<int> RecordTable::line_from(int line) const {
  std::optional<int> found;
  for (const RecordInfo& info : infos_) {
    if (!info.visible || info.line < line) continue;
    if (!found || info.line < *found) found = info.line;
  }
  return found;
}

std::vector<std::size_t> RecordTable::writers_of(isa::VarId var) const {
  std::vector<std::size_t> writers;
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    const auto& written = infos_[i].written;
    if (std::find(written.begin(), written.end(), var) != written.end()) writers.push_back(i);
  }
  return writers;
}

}  // namespace tilevm::sim::debug
