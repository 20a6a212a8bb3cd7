#include "frontend/bind/bind_scope.h"

#include <fmt/format.h>

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
  return std::holds_alternative<isa::DType>(value) ? "a type" : "a layout";
}

void VariableScope::leave() {
  for (const auto& [name, var] : blocks_.back()) {
    if (var.valid()) ended_[name] = kernel_.variable(var).span;
  }
  blocks_.pop_back();
}

std::optional<VariableScope::Binding> VariableScope::find(std::string_view name) const {
  for (std::size_t depth = blocks_.size(); depth > 0; --depth) {
    const auto& block = blocks_[depth - 1];
    const auto found = block.find(name);
    if (found != block.end()) return Binding{found->second, depth};
  }
  return std::nullopt;
}

std::optional<Span> VariableScope::ended(std::string_view name) const {
  const auto found = ended_.find(name);
  if (found == ended_.end()) return std::nullopt;
  return found->second;
}

isa::VarId VariableScope::declare(std::string name, isa::Type type, Span span) {
  const isa::VarId var{static_cast<std::int32_t>(kernel_.variables.size())};
  kernel_.variables.push_back({name, std::move(type), span});
  blocks_.back()[std::move(name)] = var;
  return var;
}

void VariableScope::poison(const std::string& name) { blocks_.back()[name] = isa::VarId{}; }

std::vector<std::string> VariableScope::names() const {
  std::vector<std::string> names;
  for (const auto& block : blocks_) {
    for (const auto& [name, var] : block) names.push_back(name);
  }
  return names;
}

void BindScope::report_unknown(std::string_view name, Span span) const {
  std::vector<std::string> known;
  for (const auto& [constant, value] : constants) known.push_back(constant);
  if (variables != nullptr) {
    for (std::string& variable : variables->names()) known.push_back(std::move(variable));
    if (const auto assigned = variables->ended(name)) {
      add_note(diagnostics.error(
                   Code::assigned_in_block, span,
                   fmt::format("`{}` is assigned only inside a block that has ended", name)),
               "assigned here; allocate it before the block to use it after", *assigned);
      return;
    }
  }
  const std::string near = nearest(name, known);
  auto& error =
      diagnostics.error(Code::unknown_name, span,
                        fmt::format("unknown name `{}`{}", name,
                                    near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
  error.fix = near;
}

}  // namespace tilevm::frontend
