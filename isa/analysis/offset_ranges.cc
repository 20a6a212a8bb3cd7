#include "isa/analysis/offset_ranges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "isa/analysis/address_terms.h"
#include "isa/analysis/kernel_scan.h"
#include "isa/analysis/operands.h"
#include "isa/analysis/value_ranges.h"

namespace tilevm::isa {
namespace {

class Walker {
 public:
  Walker(const Kernel& kernel, const SourceFile& source, Diagnostics& diagnostics)
      : kernel_(kernel),
        source_(source),
        diagnostics_(diagnostics),
        ranges_(kernel, Definitions(kernel)),
        addresses_(address_variables(kernel)) {}

  void walk(const Block& block) {
    for (const Stmt& stmt : block) {
      std::visit([&](const auto& node) { visit(node); }, stmt.node);
    }
  }

 private:
  void visit(const InstStmt& stmt) {
    stores_ = false;
    for_each_memory_operand<GlobalOperand>(
        stmt.inst, [&](Access access, VarId) { stores_ = stores_ || writes(access); });
    check(stmt.inst);
    for_each_address(stmt.inst, [&](const Expr& address) { check_wrapping(address); });
  }
  void visit(const ScalarStmt& stmt) {
    for_each_variable(stmt.value, [&](VarId var) { sources_[stmt.target.index].push_back(var); });
    if (addresses_[static_cast<std::size_t>(stmt.target.index)]) check_wrapping(stmt.value);
  }
  void visit(const ForStmt& loop) { walk(loop.body); }
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
  void visit(const ForkStmt& fork) {
    for (const WarpGroup& group : fork.groups) walk(group.body);
  }
  void visit(const BreakStmt&) {}
  void visit(const ContinueStmt&) {}

  /// Finds the view and the offsets of an instruction, whatever it is.
  void check(const Instruction& instruction) {
    const GlobalType* view = nullptr;
    const OffsetList* offsets = nullptr;
    std::string view_name;
    for_each_entry_of(instruction,
                      [&]<class Slot>(const SlotEntry& entry, std::size_t, const Slot& slot) {
                        if constexpr (std::is_same_v<Slot, GlobalOperand>) {
                          const Variable& variable = kernel_.variable(slot.var);
                          view = std::get_if<GlobalType>(&variable.type);
                          view_name = variable.name;
                        } else if constexpr (std::is_same_v<Slot, std::optional<OffsetList>>) {
                          if (entry.name == "offset" && slot) offsets = &*slot;
                        }
                      });
    if (view != nullptr && offsets != nullptr) check_offsets(*offsets, *view, view_name);
  }

  /// The variables from which others are computed, and those themselves.
  std::set<std::int32_t> origins_of(std::vector<VarId> left) const {
    std::set<std::int32_t> origins;
    while (!left.empty()) {
      const VarId var = left.back();
      left.pop_back();
      if (!origins.insert(var.index).second) continue;
      const auto found = sources_.find(var.index);
      if (found != sources_.end())
        left.insert(left.end(), found->second.begin(), found->second.end());
    }
    return origins;
  }

  /// Whether a condition around the statement restricts a variable of the offset, or one from which
  /// both are computed.
  bool is_tested(const Expr& expr) const {
    if (tested_.empty()) return false;
    std::vector<VarId> variables;
    for_each_variable(expr, [&](VarId var) { variables.push_back(var); });
    const std::set<std::int32_t> tested = origins_of(tested_);
    return std::ranges::any_of(origins_of(variables),
                               [&](std::int32_t var) { return tested.contains(var); });
  }

  void check_offsets(const OffsetList& offset, const GlobalType& view, const std::string& name) {
    for (std::size_t d = 0; d < offset.entries.size() && d < view.extents.size(); ++d) {
      const auto range = ranges_.of(offset.entries[d].value);
      const auto extent = view.extents[d].constant_int();
      if (!range || !extent || is_tested(offset.entries[d].value)) continue;
      if (!offset.entries[d].tile) {
        warn_of_index(offset.entries[d].value, *range, *extent, name, d);
        continue;
      }
      // A load past the end gives zeros, as prefetching loops rely on: it is worth a warning only
      // if the tile is outside whatever the values are.
      if ((stores_ ? range->high : range->low) < *extent) continue;
      const Span span = offset.entries[d].value.span();
      auto& warning = diagnostics_.warning(
          Code::offset_out_of_range, span,
          fmt::format("offset `{}` reaches {}, but `{}` has extent {} in dimension {}",
                      source_.text(span), range->high, name, *extent, d));
      note_ranges(offset.entries[d].value, warning);
    }
  }

  /// Notes the ranges of the variables of an expression.
  void note_ranges(const Expr& expr, Diagnostic& warning) const {
    for_each_variable(expr, [&](VarId var) {
      const auto known = ranges_.of(Expr::variable(var, "", ScalarKind::i32));
      if (!known) return;
      add_note(warning, fmt::format("`{}` runs from {} to {}", kernel_.variable(var).name,
                                    known->low, known->high));
    });
  }

  /// Warns where an offset without a colon names an index that the view does not have: no part of
  /// a tile is outside then by an odd size.
  void warn_of_index(const Expr& index, const Interval& range, std::int64_t extent,
                     const std::string& name, std::size_t d) {
    if (range.low >= 0 && range.high < extent) return;
    auto& warning = diagnostics_.warning(
        Code::offset_out_of_range, index.span(),
        fmt::format("index `{}` reaches {}, but `{}` has extent {} in dimension {}: what it names "
                    "there is zero, or is not stored",
                    source_.text(index.span()), range.high < extent ? range.low : range.high, name,
                    extent, d));
    note_ranges(index, warning);
    add_note(warning,
             "if that is meant, test the index (`if`) before the access, or give it a colon and "
             "the tile a dimension of extent 1");
  }

  /// Warns of the first part of an address that wraps around for some of its values.
  void check_wrapping(const Expr& address) {
    bool is_found = false;
    for_each_address_term(address, [&](const Expr& term) {
      if (is_found || !may_wrap(term) || is_tested(term)) return;
      const auto reached = ranges_.wrapping(term);
      if (!reached) return;
      is_found = true;
      const auto& binary = *std::get_if<Expr::Binary>(&term.node());
      const Expr& first = binary.a.is_constant() ? binary.b : binary.a;
      auto& warning = diagnostics_.warning(
          Code::address_wraps, term.span(),
          fmt::format("`{}` is part of an address and wraps around: it reaches {}, which {} does "
                      "not hold{}",
                      source_.text(term.span()), *reached, to_string(term.kind()),
                      is_wide(term.kind())
                          ? std::string()
                          : fmt::format("; compute it in 64 bits, with `i64({})` in place of `{}`",
                                        to_string(first), to_string(first))));
      note_ranges(term, warning);
    });
  }

  const Kernel& kernel_;
  const SourceFile& source_;
  Diagnostics& diagnostics_;
  ValueRanges ranges_;
  std::vector<bool> addresses_;  ///< whether addresses are made of the variable, by its number
  bool stores_ = false;          ///< whether the instruction writes its view
  std::vector<VarId> tested_;    ///< variables in the conditions around the statement
  std::map<std::int32_t, std::vector<VarId>>
      sources_;  ///< source variables of each scalar variable's values
};

}  // namespace

void warn_about_offsets(const Kernel& kernel, const SourceFile& source, Diagnostics& diagnostics) {
  Walker(kernel, source, diagnostics).walk(kernel.body);
}

}  // namespace tilevm::isa
