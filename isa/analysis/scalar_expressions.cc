#include "isa/analysis/scalar_expressions.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "isa/inst/slot_table.h"

namespace tilevm::isa {
namespace {

using Exprs = std::vector<Expr>;

/// The expressions of a slot whose value the instruction computes with. `element` chooses among the
/// values that elements take in turn.
struct ValueExprs {
  Exprs& found;
  std::optional<std::int64_t> element;

  void operator()(const ScalarOperand& slot) const { found.push_back(slot.value); }
  void operator()(const ValueOperand& slot) const {
    if (const auto* scalar = std::get_if<ScalarOperand>(&slot.value)) (*this)(*scalar);
  }
  void operator()(const ElementValues& slot) const {
    if (slot.values.empty()) return;
    const auto count = static_cast<std::int64_t>(slot.values.size());
    found.push_back(slot.values[static_cast<std::size_t>(element.value_or(0) % count)]);
  }
  template <class Slot>
  void operator()(const std::optional<Slot>& slot) const {
    if (slot) (*this)(*slot);
  }
  void operator()(const auto&) const {}
};

/// The expressions that say which elements an instruction touches.
struct OffsetExprs {
  Exprs& found;

  void operator()(const OffsetList& slot) const {
    for (const OffsetList::Entry& entry : slot.entries) found.push_back(entry.value);
  }
  template <class Slot>
  void operator()(const std::optional<Slot>& slot) const {
    if (slot) (*this)(*slot);
  }
  void operator()(const auto&) const {}
};

/// The expressions that say where the elements of a view are.
struct ViewExprs {
  Exprs& found;

  void operator()(const ExtentList& slot) const {
    found.insert(found.end(), slot.extents.begin(), slot.extents.end());
  }
  void operator()(const ViewLayout& slot) const {
    found.insert(found.end(), slot.strides.begin(), slot.strides.end());
  }
  template <class Slot>
  void operator()(const std::optional<Slot>& slot) const {
    if (slot) (*this)(*slot);
  }
  void operator()(const auto&) const {}
};

void collect(const Instruction& inst, const auto& select) {
  for_each_slot_of(inst, [&](Access, const auto& slot) { select(slot); });
}

void append_new(std::vector<VarId>& vars, VarId var) {
  if (std::ranges::find(vars, var) == vars.end()) vars.push_back(var);
}

/// Appends the variables that an expression read when it was evaluated.
class EvaluatedVariables {
 public:
  EvaluatedVariables(const std::function<Scalar(VarId)>& value_of, std::vector<VarId>& vars)
      : value_of_(value_of), vars_(vars) {}

  void operator()(const Expr& expr) const {
    std::visit([&](const auto& node) { visit(node); }, expr.node());
  }

 private:
  void visit(const Expr::Constant&) const {}
  void visit(const Expr::Variable& node) const { append_new(vars_, node.var); }
  void visit(const Expr::Unary& node) const { (*this)(node.a); }
  void visit(const Expr::Convert& node) const { (*this)(node.a); }
  void visit(const Expr::Binary& node) const {
    (*this)(node.a);
    const bool first = is_logical(node.op) && is_true(node.a);
    const bool decided = (node.op == ScalarBinary::logical_or && first) ||
                         (node.op == ScalarBinary::logical_and && !first);
    if (!decided) (*this)(node.b);
  }
  /// The chosen value comes first.
  void visit(const Expr::Select& node) const {
    (*this)(is_true(node.condition) ? node.a : node.b);
    (*this)(node.condition);
  }
  [[nodiscard]] bool is_true(const Expr& expr) const {
    const std::optional<Scalar> value = evaluate(expr, value_of_);
    return value && value->bits != 0;
  }

  const std::function<Scalar(VarId)>& value_of_;
  std::vector<VarId>& vars_;
};

}  // namespace

std::vector<Expr> value_expressions(const Instruction& inst, std::optional<std::int64_t> element) {
  Exprs found;
  collect(inst, ValueExprs{found, element});
  return found;
}

std::vector<Expr> offset_expressions(const Instruction& inst) {
  Exprs found;
  collect(inst, OffsetExprs{found});
  return found;
}

std::vector<Expr> view_expressions(const Instruction& inst) {
  Exprs found;
  collect(inst, ViewExprs{found});
  return found;
}

std::vector<VarId> evaluated_variables(const std::vector<Expr>& exprs,
                                       const std::function<Scalar(VarId)>& value_of) {
  std::vector<VarId> vars;
  for (const Expr& expr : exprs) EvaluatedVariables(value_of, vars)(expr);
  return vars;
}

}  // namespace tilevm::isa
