// More than 400 lines: one class has a short overload for each type of slot.
#include "frontend/bind/bind_call.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/bind/expressions.h"
#include "frontend/bind/foreign_calls.h"
#include "frontend/bind/tile_operators.h"
#include "frontend/syntax/foreign_words.h"
#include "isa/base/enumerators.h"
#include "isa/base/suggest.h"
#include "isa/inst/slot_table.h"

namespace tilevm::frontend {
namespace {

/// One overload of `bind` for each slot type, from syntax to slot.
class SlotBinder {
 public:
  SlotBinder(const BindScope& scope, OperandBinder& operands)
      : scope_(scope), operands_(operands) {}

  bool bind(const ast::Expr& expr, isa::RegisterOperand& slot) {
    return bind_variable(expr, slot.var, Wanted::tile);
  }
  bool bind(const ast::Expr& expr, isa::SharedOperand& slot) {
    return bind_variable(expr, slot.var, Wanted::shared);
  }
  bool bind(const ast::Expr& expr, isa::GlobalOperand& slot) {
    return bind_variable(expr, slot.var, Wanted::view);
  }
  bool bind(const ast::Expr& expr, isa::PointerOperand& slot) {
    return bind_variable(expr, slot.var, Wanted::pointer);
  }
  bool bind(const ast::Expr& expr, isa::BarrierOperand& slot) {
    return bind_variable(expr, slot.var, Wanted::barrier);
  }
  bool bind(const ast::Expr& expr, isa::DType& slot) {
    const auto type = bind_dtype(expr, scope_);
    if (type) slot = *type;
    return type.has_value();
  }
  bool bind(const ast::Expr& expr, isa::RegisterLayout& slot) {
    const auto layout = bind_layout(expr, scope_);
    if (!layout) return false;
    const auto* registers = std::get_if<isa::RegisterLayout>(&*layout);
    if (registers == nullptr) {
      scope_.diagnostics.error(Code::wrong_operand_kind, expr.span,
                               "a register layout is expected here, not a memory layout");
      return false;
    }
    slot = *registers;
    return true;
  }
  bool bind(const ast::Expr& expr, isa::TileShape& slot) {
    auto extents = bind_integers(expr, scope_);
    if (extents) slot.extents = std::move(*extents);
    return extents.has_value();
  }
  bool bind(const ast::Expr& expr, isa::ExtentList& slot) {
    auto extents = bind_list(expr, "a list of extents, such as `[M, K]`,");
    if (extents) slot.extents = std::move(*extents);
    return extents.has_value();
  }
  bool bind(const ast::Expr& expr, isa::ScalarOperand& slot) {
    auto value = bind_scalar(expr, scope_);
    if (value) slot.value = std::move(*value);
    return value.has_value();
  }
  bool bind(const ast::Expr& expr, isa::ElementValues& slot) {
    if (classify(expr, scope_) == ValueKind::list) {
      auto values = bind_list(expr, "a list of values");
      if (values) slot.values = std::move(*values);
      return values.has_value();
    }
    auto value = bind_scalar(expr, scope_);
    if (value) slot.values = {std::move(*value)};
    return value.has_value();
  }
  bool bind(const ast::Expr& expr, isa::ValueOperand& slot) {
    if (std::holds_alternative<ast::String>(expr.node)) {
      scope_.diagnostics.error(Code::wrong_operand_kind, expr.span,
                               "a register tile or a scalar is expected here, not a text");
      return false;
    }
    if (!names_tensor(expr)) return bind(expr, slot.value.emplace<isa::ScalarOperand>());
    isa::VarId& var = slot.value.emplace<isa::RegisterOperand>().var;
    if (!bind_variable(expr, var, Wanted::number)) return false;
    const isa::Variable& variable = scope_.variables->variable(var);
    if (const auto* scalar = std::get_if<isa::ScalarType>(&variable.type)) {
      slot.value =
          isa::ScalarOperand{isa::Expr::variable(var, variable.name, scalar->kind, expr.span)};
    }
    return true;
  }
  bool bind(const ast::Expr& expr, isa::TensorOperand& slot) {
    isa::VarId var;
    if (!bind_variable(expr, var, Wanted::tensor)) return false;
    const isa::Variable& variable = scope_.variables->variable(var);
    if (std::holds_alternative<isa::RegisterType>(variable.type)) {
      slot.value = isa::RegisterOperand{var};
    } else if (std::holds_alternative<isa::SharedType>(variable.type)) {
      slot.value = isa::SharedOperand{var};
    } else if (std::holds_alternative<isa::GlobalType>(variable.type)) {
      slot.value = isa::GlobalOperand{var};
    } else {
      scope_.diagnostics.error(Code::wrong_operand_kind, expr.span,
                               fmt::format("a tile or a view is expected here, but `{}` is {}",
                                           variable.name, isa::kind_name(variable.type)));
      return false;
    }
    return true;
  }
  bool bind(const ast::Expr& expr, isa::ReduceOp& slot) {
    return bind_word(expr, "an operation", slot);
  }
  bool bind(const ast::Expr& expr, isa::CacheHint& slot) {
    return bind_word(expr, "a cache hint", slot);
  }
  /// One dimension, or a list.
  bool bind(const ast::Expr& expr, isa::DimList& slot) {
    std::optional<std::vector<std::int64_t>> dims;
    if (std::holds_alternative<ast::List>(expr.node)) {
      dims = bind_integers(expr, scope_);
    } else if (const auto dim = bind_integer(expr, scope_)) {
      dims = {*dim};
    }
    if (!dims) return false;
    for (const std::int64_t dim : *dims) {
      slot.dims.push_back(static_cast<int>(std::clamp<std::int64_t>(dim, INT32_MIN, INT32_MAX)));
    }
    return true;
  }
  bool bind(const ast::Expr& expr, isa::Text& slot) {
    const auto* text = std::get_if<ast::String>(&expr.node);
    if (text == nullptr) return wrong(expr, "a text in quotes");
    slot.value = text->value;
    return true;
  }
  bool bind(const ast::Expr& expr, isa::OffsetList& slot) {
    const auto* list = std::get_if<ast::List>(&expr.node);
    if (list == nullptr) {
      return wrong(expr, "a list of offsets, such as `[bi * BM:, bk * BK:]`,");
    }
    bool ok = true;
    for (const ast::ListEntry& entry : list->entries) {
      auto value = bind_scalar(entry.value, scope_);
      ok = ok && value.has_value();
      if (value) slot.entries.push_back({std::move(*value), entry.colon});
    }
    return ok;
  }
  bool bind(const ast::Expr& expr, isa::ViewLayout& slot) {
    using Form = isa::ViewLayout::Form;
    if (const auto* name = std::get_if<ast::Name>(&expr.node)) {
      const auto form = packed_form(name->text);
      if (form) slot.form = *form;
      if (form) return true;
    }
    const auto* call = std::get_if<ast::Call>(&expr.node);
    if (call != nullptr && call->callee.text == strides_function) return bind_strides(*call, slot);
    const auto layout = bind_layout(expr, scope_);
    if (!layout) return false;
    const auto* memory = std::get_if<isa::MemoryLayout>(&*layout);
    if (memory == nullptr) {
      return wrong(expr, "a memory layout (`row_major`, `column_major`, `strides(..)`)");
    }
    slot.form = Form::memory;
    slot.memory = *memory;
    return true;
  }
  template <class Slot>
  bool bind(const ast::Expr& expr, std::optional<Slot>& slot) {
    return bind(expr, slot.emplace());
  }

 private:
  /// One of an enum's words.
  template <class Enum>
  bool bind_word(const ast::Expr& expr, std::string_view what, Enum& slot) {
    const auto* name = std::get_if<ast::Name>(&expr.node);
    std::vector<std::string> known;
    for (std::size_t i = 0; i < enumerator_count<Enum>(); ++i) {
      slot = static_cast<Enum>(i);
      if (name != nullptr && name->text == to_string(slot)) return true;
      known.emplace_back(to_string(slot));
    }
    auto& error = scope_.diagnostics.error(
        Code::wrong_operand_kind, expr.span,
        fmt::format("{} is expected here, one of {}", what, fmt::join(known, ", ")));
    const auto* text = std::get_if<ast::String>(&expr.node);
    if (name == nullptr && text == nullptr) return false;
    const std::string& word = name != nullptr ? name->text : text->value;
    const std::string_view like = operation_like(word);
    const bool has_like = std::ranges::find(known, like) != known.end();
    const bool is_known = std::ranges::find(known, word) != known.end();
    error.fix = is_known ? word : has_like ? std::string(like) : nearest(word, known);
    if (is_known) add_note(error, fmt::format("it is a word without quotes, `{}`", word));
    if (has_like) add_note(error, fmt::format("`{}` is `{}` here", word, like));
    if (const std::string advice = advice_for(word); !has_like && !advice.empty()) {
      add_note(error, advice);
    }
    return false;
  }

  bool names_tensor(const ast::Expr& expr) const {
    return classify(expr, scope_) == ValueKind::tensor;
  }

  static std::optional<isa::ViewLayout::Form> packed_form(std::string_view name) {
    if (name == "row_major") return isa::ViewLayout::Form::row_major;
    if (name == "column_major") return isa::ViewLayout::Form::column_major;
    return std::nullopt;
  }

  bool bind_strides(const ast::Call& call, isa::ViewLayout& slot) {
    slot.form = isa::ViewLayout::Form::strides;
    if (call.args.size() == 1 && classify(call.args[0].value, scope_) == ValueKind::list) {
      auto strides = bind_list(call.args[0].value, "a list of strides");
      if (strides) slot.strides = std::move(*strides);
      return strides.has_value();
    }
    bool ok = true;
    for (const ast::Argument& argument : call.args) {
      auto stride = bind_scalar(argument.value, scope_);
      ok = ok && stride.has_value();
      if (stride) slot.strides.push_back(std::move(*stride));
    }
    return ok;
  }

  std::optional<std::vector<isa::Expr>> bind_list(const ast::Expr& expr, std::string_view what) {
    const auto* list = std::get_if<ast::List>(&expr.node);
    if (list == nullptr) return bind_computed_list(expr, what);
    std::vector<isa::Expr> values;
    for (const ast::ListEntry& entry : list->entries) {
      if (entry.colon) {
        scope_.diagnostics.error(Code::wrong_operand_kind, entry.span,
                                 "a colon may only appear in offsets");
        return std::nullopt;
      }
      auto value = bind_scalar(entry.value, scope_);
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
    }
    return values;
  }

  /// The scalars of a list that is not written here.
  std::optional<std::vector<isa::Expr>> bind_computed_list(const ast::Expr& expr,
                                                           std::string_view what) {
    if (classify(expr, scope_) != ValueKind::list) {
      wrong(expr, what);
      return std::nullopt;
    }
    const auto list = ::tilevm::frontend::bind_list(expr, scope_);
    if (!list) return std::nullopt;
    std::vector<isa::Expr> values;
    for (const Value& each : *list) {
      const auto* scalar = std::get_if<isa::Expr>(&each.node);
      if (scalar == nullptr) {
        wrong(expr, "a list of scalars");
        return std::nullopt;
      }
      values.push_back(*scalar);
    }
    return values;
  }

  bool bind_variable(const ast::Expr& expr, isa::VarId& var, Wanted wanted) {
    const auto result = operands_.operand(expr, wanted);
    if (result) var = *result;
    return result.has_value();
  }

  bool wrong(const ast::Expr& expr, std::string_view what) {
    scope_.diagnostics.error(Code::wrong_operand_kind, expr.span,
                             fmt::format("{} is expected here", what));
    return false;
  }

  const BindScope& scope_;
  OperandBinder& operands_;
};

/// Gives each argument of a call its slot.
class CallBinder {
 public:
  CallBinder(const isa::InstructionEntry& entry, const ast::Call& call, Span span,
             const BindScope& scope, OperandBinder& operands)
      : entry_(entry),
        call_(call),
        span_(span),
        scope_(scope),
        operands_(operands),
        binder_(scope, operands),
        arguments_(entry.slots.size()) {}

  std::optional<BoundCall> run() {
    bool ok = assign_arguments();
    BoundCall bound{entry_.make(), {}, out_};
    isa::for_each_entry_of(
        bound.inst, [&](const isa::SlotEntry& entry, std::size_t position, auto& slot) {
          const ast::Argument* argument = arguments_[position];
          bound.slot_spans.push_back(argument != nullptr ? argument->value.span : Span{});
          if (argument != nullptr) {
            ok = bind_slot(argument->value, slot, position) && ok;
          } else if (!entry.is_optional) {
            ok = missing(entry.name, entry.doc) && ok;
          }
        });
    if (!ok || !fill_scalars(bound.inst)) return std::nullopt;
    return bound;
  }

 private:
  /// A scalar among the operands of an instruction that works element by element.
  struct PendingScalar {
    std::size_t position = 0;
    isa::Expr value;
  };

  template <class Slot>
  bool bind_slot(const ast::Expr& expr, Slot& slot, std::size_t position) {
    if constexpr (std::is_same_v<Slot, isa::RegisterOperand>) {
      if (entry_.description->elementwise && classify(expr, scope_) != ValueKind::unknown) {
        auto operand = operands_.tile_or_scalar(expr);
        if (!operand) return false;
        slot.var = operand->tile;
        if (operand->scalar) pending_.push_back({position, *std::move(operand->scalar)});
        return true;
      }
    }
    return binder_.bind(expr, slot);
  }

  /// Scalars take the type of a tile beside them, as those of operators do.
  bool fill_scalars(isa::Instruction& inst) {
    if (pending_.empty()) return true;
    const std::size_t first = first_of_common_type(inst);
    isa::VarId like;
    isa::for_each_entry_of(
        inst, [&]<class Slot>(const isa::SlotEntry&, std::size_t position, const Slot& slot) {
          if constexpr (std::is_same_v<Slot, isa::RegisterOperand>) {
            if (position >= first && slot.var.valid()) like = slot.var;
          }
        });
    for (const PendingScalar& each : pending_) {
      const ast::Expr& tree = arguments_[each.position]->value;
      if (each.position < first) return no_scalar(tree, entry_.slots[each.position].name);
      if (!like.valid()) return no_tile(inst);
      const auto tile = operands_.splat(each.value, tree, like);
      if (!tile) return false;
      isa::for_each_entry_of(
          inst, [&]<class Slot>(const isa::SlotEntry&, std::size_t position, Slot& slot) {
            if constexpr (std::is_same_v<Slot, isa::RegisterOperand>) {
              if (position == each.position) slot.var = *tile;
            }
          });
    }
    return true;
  }

  bool no_scalar(const ast::Expr& tree, std::string_view name) {
    add_note(scope_.diagnostics.error(Code::wrong_operand_kind, tree.span,
                                      fmt::format("`{}` of `{}` is a register tile, not a scalar",
                                                  name, call_.callee.text)),
             "what a scalar decides is a branch of the whole block: `if n > 0:`");
    return false;
  }

  bool no_tile(const isa::Instruction& inst) {
    if (first_of_common_type(inst) > 0) {
      report_no_tile_to_choose(arguments_[0]->value, arguments_[1]->value, arguments_[2]->value,
                               span_, scope_);
      return false;
    }
    const bool many = pending_.size() > 1;
    add_note(scope_.diagnostics.error(
                 Code::wrong_operand_kind, arguments_[pending_[0].position]->value.span,
                 fmt::format("{} of `{}` must be a register tile, not a scalar",
                             many ? "one operand" : "the operand", call_.callee.text)),
             many ? "the others take its type and layout; scalars alone are combined by operators: "
                    "`a + b`, `max(a, b)`"
                  : "a tile of one value is `AllocateRegister(f32, layout=L, init=value)`");
    return false;
  }

  bool assign_arguments() {
    bool ok = true;
    bool named_seen = false;
    std::size_t next = 0;
    for (const ast::Argument& argument : call_.args) {
      if (argument.name) {
        named_seen = true;
        ok = assign_named(argument) && ok;
      } else if (named_seen) {
        scope_.diagnostics.error(Code::misplaced, argument.span,
                                 "an operand without a name cannot follow named ones");
        ok = false;
      } else if (next >= arguments_.size()) {
        scope_.diagnostics.error(Code::too_many_operands, argument.span,
                                 fmt::format("`{}` takes at most {} operands: {}",
                                             call_.callee.text, arguments_.size(), operand_list()));
        return false;
      } else {
        arguments_[next++] = &argument;
      }
    }
    return ok;
  }

  bool assign_named(const ast::Argument& argument) {
    const std::string& name = argument.name->text;
    if (name == "out") {
      out_ = &argument;
      return true;
    }
    std::size_t found = 0;
    while (found < arguments_.size() && entry_.slots[found].name != name) ++found;
    if (found == arguments_.size()) return unknown_operand(argument);
    if (arguments_[found] != nullptr) {
      scope_.diagnostics.error(Code::duplicate_operand, argument.span,
                               fmt::format("operand `{}` is given twice", name));
      return false;
    }
    arguments_[found] = &argument;
    return true;
  }

  /// The operand that was meant counts as given, so that nothing is said of it again.
  bool unknown_operand(const ast::Argument& argument) {
    const ast::Identifier& name = *argument.name;
    std::vector<std::string> known;
    for (const isa::SlotEntry& entry : entry_.slots) known.emplace_back(entry.name);
    const std::string_view like = operand_like(name.text, entry_.slots);
    const std::string near = like.empty() ? nearest(name.text, known) : std::string(like);
    if (const auto meant = std::ranges::find(known, near); meant != known.end()) {
      const ast::Argument*& slot = arguments_[static_cast<std::size_t>(meant - known.begin())];
      if (slot == nullptr) slot = &argument;
    }
    std::string rest = known.empty() ? "it takes none" : "operands are " + operand_list();
    if (!like.empty()) rest = fmt::format("it is `{}`; {}", like, rest);
    scope_.diagnostics
        .error(Code::unknown_operand, name.span,
               fmt::format("`{}` has no operand `{}`; {}", call_.callee.text, name.text, rest))
        .fix = near;
    return false;
  }

  bool missing(std::string_view name, std::string_view doc) {
    add_note(scope_.diagnostics.error(Code::missing_operand, span_,
                                      fmt::format("`{}` needs `{}`; operands are {}",
                                                  call_.callee.text, name, operand_list())),
             fmt::format("`{}`: {}", name, doc));
    return false;
  }

  std::string operand_list() const {
    std::string list;
    for (const isa::SlotEntry& entry : entry_.slots) {
      list += fmt::format("{}`{}`", list.empty() ? "" : ", ", entry.name);
    }
    return list;
  }

  const isa::InstructionEntry& entry_;
  const ast::Call& call_;
  Span span_;
  const BindScope& scope_;
  OperandBinder& operands_;
  SlotBinder binder_;
  std::vector<const ast::Argument*> arguments_;  ///< arguments of each slot
  std::vector<PendingScalar> pending_;
  const ast::Argument* out_ = nullptr;
};

const isa::InstructionEntry* find_instruction(std::string_view name) {
  const auto& table = isa::instruction_table();
  const auto found = std::find_if(
      table.begin(), table.end(),
      [&](const isa::InstructionEntry& entry) { return entry.description->mnemonic == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

bool is_instruction(std::string_view name) { return find_instruction(name) != nullptr; }

std::vector<std::string> instruction_names() {
  std::vector<std::string> names;
  for (const isa::InstructionEntry& entry : isa::instruction_table()) {
    names.emplace_back(entry.description->mnemonic);
  }
  return names;
}

void report_unknown_call(const ast::Call& call, const BindScope& scope) {
  if (scope.functions != nullptr && scope.functions->kernels.contains(call.callee.text)) {
    add_note(
        scope.diagnostics.error(
            Code::misplaced, call.callee.span,
            fmt::format("`{}` is a kernel; kernels are called by pipelines", call.callee.text)),
        "what a kernel calls is a function: a `def` without a grid");
    return;
  }
  if (call.callee.text == strides_function) return report_lone_strides(call, scope);
  if (report_foreign_call(call, scope)) return;
  std::vector<std::string> names = instruction_names();
  if (scope.functions != nullptr) {
    for (const auto& [name, function] : scope.functions->by_name) names.push_back(name);
  }
  const std::string near = nearest(call.callee.text, names);
  auto& error = scope.diagnostics.error(
      Code::unknown_instruction, call.callee.span,
      fmt::format("unknown instruction `{}`{}", call.callee.text,
                  near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
  error.fix = near;
}

std::optional<BoundCall> bind_call(const ast::Call& call, Span span, const BindScope& scope,
                                   OperandBinder& operands) {
  const isa::InstructionEntry* const entry = find_instruction(call.callee.text);
  if (entry != nullptr) return CallBinder(*entry, call, span, scope, operands).run();
  report_unknown_call(call, scope);
  return std::nullopt;
}

}  // namespace tilevm::frontend
