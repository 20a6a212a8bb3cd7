#include "sim/debug/record_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
    case PlanOp::Kind::fork:
      return true;
    case PlanOp::Kind::jump:
    case PlanOp::Kind::loop_enter:
    case PlanOp::Kind::group_end:
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
    case PlanOp::Kind::fork:
    case PlanOp::Kind::group_end:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Where an offset is, where the call is that it is in, and so on.
std::vector<std::size_t> offsets_of(const SourceFile& source, std::size_t offset) {
  std::vector<std::size_t> chain{offset};
  for (const SourceFile::Call& call : source.calls_at(offset)) chain.push_back(call.call.begin);
  return chain;
}

/// An inlined copy: how far it is from its text, and where it is called.
using CopyId = std::pair<std::size_t, std::size_t>;
CopyId copy_id(const SourceFile& source, std::size_t offset, std::size_t called_at) {
  return {offset - source.place_in_text(offset), called_at + 1};
}

}  // namespace

RecordTable::RecordTable(const isa::VerifiedProgram& program, int kernel, const Plan& plan) {
  Statements statements;
  walk(program.kernel(kernel).body, 0, statements);
  const RecordRange whole{0, plan.records.size()};
  for (const PlanOp& record : plan.records) {
    const auto index = static_cast<std::size_t>(record.statement.index);
    RecordInfo info;
    info.line = source_line(program.source(), record.span.begin);
    info.depth = statements[index].depth;
    info.visible = is_visible(record.kind);
    info.loop = info.call = whole;
    if (writes_results(record.kind)) info.written = statements[index].written;
    infos_.push_back(std::move(info));
  }
  find_loops(plan);
  find_calls(program.source(), plan);
  index(program.kernel(kernel).name, plan);
}

/// A jump back closes a loop; inner loops close first.
void RecordTable::find_loops(const Plan& plan) {
  const RecordRange whole{0, plan.records.size()};
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    const PlanOp& record = plan.records[i];
    if (record.kind != PlanOp::Kind::jump || record.target > i) continue;
    const bool is_last = plan.records[record.target].target == i + 1;
    if (!is_last) continue;  // a `continue`
    for (std::size_t k = record.target; k <= i; ++k) {
      if (infos_[k].loop == whole) infos_[k].loop = {record.target, i + 1};
    }
  }
}

/// Which records are in which inlined calls, and at which record each line of each call begins.
void RecordTable::find_calls(const SourceFile& source, const Plan& plan) {
  std::map<CopyId, RecordRange> ranges;
  std::vector<std::vector<CopyId>> copies(plan.records.size());
  std::set<std::pair<CopyId, SourceLine>> lines;
  std::vector<CopyId> before;  // of the last visible record
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    const std::vector<std::size_t> chain = offsets_of(source, plan.records[i].span.begin);
    for (std::size_t k = 0; k + 1 < chain.size(); ++k) {
      copies[i].push_back(copy_id(source, chain[k], chain[k + 1]));
      ranges.try_emplace(copies[i].back(), RecordRange{i, i}).first->second.end = i + 1;
    }
    RecordInfo& info = infos_[i];
    info.call_depth = static_cast<int>(copies[i].size());
    if (!info.visible) continue;
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const CopyId copy = k < copies[i].size() ? copies[i][k] : CopyId{};
      const SourceLine line = source_line(source, chain[k]);
      if (lines.emplace(copy, line).second) info.begins.push_back(line);
      const bool is_new = std::ranges::find(before, copy) == before.end();
      if (k >= copies[i].size() || !is_new) continue;
      --info.call_depth;
      info.enters.push_back(source.calls_at(chain[k]).front().function);
    }
    before = copies[i];
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (!copies[i].empty()) infos_[i].call = ranges[copies[i].front()];
  }
}

bool RecordTable::begins(std::size_t record, SourceLine line) const {
  const auto& begun = infos_[record].begins;
  return std::ranges::find(begun, line) != begun.end();
}

void RecordTable::index(std::string_view kernel, const Plan& plan) {
  bool first = true;
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    for (const isa::VarId var : infos_[i].written) {
      const auto index = static_cast<std::size_t>(var.index);
      if (index >= writers_.size()) writers_.resize(index + 1);
      writers_[index].push_back(i);
    }
    for (const SourceLine& line : infos_[i].begins) {
      std::vector<std::size_t>& at = lines_[{line.file, line.line}];
      if (at.empty() || at.back() != i) at.push_back(i);
    }
    if (!infos_[i].visible) continue;
    if (std::exchange(first, false)) names_[std::string(kernel)].push_back(i);
    for (const std::string& function : infos_[i].enters) {
      functions_.insert(function);
      names_[function].push_back(i);
    }
    if (!plan.records[i].mnemonic.empty()) {
      names_[std::string(plan.records[i].mnemonic)].push_back(i);
    }
  }
}

std::optional<SourceLine> RecordTable::line_from(SourceLine line) const {
  const auto found = lines_.lower_bound({line.file, line.line});
  if (found == lines_.end() || found->first.first != line.file) return std::nullopt;
  return SourceLine{found->first.second, line.file};
}

const std::vector<std::size_t>& RecordTable::at_line(SourceLine line) const {
  static const std::vector<std::size_t> none;
  const auto found = lines_.find({line.file, line.line});
  return found != lines_.end() ? found->second : none;
}

const std::vector<std::size_t>& RecordTable::at_name(std::string_view name) const {
  static const std::vector<std::size_t> none;
  const auto found = names_.find(name);
  return found != names_.end() ? found->second : none;
}

const std::vector<std::size_t>& RecordTable::writers_of(isa::VarId var) const {
  static const std::vector<std::size_t> none;
  const auto index = static_cast<std::size_t>(var.index);
  return index < writers_.size() ? writers_[index] : none;
}

}  // namespace tilevm::sim::debug
