#include "frontend/bind/bind_instruction.h"

#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "isa/rules/rules.h"

namespace tilevm::frontend {

bool KernelBuilder::is_too_long(Span span, Diagnostics& diagnostics) {
  constexpr std::size_t most = 100'000;
  if (statements <= most) return false;
  if (!std::exchange(reported_length, true)) {
    diagnostics.error(Code::program_too_large, span,
                      fmt::format("with its calls and constant loops expanded, the kernel has more "
                                  "than {} statements",
                                  most));
  }
  return true;
}

void InstructionBinder::bind(const ast::Call& call, Span call_span, Span span,
                             const std::vector<ast::Identifier>& targets) {
  if (!bind_or_fail(call, call_span, span, targets)) {
    for (const ast::Identifier& target : targets) variables_.poison(target.text);
  }
}

bool InstructionBinder::bind_or_fail(const ast::Call& call, Span call_span, Span span,
                                     const std::vector<ast::Identifier>& targets) {
  auto bound = bind_call(call, call_span, scope_, *this);
  return bound && finish(*std::move(bound), call_span, span, targets);
}

bool InstructionBinder::finish(BoundCall bound, Span call_span, Span span,
                               const std::vector<ast::Identifier>& targets) {
  const isa::Description& description = isa::description(bound.inst);
  const std::string_view mnemonic = description.mnemonic;
  if (description.result == isa::ResultKind::none && !targets.empty()) {
    diagnostics_.error(Code::no_result, call_span,
                       fmt::format("`{}` gives no result to assign", mnemonic));
    return false;
  }
  const auto target = find_target(bound, targets);
  if (!target) return false;
  const auto types = infer(bound, call_span, target->existing);
  if (!types) return false;
  if (target->is_out) return write_in_place(bound, *types, *target, span);
  if (description.result != isa::ResultKind::none && targets.empty()) {
    diagnostics_.error(Code::unused_result, call_span,
                       fmt::format("the result of `{}` is not used; assign it{}", mnemonic,
                                   description.result == isa::ResultKind::register_tile
                                       ? ", or write it into a tile with `out=`"
                                       : ""));
    return false;
  }
  if (types->size() != targets.size()) {
    diagnostics_.error(Code::result_count, span,
                       fmt::format("`{}` gives {} result{} here, {} name{} given", mnemonic,
                                   types->size(), types->size() == 1 ? "" : "s", targets.size(),
                                   targets.size() == 1 ? " is" : "s are"));
    return false;
  }
  assign_results(std::move(bound), *types, targets, span);
  return true;
}

std::optional<InstructionBinder::Target> InstructionBinder::find_target(
    const BoundCall& bound, const std::vector<ast::Identifier>& targets) {
  Target target;
  if (bound.out == nullptr) {
    if (targets.size() == 1) target.existing = variable_named(targets[0].text);
    return target;
  }
  const ast::Argument& out = *bound.out;
  const auto* name = std::get_if<ast::Name>(&out.value.node);
  const isa::Description& description = isa::description(bound.inst);
  if (description.result != isa::ResultKind::register_tile) {
    diagnostics_.error(
        Code::out_not_allowed, out.span,
        fmt::format("`{}` has no `out=`: it gives no register tile", description.mnemonic));
    return std::nullopt;
  }
  if (name == nullptr) {
    diagnostics_.error(Code::wrong_operand_kind, out.value.span,
                       "`out` is the name of a register tile");
    return std::nullopt;
  }
  if (!targets.empty() && (targets.size() > 1 || targets[0].text != name->text)) {
    diagnostics_.error(Code::result_count, out.span,
                       "the result goes either to a name or to `out=`, not to both");
    return std::nullopt;
  }
  const auto binding = variables_.find(name->text);
  if (!binding) {
    scope_.report_unknown(name->text, out.value.span, Wanted::tile);
    return std::nullopt;
  }
  if (binding->poisoned()) return std::nullopt;
  if (!binding->var.valid()) {
    diagnostics_.error(Code::wrong_operand_kind, out.value.span,
                       "`out` is the name of a register tile");
    return std::nullopt;
  }
  target.existing = binding;
  target.is_out = true;
  target.span = out.value.span;
  return target;
}

std::optional<std::vector<isa::Type>> InstructionBinder::infer(
    const BoundCall& bound, Span span, const std::optional<VariableScope::Binding>& existing) {
  isa::RuleContext context(kernel_.kernel, kernel_.target, diagnostics_, span, bound.slot_spans);
  if (existing) {
    context.expected = std::get_if<isa::RegisterType>(&variables_.variable(existing->var).type);
  }
  return isa::infer(bound.inst, context);
}

bool InstructionBinder::write_in_place(BoundCall& bound, const std::vector<isa::Type>& types,
                                       const Target& target, Span span) {
  const isa::Variable& variable = variables_.variable(target.existing->var);
  if (types.size() != 1 || variable.type != types[0]) {
    auto& error =
        diagnostics_.error(Code::out_type_mismatch, target.span,
                           fmt::format("`{}` gives {}, but `{}` is {}", isa::mnemonic(bound.inst),
                                       types.empty() ? "nothing" : isa::to_string(types[0]),
                                       variable.name, isa::to_string(variable.type)));
    add_note(error, fmt::format("`{}` was declared here", variable.name), variable.span);
    return false;
  }
  kernel_.emit(
      isa::InstStmt{
          std::move(bound.inst), {target.existing->var}, false, std::move(bound.slot_spans)},
      span);
  return true;
}

void InstructionBinder::assign_results(BoundCall bound, const std::vector<isa::Type>& types,
                                       const std::vector<ast::Identifier>& targets, Span span) {
  if (targets.size() == 1) {
    const auto existing = variable_named(targets[0].text);
    if (existing) {
      const isa::Variable& variable = variables_.variable(existing->var);
      const bool has_value = std::holds_alternative<isa::RegisterType>(types[0]) ||
                             std::holds_alternative<isa::ScalarType>(types[0]);
      if (has_value && variable.type == types[0]) {
        return kernel_.emit(
            isa::InstStmt{
                std::move(bound.inst), {existing->var}, false, std::move(bound.slot_spans)},
            span);
      }
      if (existing->depth < variables_.depth()) warn_shadowed(targets[0], variable, types[0]);
    }
  }
  isa::InstStmt stmt{std::move(bound.inst), {}, true, std::move(bound.slot_spans)};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    stmt.results.push_back(variables_.declare(targets[i].text, types[i], targets[i].span));
  }
  if (!targets.empty() || types.empty()) kernel_.emit(std::move(stmt), span);
}

void InstructionBinder::warn_shadowed(const ast::Identifier& target, const isa::Variable& outer,
                                      const isa::Type& type) {
  if (variables_.exclusions > 0) return;
  auto& warning = diagnostics_.warning(
      Code::shadowed_in_block, target.span,
      fmt::format("`{}` takes a new type here, so it names a new variable until the end of this "
                  "block; the outer `{}` keeps its value",
                  target.text, target.text));
  add_note(warning, fmt::format("the outer one is {}", isa::to_string(outer.type)), outer.span);
  add_note(warning, fmt::format("the new one is {}", isa::to_string(type)));
}

std::optional<VariableScope::Binding> InstructionBinder::variable_named(
    const std::string& name) const {
  const auto binding = variables_.find(name);
  return binding && binding->var.valid() ? binding : std::nullopt;
}

}  // namespace tilevm::frontend
