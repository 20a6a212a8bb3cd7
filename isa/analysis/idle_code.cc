// More than 400 lines: all notes of idle code: unused values, code that never runs, idle barriers.
#include "isa/analysis/idle_code.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "isa/analysis/definitions.h"
#include "isa/analysis/operands.h"
#include "isa/analysis/statements.h"

namespace tilevm::isa {
namespace {

/// Whether a statement has an effect beside its results: it writes global memory, shows or orders
/// something, or ends the block. What is written to shared memory is a result of that tensor.
bool has_effect(const InstStmt& stmt) {
  bool writes_global = false;
  for_each_memory_operand<GlobalOperand>(
      stmt.inst, [&](Access access, VarId) { writes_global = writes_global || writes(access); });
  if (description(stmt.inst).by_copy_engine) return true;  // barriers count its bytes
  switch (description(stmt.inst).category) {
    case Category::control:
    case Category::debug:
      return true;
    case Category::indexing:
    case Category::creation:
    case Category::transfer:
    case Category::compute:
      return writes_global;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Which variables the effects of a kernel depend on.
class Needed {
 public:
  Needed(const Kernel& kernel, const Statements& statements)
      : kernel_(kernel), statements_(statements), needed_(kernel.variables.size(), false) {
    for (const Expr& extent : kernel.grid) add(extent);
    statements.for_each([&](StmtId id) { add_roots(statements[id]); });
    find_writers();
    while (!open_.empty()) {
      const VarId var = open_.back();
      open_.pop_back();
      for (const StmtId writer : writers_[at(var)]) add_operands(statements[writer]);
    }
  }

  [[nodiscard]] bool operator()(VarId var) const { return needed_[at(var)]; }

 private:
  [[nodiscard]] static std::size_t at(VarId var) { return static_cast<std::size_t>(var.index); }

  void add(VarId var) {
    if (needed_[at(var)]) return;
    needed_[at(var)] = true;
    open_.push_back(var);
  }
  void add(const Expr& expr) {
    for_each_variable(expr, [&](VarId var) { add(var); });
  }

  /// Conditions and ranges decide what runs, so they are needed.
  void add_roots(const Stmt& stmt) {
    if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
      if (has_effect(*inst)) add_operands(stmt);
    } else if (!std::holds_alternative<ScalarStmt>(stmt.node)) {
      add_operands(stmt);
    }
  }

  void add_operands(const Stmt& stmt) {
    if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
      for_each_operand(inst->inst, [&](VarId var) { add(var); });
    } else if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
      add(scalar->value);
    } else if (const auto* range = std::get_if<ForStmt>(&stmt.node)) {
      for (const Expr* expr : {&range->begin, &range->end, &range->step}) add(*expr);
    } else if (const auto* loop = std::get_if<WhileStmt>(&stmt.node)) {
      add(loop->condition);
    } else if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) {
      for (const IfStmt::Arm& arm : branch->arms) add(arm.condition);
    }
  }

  /// By variable: the statements that give it a value, those that store into a shared tensor too.
  void find_writers() {
    writers_.resize(kernel_.variables.size());
    const Definitions definitions(kernel_, statements_);
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      const auto own = definitions.of({static_cast<std::int32_t>(i)});
      writers_[i].assign(own.begin(), own.end());
    }
    statements_.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
      for_each_memory_operand<SharedOperand>(stmt.inst, [&](Access access, VarId var) {
        if (writes(access)) writers_[at(var)].push_back(id);
      });
    });
  }

  const Kernel& kernel_;
  const Statements& statements_;
  std::vector<bool> needed_;
  std::vector<VarId> open_;
  std::vector<std::vector<StmtId>> writers_;
};

bool is_word(unsigned char c) { return c == '_' || std::isalnum(c) != 0; }

/// A value between the calls of one expression has the text of its call as a name, and a tile of
/// one value that number.
bool is_identifier(std::string_view name) {
  return std::ranges::all_of(name, is_word) && !name.empty() &&
         std::isdigit(static_cast<unsigned char>(name.front())) == 0;
}

/// How often a kernel's text has a word, without comments.
std::size_t count_word(const Kernel& kernel, const SourceFile& source, std::string_view word) {
  std::string_view text = source.text();
  text.remove_prefix(std::min<std::size_t>(kernel.span.begin, text.size()));
  for (const std::string_view next : {"\ndef ", "\npipeline ", "\nconst ", "\n@"}) {
    text = text.substr(0, text.find(next));
  }
  std::size_t count = 0;
  while (!text.empty()) {
    std::size_t end = 1;
    if (text.front() == '#') end = text.find('\n');
    if (is_word(text.front())) {
      while (end < text.size() && is_word(text[end])) ++end;
      count += text.substr(0, end) == word ? 1 : 0;
    }
    text.remove_prefix(std::min(end, text.size()));
  }
  return count;
}

/// Whether a variable is there by the language's own rules: a part of a result that comes whole, a
/// counter, a value between the calls of one expression, or something in a function's body.
bool is_left_over(const Kernel& kernel, const Statements& statements, const SourceFile& source,
                  VarId var, const Definitions& definitions) {
  const Variable& variable = kernel.variable(var);
  if (variable.name.starts_with('_') || !is_identifier(variable.name)) return true;
  if (definitions.of(var).empty()) return true;  // constants exclude the statements that make it
  if (!source.calls_at(variable.span.begin).empty()) return true;
  const auto is_constant = [&](StmtId id) {
    const auto* scalar = std::get_if<ScalarStmt>(&statements[id].node);
    return scalar != nullptr && scalar->value.is_constant();
  };
  // The uses of a constant have its value instead.
  if (std::ranges::all_of(definitions.of(var), is_constant)) return true;
  for (const StmtId id : definitions.of(var)) {
    const Stmt& stmt = statements[id];
    if (!std::holds_alternative<InstStmt>(stmt.node) &&
        !std::holds_alternative<ScalarStmt>(stmt.node)) {
      return true;
    }
    const InstStmt* inst = statements.instruction(id);
    if (inst == nullptr) continue;
    const bool is_part = description(inst->inst).result == ResultKind::indices;
    if (is_part || has_effect(*inst)) return true;
  }
  return false;
}

std::string_view kind_of(const Type& type) {
  if (std::holds_alternative<RegisterType>(type)) return "tile";
  if (std::holds_alternative<SharedType>(type)) return "shared tensor";
  if (std::holds_alternative<GlobalType>(type)) return "view";
  return "scalar";
}

class IdleCode {
 public:
  IdleCode(const Kernel& kernel, const SourceFile& source, Diagnostics& diagnostics)
      : kernel_(kernel),
        source_(source),
        diagnostics_(diagnostics),
        statements_(kernel),
        definitions_(kernel, statements_) {}

  void report() {
    note_unused();
    check_block(kernel_.body);
    note_barriers();
    for (Diagnostic& diagnostic : notes_) diagnostics_.report(std::move(diagnostic));
  }

 private:
  Diagnostic& add(Code code, Span span, std::string message) {
    notes_.push_back({code, Severity::note, span, std::move(message), {}, {}});
    return notes_.back();
  }

  void note_unused() {
    const Needed needed(kernel_, statements_);
    const Uses uses(kernel_, statements_);
    for (std::size_t i = 0; i < kernel_.variables.size(); ++i) {
      const VarId var{static_cast<std::int32_t>(i)};
      const Variable& variable = kernel_.variable(var);
      const bool is_parameter =
          std::ranges::find(kernel_.parameters, var) != kernel_.parameters.end();
      if (needed(var) || variable.name.starts_with('_')) continue;
      if (is_named_elsewhere(variable.name, uses)) continue;
      const bool is_named_again = !uses.of(var).empty();
      if (is_parameter) {
        if (!is_named_again) {
          add(Code::unused_result, variable.span,
              fmt::format("`{}` does not use its parameter `{}`", kernel_.name, variable.name));
        }
        continue;
      }
      if (is_left_over(kernel_, statements_, source_, var, definitions_)) continue;
      auto& diagnostic = add(Code::unused_result, variable.span,
                             fmt::format("nothing that `{}` writes or shows depends on the {} `{}`",
                                         kernel_.name, kind_of(variable.type), variable.name));
      if (!is_named_again) {
        add_note(diagnostic, "it is not named again; a name that begins with `_` may be unused");
      }
    }
  }

  /// Whether the text names a variable where constants exclude the statement: with other constants
  /// the variable may be needed.
  [[nodiscard]] bool is_named_elsewhere(std::string_view name, const Uses& uses) const {
    std::size_t known = 0;
    for (std::size_t i = 0; i < kernel_.variables.size(); ++i) {
      const VarId var{static_cast<std::int32_t>(i)};
      if (kernel_.variable(var).name != name) continue;
      known += uses.of(var).size() + definitions_.count(var);
    }
    return count_word(kernel_, source_, name) > known;
  }

  /// How the statements of a block end.
  struct End {
    bool goes_on = true;        ///< control may reach what follows
    bool breaks = false;        ///< out of the innermost loop
    std::string_view why = {};  ///< why control does not go on
    Span place{};
  };

  /// Reports the first statement that never runs.
  End check_block(const Block& block) {
    End end;
    for (const Stmt& stmt : block) {
      if (!end.goes_on) {
        if (end.why.empty()) break;  // behind a break or a continue, whose loop goes on
        add_note(add(Code::misplaced, stmt.span, fmt::format("this never runs: {}", end.why)),
                 "control does not pass here", end.place);
        break;
      }
      const End of_stmt = check(stmt);
      end.breaks = end.breaks || of_stmt.breaks;
      if (of_stmt.goes_on) continue;
      end.goes_on = false;
      end.why = of_stmt.why;
      end.place = of_stmt.place;
    }
    return end;
  }

  End check(const Stmt& stmt) {
    if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
      if (!std::holds_alternative<Exit>(inst->inst)) return {};
      return {false, false, "an `Exit` before it ends the block", stmt.span};
    }
    if (std::holds_alternative<BreakStmt>(stmt.node)) return {false, true, {}, {}};
    if (std::holds_alternative<ContinueStmt>(stmt.node)) return {false, false, {}, {}};
    if (const auto* range = std::get_if<ForStmt>(&stmt.node)) {
      static_cast<void>(check_block(range->body));
      return {};
    }
    if (const auto* loop = std::get_if<WhileStmt>(&stmt.node)) return check_loop(*loop, stmt.span);
    if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) return check_branch(*branch);
    if (const auto* fork = std::get_if<ForkStmt>(&stmt.node)) {
      for (const WarpGroup& group : fork->groups) static_cast<void>(check_block(group.body));
    }
    return {};
  }

  End check_branch(const IfStmt& branch) {
    End end{false, false, {}, {}};
    const auto join = [&](const End& of_arm) {
      end.breaks = end.breaks || of_arm.breaks;
      if (of_arm.goes_on) end.goes_on = true;
      if (!of_arm.why.empty()) end.why = of_arm.why, end.place = of_arm.place;
    };
    for (const IfStmt::Arm& arm : branch.arms) join(check_block(arm.body));
    join(check_block(branch.otherwise));
    if (end.breaks) end.why = {};  // what follows the loop runs
    return end;
  }

  /// A loop never ends if its condition cannot change and nothing leaves it.
  End check_loop(const WhileStmt& loop, Span span) {
    const End body = check_block(loop.body);
    if (body.breaks || exits(loop.body) || may_change(loop)) return {};
    const std::optional<Scalar> constant = loop.condition.constant_value();
    if (constant && !constant->as_bool()) return {};
    if (!constant) {
      add_note(add(Code::misplaced, span,
                   "once this loop has begun it never ends: nothing in it changes its condition, "
                   "and no `break` or `Exit` leaves it"),
               "the simulator stops it after `--max-steps` statements");
      return {};
    }
    return {false, false, "the loop before it never ends, as it has no `break` and no `Exit`",
            span};
  }

  static bool exits(const Block& block) {
    bool found = false;
    for_each_statement(block, [&](const Stmt& stmt) {
      const auto* inst = std::get_if<InstStmt>(&stmt.node);
      found = found || (inst != nullptr && std::holds_alternative<Exit>(inst->inst));
    });
    return found;
  }

  static bool may_change(const WhileStmt& loop) {
    std::vector<VarId> read;
    for_each_variable(loop.condition, [&](VarId var) { read.push_back(var); });
    bool changes = false;
    const auto writes = [&](VarId var) {
      changes = changes || std::ranges::find(read, var) != read.end();
    };
    for_each_statement(loop.body, [&](const Stmt& stmt) {
      if (const auto* inst = std::get_if<InstStmt>(&stmt.node)) {
        std::ranges::for_each(inst->results, writes);
      } else if (const auto* scalar = std::get_if<ScalarStmt>(&stmt.node)) {
        writes(scalar->target);
      } else if (const auto* range = std::get_if<ForStmt>(&stmt.node)) {
        writes(range->var);
      }
    });
    return changes;
  }

  /// Threads that share no element of memory need no barrier. Distinct parameters are taken to be
  /// distinct memory.
  void note_barriers() {
    if (shares_memory()) return;
    statements_.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
      if (!std::holds_alternative<Synchronize>(stmt.inst)) return;
      if (!source_.calls_at(statements_[id].span.begin).empty()) return;
      add_note(add(Code::redundant_barrier, statements_[id].span,
                   fmt::format("this `Synchronize` orders nothing: the threads of `{}` share no "
                               "memory that one of them writes",
                               kernel_.name)),
               "no shared tensor is read or written, and no global tensor is written and used "
               "again");
    });
  }

  [[nodiscard]] bool shares_memory() const {
    bool shares = false;
    std::vector<std::size_t> touched(kernel_.variables.size(), 0);
    std::vector<bool> written(kernel_.variables.size(), false);
    statements_.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
      for_each_memory_operand<SharedOperand>(
          stmt.inst, [&](Access access, VarId) { shares = shares || access != Access::none; });
      const bool repeats = statements_.loop(id).valid();
      for_each_memory_operand<GlobalOperand>(stmt.inst, [&](Access access, VarId view) {
        if (access == Access::none) return;
        const auto root = static_cast<std::size_t>(root_of(view).index);
        touched[root] += repeats ? 2 : 1;
        written[root] = written[root] || writes(access);
      });
    });
    for (std::size_t i = 0; i < touched.size(); ++i) {
      shares = shares || (written[i] && touched[i] > 1);
    }
    return shares;
  }

  /// The pointer that a view was made of, or the view itself.
  [[nodiscard]] VarId root_of(VarId view) const {
    const StmtId made = definitions_.sole(view);
    const InstStmt* stmt = made.valid() ? statements_.instruction(made) : nullptr;
    if (stmt == nullptr) return view;
    VarId root = view;
    for_each_slot_of(stmt->inst, [&](Access, const auto& slot) {
      if constexpr (std::is_same_v<std::decay_t<decltype(slot)>, PointerOperand>) root = slot.var;
    });
    return root;
  }

  const Kernel& kernel_;
  const SourceFile& source_;
  Diagnostics& diagnostics_;
  Statements statements_;
  Definitions definitions_;
  std::vector<Diagnostic> notes_;
};

}  // namespace

void note_idle_code(const Kernel& kernel, const SourceFile& source, Diagnostics& diagnostics) {
  IdleCode(kernel, source, diagnostics).report();
}

}  // namespace tilevm::isa
