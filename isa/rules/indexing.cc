#include "isa/inst/indexing.h"

#include <fmt/format.h>

#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// The kind of scalar that holds an element; nothing if there is none.
std::optional<ScalarKind> scalar_kind(const DType& type) {
  if (type == f32) return ScalarKind::f32;
  if (!type.is_integer()) return std::nullopt;
  if (type.bits > 32) return type.is_signed_int() ? ScalarKind::i64 : ScalarKind::u64;
  return type.is_signed_int() ? ScalarKind::i32 : ScalarKind::u32;
}

/// The element type of what is read, after a check of where it is; nothing after a report.
std::optional<DType> read_type(RegisterOperand src, const LoadScalar& inst,
                               const RuleContext& context) {
  const RegisterType& tile = context.type(src);
  if (tile.layout.size() != 1) {
    auto& diagnostic = context.error(
        Code::shape_mismatch, position_of(&LoadScalar::src),
        fmt::format("{} has {} elements; a scalar is read from a register tile of one element",
                    context.name(src.var), tile.layout.size()));
    note_operand(diagnostic, src, context);
    add_note(diagnostic, "`Reduce` makes one element of many");
    return std::nullopt;
  }
  if (inst.offset) {
    context.error(Code::misplaced, position_of(&LoadScalar::offset),
                  "a register tile of one element has no other to choose; leave `offset` out");
    return std::nullopt;
  }
  return tile.dtype;
}
std::optional<DType> read_type(SharedOperand src, const LoadScalar& inst,
                               const RuleContext& context) {
  const SharedType& tensor = context.type(src);
  if (!check_offset(inst.offset, tensor.layout.rank(), 0, position_of(&LoadScalar::offset),
                    context)) {
    return std::nullopt;
  }
  return tensor.dtype;
}
std::optional<DType> read_type(GlobalOperand src, const LoadScalar& inst,
                               const RuleContext& context) {
  const GlobalType& view = context.type(src);
  if (!check_offset(inst.offset, view.rank(), 0, position_of(&LoadScalar::offset), context)) {
    return std::nullopt;
  }
  return view.dtype;
}

}  // namespace

template <>
RuleResult result_types(const BlockIndices&, const RuleContext& context) {
  return std::vector<Type>(context.kernel().grid.size(), ScalarType{ScalarKind::i32});
}

template <>
RuleResult result_types(const LoadScalar& inst, const RuleContext& context) {
  const auto dtype =
      std::visit([&](const auto& src) { return read_type(src, inst, context); }, inst.src.value);
  if (!dtype) return std::nullopt;
  const auto kind = scalar_kind(*dtype);
  if (!kind) {
    add_note(context.error(Code::type_mismatch, position_of(&LoadScalar::src),
                           fmt::format("an element of {} is not a scalar; scalars are read from "
                                       "integers and f32",
                                       to_string(*dtype))),
             "a register tile of one element can be converted: `LoadScalar(Cast(x, f32))`");
    return std::nullopt;
  }
  return std::vector<Type>{ScalarType{*kind}};
}

}  // namespace tilevm::isa
