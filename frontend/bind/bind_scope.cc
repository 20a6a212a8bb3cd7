#include "frontend/bind/bind_scope.h"

#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "frontend/syntax/foreign_words.h"
#include "isa/base/check.h"
#include "isa/base/suggest.h"

namespace tilevm::frontend {

std::string_view kind_name(const ConstantValue& value) {
  if (const auto* scalar = std::get_if<isa::Scalar>(&value)) {
    switch (scalar->kind) {
      case isa::ScalarKind::boolean:
        return "a bool";
      case isa::ScalarKind::i32:
      case isa::ScalarKind::u32:
      case isa::ScalarKind::i64:
      case isa::ScalarKind::u64:
        return "an integer";
      case isa::ScalarKind::f32:
        return "a float";
    }
  }
  if (std::holds_alternative<ConstantList>(value)) return "a list";
  return std::holds_alternative<isa::DType>(value) ? "a type" : "a layout";
}

std::string to_string(const ConstantValue& value) {
  if (const auto* list = std::get_if<ConstantList>(&value)) {
    std::string text;
    for (const ConstantElement& each : list->values) {
      text += (text.empty() ? "" : ", ") + to_string(each.value);
    }
    return "[" + text + "]";
  }
  return std::visit(
      []<class T>(const T& x) {
        if constexpr (std::is_same_v<T, ConstantList>)
          return std::string();
        else
          return isa::to_string(x);
      },
      value);
}

Value to_value(const ConstantValue& constant, Span span) {
  return std::visit(
      [&]<class T>(const T& x) {
        if constexpr (std::is_same_v<T, isa::Scalar>) {
          return Value{isa::Expr::constant(x, span)};
        } else if constexpr (std::is_same_v<T, ConstantList>) {
          ValueList list;
          for (const ConstantElement& each : x.values) list.push_back(to_value(each.value, span));
          return Value{std::move(list)};
        } else {
          return Value{x};
        }
      },
      constant);
}

std::optional<ConstantValue> to_constant(const Value& value) {
  return std::visit(
      []<class T>(const T& x) -> std::optional<ConstantValue> {
        if constexpr (std::is_same_v<T, isa::Expr>) {
          const auto scalar = x.constant_value();
          return scalar ? std::optional<ConstantValue>(*scalar) : std::nullopt;
        } else if constexpr (std::is_same_v<T, isa::VarId>) {
          return std::nullopt;
        } else if constexpr (std::is_same_v<T, ValueList>) {
          ConstantList list;
          for (const Value& each : x) {
            auto constant = to_constant(each);
            if (!constant) return std::nullopt;
            list.values.push_back({*std::move(constant)});
          }
          return ConstantValue(std::move(list));
        } else {
          return ConstantValue(x);
        }
      },
      value.node);
}

void VariableScope::leave() {
  for (const auto& [name, entry] : blocks_.back().names) {
    if ((entry.var.valid() || entry.value) && !entry.excluded) ended_[name] = entry.span;
  }
  blocks_.pop_back();
}

void VariableScope::leave_excluded() {
  Names names = std::move(blocks_.back().names);
  blocks_.pop_back();
  for (auto& [name, entry] : names) {
    entry.excluded = true;
    blocks_.back().names.try_emplace(name, std::move(entry));
  }
}

std::optional<VariableScope::Binding> VariableScope::find(std::string_view name) const {
  for (std::size_t depth = blocks_.size(); depth > 0; --depth) {
    const Names& block = blocks_[depth - 1].names;
    const auto found = block.find(name);
    if (found == block.end() || (found->second.excluded && exclusions == 0)) continue;
    return Binding{found->second.var, depth, found->second.value.get(), found->second.span};
  }
  return std::nullopt;
}

std::optional<Span> VariableScope::ended(std::string_view name) const {
  const auto found = ended_.find(name);
  if (found == ended_.end()) return std::nullopt;
  return found->second;
}

std::optional<Span> VariableScope::excluded(std::string_view name) const {
  for (const Block& block : blocks_) {
    const auto found = block.names.find(name);
    if (found != block.names.end() && found->second.excluded) return found->second.span;
  }
  return std::nullopt;
}

isa::VarId VariableScope::declare_temporary(std::string name, isa::Type type, Span span) {
  const isa::VarId var{static_cast<std::int32_t>(kernel_.variables.size())};
  kernel_.variables.push_back({std::move(name), std::move(type), span});
  return var;
}

isa::VarId VariableScope::declare(std::string name, isa::Type type, Span span) {
  const isa::VarId var = declare_temporary(name, std::move(type), span);
  bind(name, var, span);
  return var;
}

void VariableScope::bind(const std::string& name, isa::VarId var, Span span) {
  blocks_.back().names[name] = {var, nullptr, span, false};
}

void VariableScope::bind(const std::string& name, Value value, Span span) {
  if (const auto* var = std::get_if<isa::VarId>(&value.node)) return bind(name, *var, span);
  blocks_.back().names[name] = {{}, std::make_shared<const Value>(std::move(value)), span, false};
}

void VariableScope::set_value(const std::string& name, Value value) {
  for (std::size_t depth = blocks_.size(); depth > 0; --depth) {
    Names& names = blocks_[depth - 1].names;
    const auto found = names.find(name);
    if (found == names.end() || (found->second.excluded && exclusions == 0)) continue;
    found->second.value = std::make_shared<const Value>(std::move(value));
    return;
  }
}

bool VariableScope::is_certain(std::size_t depth) const {
  for (std::size_t i = depth; i < blocks_.size(); ++i) {
    if (!blocks_[i].is_expanded) return false;
  }
  return true;
}

void VariableScope::poison(const std::string& name) { blocks_.back().names[name] = {}; }

void VariableScope::rename(isa::VarId var, std::string name, Span span) {
  isa::Variable& variable = kernel_.variables[static_cast<std::size_t>(var.index)];
  variable.name = std::move(name);
  variable.span = span;
}

std::vector<std::string> VariableScope::names() const {
  std::vector<std::string> names;
  for (const auto& block : blocks_) {
    for (const auto& [name, entry] : block.names) {
      if (!entry.excluded || exclusions > 0) names.push_back(name);
    }
  }
  return names;
}

BindScope::Meaning BindScope::lookup(std::string_view name, Span use) const {
  if (variables != nullptr) {
    if (const auto binding = variables->find(name)) {
      if (binding->poisoned()) return {Meaning::Kind::poisoned, {}, {}, binding->span};
      if (binding->value == nullptr) {
        return {Meaning::Kind::variable, binding->var, {}, binding->span};
      }
      Value value = *binding->value;
      if (auto* scalar = std::get_if<isa::Expr>(&value.node)) *scalar = scalar->at(use);
      return {Meaning::Kind::value, binding->var, std::move(value), binding->span};
    }
  }
  const auto found = constants.find(name);
  if (found == constants.end()) return {};
  if (found->second.poisoned) return {Meaning::Kind::poisoned, {}, {}, found->second.span};
  return {Meaning::Kind::value, {}, to_value(found->second.value, use), found->second.span};
}

bool BindScope::knows(std::string_view name) const {
  return (variables != nullptr && variables->find(name)) || constants.find(name) != constants.end();
}

const ast::Function* BindScope::function(std::string_view name) const {
  if (functions == nullptr) return nullptr;
  const auto found = functions->by_name.find(name);
  return found == functions->by_name.end() ? nullptr : found->second;
}

namespace {

bool is_wanted(const isa::Type& type, Wanted wanted) {
  const bool is_tile = std::holds_alternative<isa::RegisterType>(type);
  const bool is_scalar = std::holds_alternative<isa::ScalarType>(type);
  switch (wanted) {
    case Wanted::anything:
      return true;
    case Wanted::scalar:
      return is_scalar;
    case Wanted::number:
      return is_scalar || is_tile;
    case Wanted::tensor:
      return !is_scalar;
    case Wanted::tile:
      return is_tile;
    case Wanted::shared:
      return std::holds_alternative<isa::SharedType>(type);
    case Wanted::view:
      return std::holds_alternative<isa::GlobalType>(type);
    case Wanted::pointer:
      return std::holds_alternative<isa::PointerType>(type);
    case Wanted::barrier:
      return std::holds_alternative<isa::BarrierType>(type);
    case Wanted::dtype:
    case Wanted::layout:
    case Wanted::list:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Decides for what is not a tensor: `T` is a scalar, a type, a layout or a list.
template <class T>
bool is_wanted(const T&, Wanted wanted) {
  constexpr bool scalar = std::is_same_v<T, isa::Scalar> || std::is_same_v<T, isa::Expr>;
  constexpr bool list = std::is_same_v<T, ConstantList> || std::is_same_v<T, ValueList>;
  if (wanted == Wanted::anything) return true;
  if constexpr (scalar) return wanted == Wanted::scalar || wanted == Wanted::number;
  if constexpr (list) return wanted == Wanted::list;
  return wanted == (std::is_same_v<T, isa::DType> ? Wanted::dtype : Wanted::layout);
}

}  // namespace

std::vector<std::string> BindScope::names_of(Wanted wanted) const {
  std::vector<std::string> names;
  for (const auto& [name, constant] : constants) {
    const bool fits =
        std::visit([&](const auto& x) { return is_wanted(x, wanted); }, constant.value);
    if (fits || constant.poisoned) names.push_back(name);
  }
  if (variables == nullptr) return names;
  for (std::string& name : variables->names()) {
    const auto binding = variables->find(name);
    if (!binding) continue;
    bool fits = binding->poisoned();
    if (binding->var.valid()) fits = is_wanted(variables->variable(binding->var).type, wanted);
    if (const Value* value = binding->value; value != nullptr && !binding->var.valid()) {
      fits = std::visit(
          [&]<class T>(const T& x) {
            if constexpr (std::is_same_v<T, isa::VarId>) {
              return is_wanted(variables->variable(x).type, wanted);
            } else {
              return is_wanted(x, wanted);
            }
          },
          value->node);
    }
    if (fits) names.push_back(std::move(name));
  }
  return names;
}

void BindScope::report_unknown(std::string_view name, Span span, Wanted wanted) const {
  if (variables != nullptr) {
    if (const auto assigned = variables->excluded(name)) {
      add_note(
          diagnostics.error(
              Code::assigned_in_block, span,
              fmt::format("`{}` is assigned only in a branch that the constants leave out", name)),
          "assigned here; the branch taken must assign it as well", *assigned);
      return;
    }
    if (const auto assigned = variables->ended(name)) {
      add_note(diagnostics.error(
                   Code::assigned_in_block, span,
                   fmt::format("`{}` is assigned only inside a block that has ended", name)),
               "assigned here; allocate it before the block to use it after", *assigned);
      return;
    }
  }
  std::string near = nearest(name, names_of(wanted));
  if (near.empty() && wanted == Wanted::tile) near = nearest(name, names_of(Wanted::number));
  auto& error =
      diagnostics.error(Code::unknown_name, span,
                        fmt::format("unknown name `{}`{}", name,
                                    near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
  error.fix = near;
  if (const std::string advice = near.empty() ? advice_for(name) : ""; !advice.empty()) {
    add_note(error, advice);
  }
}

}  // namespace tilevm::frontend
