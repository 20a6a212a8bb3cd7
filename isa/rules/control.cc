#include "isa/inst/control.h"

#include <fmt/format.h>

#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// A scalar of the kind, or a constant integer that it holds.
bool fits(const Expr& value, ScalarKind kind) {
  if (value.kind() == kind) return true;
  const auto integer = value.constant_int();
  if (!integer || value.kind() == ScalarKind::boolean) return false;
  const Scalar converted = convert(*value.constant_value(), kind);
  return converted.as_int() == *integer && (*integer >= 0 || kind == ScalarKind::i32);
}

/// The kind of the element that the instruction works on; nothing after a report.
template <class Inst>
std::optional<ScalarKind> check_semaphore(const Inst& inst, const RuleContext& context) {
  const GlobalType& view = context.type(inst.view);
  const auto kind = semaphore_kind(view.dtype);
  if (!kind) {
    context.error(Code::type_mismatch, position_of(&Inst::view),
                  fmt::format("{} is a view of {}; `{}` works on elements of i32 or u32",
                              context.name(inst.view.var), to_string(view.dtype),
                              Inst::schema.description.mnemonic));
    return std::nullopt;
  }
  const auto check_value = [&](const ScalarOperand& value, std::size_t slot) {
    if (fits(value.value, *kind)) return true;
    add_note(context.error(Code::scalar_type, slot,
                           fmt::format("the value is {}, but {} is a view of {}",
                                       to_string(value.value.kind()), context.name(inst.view.var),
                                       to_string(view.dtype))),
             fmt::format("convert it: `{}(..)`", to_string(*kind)));
    return false;
  };
  if (!check_value(inst.value, position_of(&Inst::value))) return std::nullopt;
  if constexpr (requires { inst.compare; }) {
    if (!check_value(inst.compare, position_of(&Inst::compare))) return std::nullopt;
  }
  if (!check_offset(inst.offset, view.rank(), 0, position_of(&Inst::offset), context)) {
    return std::nullopt;
  }
  return kind;
}

/// The result of an atomic instruction: what the element was before.
template <class Inst>
RuleResult element_before(const Inst& inst, const RuleContext& context) {
  const auto kind = check_semaphore(inst, context);
  if (!kind) return std::nullopt;
  return std::vector<Type>{ScalarType{*kind}};
}

}  // namespace

std::optional<ScalarKind> semaphore_kind(const DType& dtype) {
  for (const ScalarKind kind : {ScalarKind::i32, ScalarKind::u32}) {
    if (element_type(kind) == dtype) return kind;
  }
  return std::nullopt;
}

template <>
RuleResult result_types(const Synchronize&, const RuleContext&) {
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const LockSemaphore& inst, const RuleContext& context) {
  if (!check_semaphore(inst, context)) return std::nullopt;
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const ReleaseSemaphore& inst, const RuleContext& context) {
  if (!check_semaphore(inst, context)) return std::nullopt;
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const AtomicAdd& inst, const RuleContext& context) {
  return element_before(inst, context);
}

template <>
RuleResult result_types(const AtomicCombine& inst, const RuleContext& context) {
  if (gives_index(inst.op) || inst.op == ReduceOp::mul) {
    add_note(
        context.error(Code::not_supported, position_of(&AtomicCombine::op),
                      fmt::format("`AtomicCombine` combines nothing by `{}`", to_string(inst.op))),
        "it has `add`, `max`, `min`, `bit_and`, `bit_or` and `bit_xor`");
    return std::nullopt;
  }
  return element_before(inst, context);
}

template <>
RuleResult result_types(const AtomicExchange& inst, const RuleContext& context) {
  return element_before(inst, context);
}

template <>
RuleResult result_types(const AtomicCompareExchange& inst, const RuleContext& context) {
  return element_before(inst, context);
}

template <>
RuleResult result_types(const Exit&, const RuleContext&) {
  return std::vector<Type>{};
}

}  // namespace tilevm::isa
