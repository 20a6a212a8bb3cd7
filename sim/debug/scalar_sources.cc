#include "sim/debug/scalar_sources.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/analysis/scalar_expressions.h"
#include "isa/inst/slot_table.h"
#include "isa/program/tile_move.h"
#include "isa/type/number.h"

namespace tilevm::sim::debug {
namespace {

/// The most scalars that one line lists, and the most conditions that a step lists.
constexpr std::size_t most_scalars = 8, most_conditions = 4;

using Exprs = std::vector<isa::Expr>;

/// The arms of a branch whose conditions were evaluated before a statement inside of it ran: all up
/// to the one that it is in.
std::size_t arms_before(const isa::Statements& statements, const isa::IfStmt& branch,
                        isa::StmtId inside) {
  for (std::size_t i = 0; i < branch.arms.size(); ++i) {
    for (const isa::Stmt& stmt : branch.arms[i].body) {
      if (statements.contains(stmt.id(), inside)) return i + 1;
    }
  }
  return branch.arms.size();
}

/// The index of an operand's element that an element of a tile takes (isa/layout/broadcast.h).
isa::Index broadcast_index(const isa::Index& element, const isa::Shape& operand) {
  isa::Index index(operand.size(), 0);
  const std::size_t lacking = element.size() - std::min(element.size(), operand.size());
  for (std::size_t d = 0; d < index.size() && d + lacking < element.size(); ++d) {
    index[d] = operand[d] == 1 ? 0 : element[d + lacking];
  }
  return index;
}

}  // namespace

ScalarSources::ScalarSources(Timeline& timeline, const std::vector<isa::DType>& dtypes,
                             const std::vector<isa::Shape>& shapes, std::uint64_t rank,
                             reply::Cause& cause, std::vector<TrailBranch>& branches)
    : timeline_(timeline),
      machine_(timeline.machine()),
      dtypes_(dtypes),
      shapes_(shapes),
      cause_(cause),
      branches_(branches),
      kernel_(machine_.launch().kernel()),
      statements_(kernel_),
      launch_(machine_.launch_index()),
      rank_(rank) {
  const auto& records = machine_.launch().plan().records;
  const std::size_t next = block().next;
  if (next < records.size()) statement_ = &statements_[records[next].statement];
}

/// The block's number among those that run, which changes as others begin and end.
std::size_t ScalarSources::resident() {
  const auto& residents = machine_.state().residents;
  const auto found = std::ranges::find_if(
      residents, [&](const auto& resident) { return resident->rank == rank_; });
  return static_cast<std::size_t>(found - residents.begin());
}

const std::vector<Moment>& ScalarSources::last_run() {
  return machine_.state().residents[resident()]->last_run;
}

const BlockState& ScalarSources::block() { return machine_.state().residents[resident()]->state; }

Names ScalarSources::names() { return {machine_, resident(), shapes_, dtypes_}; }

Trail ScalarSources::trail(isa::VarId var) { return scalar_trail(var, launch_, rank_); }

isa::Scalar ScalarSources::value_of(isa::VarId var) {
  const auto* type = std::get_if<isa::ScalarType>(&kernel_.variable(var).type);
  return {type->kind, block().scalars[static_cast<std::size_t>(var.index)]};
}

std::vector<isa::VarId> ScalarSources::evaluated(const Exprs& exprs) {
  return isa::evaluated_variables(exprs, [&](isa::VarId var) { return value_of(var); });
}

/// Calls f at a moment of the same block, and comes back.
template <class F>
void ScalarSources::at(Moment moment, F&& f) {
  const Moment here = timeline_.now();
  timeline_.go_back_to(moment);
  f();
  timeline_.go_back_to(here);
}

/// A line of scalars with a number each; nothing without scalars.
void ScalarSources::add(std::string_view word, const std::vector<isa::VarId>& vars) {
  if (vars.empty()) return;
  reply::Cause::Source source;
  const Names look = names();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(vars.size(), most_scalars); ++i) {
    branches_.push_back({trail(vars[i]), timeline_.now()});
    source.branches.push_back(branches_.size());
    texts.push_back(
        fmt::format("{} = {}", look.name_of(vars[i]), isa::to_string(value_of(vars[i]))));
  }
  if (vars.size() > most_scalars) {
    texts.push_back(fmt::format("and {} more", vars.size() - most_scalars));
  }
  source.text = fmt::format("{}{}{}", word, word.empty() ? "" : ": ", fmt::join(texts, ", "));
  cause_.sources.push_back(std::move(source));
}

void ScalarSources::list_values(std::optional<std::int64_t> element) {
  if (statement_ == nullptr) return;
  std::vector<isa::VarId> vars;
  if (const auto* scalar = std::get_if<isa::ScalarStmt>(&statement_->node)) {
    vars = evaluated({scalar->value});
  } else if (const auto* inst = std::get_if<isa::InstStmt>(&statement_->node)) {
    vars = evaluated(isa::value_expressions(inst->inst, element));
  }
  for (std::size_t i = 0; i < std::min(vars.size(), most_scalars); ++i) add({}, {vars[i]});
  values_ += std::min(vars.size(), most_scalars);
}

void ScalarSources::list_range() {
  const auto* loop = statement_ != nullptr ? std::get_if<isa::ForStmt>(&statement_->node) : nullptr;
  if (loop == nullptr) return;
  const auto entered = decided_at(loop->id, PlanOp::Kind::loop_enter);
  if (!entered) return;
  const std::size_t before = branches_.size();
  at(*entered, [&] { add("range", evaluated({loop->begin, loop->end, loop->step})); });
  values_ += branches_.size() - before;
}

/// The moment before a statement evaluated its condition or its range last.
std::optional<Moment> ScalarSources::decided_at(isa::StmtId id, PlanOp::Kind kind) {
  const auto& records = machine_.launch().plan().records;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].statement != id || records[i].kind != kind) continue;
    const Moment ran = last_run()[i];
    return ran > 0 ? std::optional(ran - 1) : std::nullopt;
  }
  return std::nullopt;
}

/// Whether the text of the kernel makes a scalar from elements of tensors.
bool ScalarSources::comes_from_data(isa::VarId var) {
  std::vector<isa::VarId> seen{var};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (const std::size_t record : machine_.launch().records().writers_of(seen[i])) {
      const isa::Stmt& writer = statements_[machine_.launch().plan().records[record].statement];
      if (const auto* inst = std::get_if<isa::InstStmt>(&writer.node)) {
        if (isa::description(inst->inst).result == isa::ResultKind::scalar) return true;
      }
      if (const auto* scalar = std::get_if<isa::ScalarStmt>(&writer.node)) {
        isa::for_each_variable(scalar->value, [&](isa::VarId used) {
          if (std::ranges::find(seen, used) == seen.end()) seen.push_back(used);
        });
      }
    }
  }
  return false;
}

void ScalarSources::list_offsets(const AccessCapture& capture,
                                 const std::optional<MovedElement>& moved) {
  const auto* inst =
      statement_ != nullptr ? std::get_if<isa::InstStmt>(&statement_->node) : nullptr;
  if (inst == nullptr) return;
  const std::vector<isa::VarId> vars = evaluated(isa::offset_expressions(inst->inst));
  add("offset", vars);
  for (const isa::VarId var : vars) cause_.data_offset = cause_.data_offset || comes_from_data(var);
  if (const auto move = isa::tile_move(*inst)) {
    const auto& indexed =
        std::visit([](const auto& of) -> const auto& { return of.indexed; }, *move);
    if (indexed && moved) {
      const LayoutParts& parts =
          capture.in_global ? *capture.in_global->access->parts : *capture.in_shared->access->parts;
      add_index_element(indexed->index, parts.index(moved->thread, moved->place), moved->thread);
      cause_.data_offset = true;
    }
  }
  isa::for_each_slot_of(inst->inst, [&](isa::Access access, const auto& slot) {
    if constexpr (std::is_same_v<std::decay_t<decltype(slot)>, isa::GlobalOperand>) {
      if (access != isa::Access::none) add_view(slot.var);
    }
  });
}

/// The element of an index tile that said where an element of memory is. A thread holds what its
/// own elements need.
void ScalarSources::add_index_element(isa::VarId index, const isa::Index& moved,
                                      std::size_t thread) {
  const auto* type = std::get_if<isa::RegisterType>(&kernel_.variable(index).type);
  if (type == nullptr) return;
  const isa::Index element = broadcast_index(moved, type->shape());
  const std::vector<std::int64_t> holders = type->layout.threads_of(element);
  const bool own = std::ranges::find(holders, static_cast<std::int64_t>(thread)) != holders.end();
  Trail trail;
  trail.launch = launch_;
  trail.rank = rank_;
  trail.var = index;
  trail.thread = own ? thread : static_cast<std::size_t>(holders.front());
  const auto place = static_cast<std::size_t>(type->layout.local_of(element));
  trail.bits = {{place * type->dtype.bits, (place + 1) * type->dtype.bits}};
  const Names look = names();
  const Element value = look.tensor_of(index)->read(block(), trail.thread, place);
  branches_.push_back({trail, timeline_.now()});
  cause_.sources.push_back(
      {fmt::format("index: {}[{}] = {}", look.name_of(index), fmt::join(element, ", "),
                   isa::format_value(type->dtype, value.code)),
       {branches_.size()}});
}

/// The scalars of the extents and strides of a view, which it took when it was made.
void ScalarSources::add_view(isa::VarId view) {
  const Moment made = names().last_written(view);
  if (made == 0) return;
  for (const std::size_t record : machine_.launch().records().writers_of(view)) {
    if (last_run()[record] != made) continue;
    const isa::StmtId id = machine_.launch().plan().records[record].statement;
    const isa::InstStmt* inst = statements_.instruction(id);
    if (inst == nullptr) return;
    const Exprs exprs = isa::view_expressions(inst->inst);
    const std::string word = fmt::format("view {}", names().name_of(view));
    at(made - 1, [&] { add(word, evaluated(exprs)); });
    return;
  }
}

/// The conditions of a branch or a loop that were evaluated before a statement inside of it ran, or
/// did not run.
void ScalarSources::add_condition(const isa::Stmt& outer, isa::StmtId inside,
                                  std::string_view word) {
  std::vector<isa::Expr> conditions;
  if (const auto* loop = std::get_if<isa::WhileStmt>(&outer.node)) {
    conditions = {loop->condition};
  } else if (const auto* branch = std::get_if<isa::IfStmt>(&outer.node)) {
    const std::size_t count = arms_before(statements_, *branch, inside);
    for (std::size_t i = 0; i < count; ++i) conditions.push_back(branch->arms[i].condition);
  }
  const std::function<isa::Scalar(isa::VarId)> value = [&](isa::VarId var) {
    return value_of(var);
  };
  for (const isa::Expr& condition : conditions) {
    const std::optional<isa::Scalar> holds = isa::evaluate(condition, value);
    const SourceLine line = source_line(machine_.program().source(), condition.span().begin);
    add(fmt::format("{} `{}` is {}, line {}", word, isa::to_string(condition),
                    holds && holds->bits != 0 ? "true" : "false",
                    line_text(machine_.program().source(), line)),
        evaluated({condition}));
    if (holds && holds->bits != 0) return;  // the conditions behind it were not evaluated
  }
}

void ScalarSources::list_conditions(ListedConditions& listed) {
  if (statement_ == nullptr) return;
  const isa::StmtId inside = statement_->id();
  std::size_t count = 0;
  for (isa::StmtId id = statements_.parent(inside); id.valid() && count < most_conditions;
       id = statements_.parent(id)) {
    const isa::Stmt& outer = statements_[id];
    if (std::holds_alternative<isa::ForStmt>(outer.node)) continue;
    const auto decided = decided_at(id, PlanOp::Kind::branch);
    if (!decided || !listed.emplace(launch_, rank_, id.index, *decided).second) continue;
    ++count;
    at(*decided, [&] { add_condition(outer, inside, "because"); });
  }
}

std::vector<ScalarSources::NotTaken> ScalarSources::find_not_taken(isa::VarId var, Moment written) {
  std::vector<NotTaken> found;
  const RecordTable& records = machine_.launch().records();
  const std::vector<Moment> ran = last_run();
  std::optional<isa::StmtId> last;
  for (const std::size_t record : records.writers_of(var)) {
    if (ran[record] == written) last = machine_.launch().plan().records[record].statement;
  }
  for (const std::size_t record : records.writers_of(var)) {
    const isa::StmtId writer = machine_.launch().plan().records[record].statement;
    for (isa::StmtId id = statements_.parent(writer); id.valid(); id = statements_.parent(id)) {
      const isa::Stmt& outer = statements_[id];
      if (std::holds_alternative<isa::ForStmt>(outer.node)) continue;
      // The end of a loop that has run is not a reason.
      const bool is_loop = std::holds_alternative<isa::WhileStmt>(outer.node);
      if (is_loop && last && statements_.contains(id, *last)) continue;
      const auto decided = decided_at(id, PlanOp::Kind::branch);
      const bool known =
          std::ranges::any_of(found, [&](const NotTaken& other) { return other.condition == id; });
      if (!decided || *decided < written || ran[record] > *decided || known) continue;
      if (found.size() < most_conditions) found.push_back({id, writer, *decided});
    }
  }
  return found;
}

/// Whether the conditions of a branch or a loop, as they are, lead to a statement inside of it:
/// then it is about to run.
bool ScalarSources::leads_to(const isa::Stmt& outer, isa::StmtId inside) {
  const auto holds = [&](const isa::Expr& condition) {
    const auto value = isa::evaluate(condition, [&](isa::VarId var) { return value_of(var); });
    return value && value->bits != 0;
  };
  if (const auto* loop = std::get_if<isa::WhileStmt>(&outer.node)) return holds(loop->condition);
  const auto* branch = std::get_if<isa::IfStmt>(&outer.node);
  if (branch == nullptr) return true;
  const auto contains = [&](const isa::Block& block) {
    return std::ranges::any_of(
        block, [&](const isa::Stmt& stmt) { return statements_.contains(stmt.id(), inside); });
  };
  for (const isa::IfStmt::Arm& arm : branch->arms) {
    if (holds(arm.condition)) return contains(arm.body);
  }
  return contains(branch->otherwise);
}

void ScalarSources::list_not_taken(const std::vector<NotTaken>& found) {
  for (const NotTaken& branch : found) {
    const SourceLine line =
        source_line(machine_.program().source(), statements_[branch.writer].span.begin);
    at(branch.moment, [&] {
      if (leads_to(statements_[branch.condition], branch.writer)) return;
      add_condition(statements_[branch.condition], branch.writer,
                    fmt::format("not written by line {}, because",
                                line_text(machine_.program().source(), line)));
    });
  }
}

}  // namespace tilevm::sim::debug
