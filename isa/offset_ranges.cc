// warn_about_offsets: interval arithmetic over the scalars whose ranges are known.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "isa/kernel_scan.h"

namespace tilevm::isa {
namespace {

struct Interval {
  std::int64_t low, high;
};
// Products of two bounded values; __extension__ takes no `using`.
__extension__ typedef __int128 wide;                   // NOLINT(modernize-use-using)
constexpr std::int64_t bound = std::int64_t{1} << 40;  // beyond it nothing is said

std::optional<Interval> within_bound(wide low, wide high) {
  if (low < -bound || high > bound) return std::nullopt;
  return Interval{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

class Ranges {
 public:
  void set(VarId var, Interval range) { ranges_[var.index] = range; }

  std::optional<Interval> of(const Expr& expr) const {
    if (const auto value = expr.constant_int()) return Interval{*value, *value};
    if (const auto* variable = std::get_if<Expr::Variable>(&expr.node())) {
      const auto found = ranges_.find(variable->var.index);
      if (found == ranges_.end()) return std::nullopt;
      return found->second;
    }
    if (const auto* conversion = std::get_if<Expr::Convert>(&expr.node())) return of(conversion->a);
    if (const auto* binary = std::get_if<Expr::Binary>(&expr.node())) return of(*binary);
    return std::nullopt;
  }

 private:
  std::optional<Interval> of(const Expr::Binary& binary) const {
    const auto a = of(binary.a), b = of(binary.b);
    if (!a || !b) return std::nullopt;
    switch (binary.op) {
      case ScalarBinary::add:
        return within_bound(wide{a->low} + b->low, wide{a->high} + b->high);
      case ScalarBinary::sub:
        return within_bound(wide{a->low} - b->high, wide{a->high} - b->low);
      case ScalarBinary::mul: {
        const wide ends[] = {wide{a->low} * b->low, wide{a->low} * b->high, wide{a->high} * b->low,
                             wide{a->high} * b->high};
        return within_bound(*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4));
      }
      case ScalarBinary::div:
        if (b->low != b->high || b->low <= 0) return std::nullopt;
        return Interval{a->low / b->low, a->high / b->low};
      case ScalarBinary::mod:
        if (b->low != b->high || b->low <= 0 || a->low < 0) return std::nullopt;
        return Interval{0, std::min(a->high, b->low - 1)};
      default:  // other operators of scalars say nothing here
        return std::nullopt;
    }
  }

  std::map<int, Interval> ranges_;
};

class Walker {
 public:
  Walker(const Kernel& kernel, const SourceFile& source, Diagnostics& diagnostics)
      : kernel_(kernel),
        source_(source),
        diagnostics_(diagnostics),
        writes_(count_writes(kernel)) {}

  void walk(const Block& block) {
    for (const Stmt& stmt : block) {
      std::visit([&](const auto& node) { visit(node); }, stmt.node);
    }
  }

 private:
  bool written_once(VarId var) const { return writes_[static_cast<std::size_t>(var.index)] == 1; }

  void visit(const InstStmt& stmt) {
    if (description(stmt.inst).result == ResultKind::indices) {
      for (std::size_t i = 0; i < stmt.results.size() && i < kernel_.grid.size(); ++i) {
        const auto extent = kernel_.grid[i].constant_int();
        if (extent && *extent > 0 && written_once(stmt.results[i])) {
          ranges_.set(stmt.results[i], {0, *extent - 1});
        }
      }
    }
    std::visit([&](const auto& inst) { check(inst); }, stmt.inst);
  }
  void visit(const ScalarStmt& stmt) {
    const auto range = ranges_.of(stmt.value);
    if (range && written_once(stmt.target)) ranges_.set(stmt.target, *range);
  }
  void visit(const ForStmt& loop) {
    const auto begin = ranges_.of(loop.begin), end = ranges_.of(loop.end);
    const auto step = loop.step.constant_int();
    if (begin && end && step && *step > 0 && end->high > begin->low && written_once(loop.var)) {
      ranges_.set(loop.var, {begin->low, end->high - 1});
    }
    walk(loop.body);
  }
  void visit(const WhileStmt& loop) { walk(loop.body); }
  void visit(const IfStmt& branch) {
    const std::size_t outer = tested_.size();
    for (const IfStmt::Arm& arm : branch.arms) {
      for_each_variable(arm.condition, [&](VarId var) { tested_.push_back(var); });
      walk(arm.body);
    }
    walk(branch.otherwise);
    tested_.resize(outer);
  }
  void visit(const BreakStmt&) {}
  void visit(const ContinueStmt&) {}

  /// Finds the view and the offsets of an instruction, whatever it is.
  template <class Inst>
  void check(const Inst& inst) {
    const GlobalType* view = nullptr;
    std::string view_name;
    for_each_slot<Inst>([&](const auto& info, std::size_t) {
      if constexpr (std::is_same_v<std::decay_t<decltype(inst.*info.member)>, GlobalOperand>) {
        const Variable& variable = kernel_.variable((inst.*info.member).var);
        view = std::get_if<GlobalType>(&variable.type);
        view_name = variable.name;
      }
    });
    for_each_slot<Inst>([&](const auto& info, std::size_t) {
      if constexpr (std::is_same_v<std::decay_t<decltype(inst.*info.member)>,
                                   std::optional<OffsetList>>) {
        if (view != nullptr && info.name == "offset" && inst.*info.member) {
          check_offsets(*(inst.*info.member), *view, view_name);
        }
      }
    });
  }

  /// Whether a condition around the statement restricts a variable of the offset.
  bool is_tested(const Expr& expr) const {
    bool found = false;
    for_each_variable(expr, [&](VarId var) {
      found = found || std::find(tested_.begin(), tested_.end(), var) != tested_.end();
    });
    return found;
  }

  void check_offsets(const OffsetList& offset, const GlobalType& view, const std::string& name) {
    for (std::size_t d = 0; d < offset.entries.size() && d < view.extents.size(); ++d) {
      const auto range = ranges_.of(offset.entries[d].value);
      const auto extent = view.extents[d].constant_int();
      if (!range || !extent || range->high < *extent) continue;
      if (is_tested(offset.entries[d].value)) continue;
      const Span span = offset.entries[d].value.span();
      auto& warning = diagnostics_.warning(
          Code::offset_out_of_range, span,
          fmt::format("offset `{}` reaches {}, but `{}` has extent {} in dimension {}",
                      source_.text(span), range->high, name, *extent, d));
      for_each_variable(offset.entries[d].value, [&](VarId var) {
        const auto known = ranges_.of(Expr::variable(var, "", ScalarKind::i32));
        if (!known) return;
        add_note(warning, fmt::format("`{}` runs from {} to {}", kernel_.variable(var).name,
                                      known->low, known->high));
      });
    }
  }

  const Kernel& kernel_;
  const SourceFile& source_;
  Diagnostics& diagnostics_;
  std::vector<int> writes_;
  Ranges ranges_;
  std::vector<VarId> tested_;  ///< by the conditions around the statement
};

}  // namespace

void warn_about_offsets(const Kernel& kernel, const SourceFile& source, Diagnostics& diagnostics) {
  Walker(kernel, source, diagnostics).walk(kernel.body);
}

}  // namespace tilevm::isa
