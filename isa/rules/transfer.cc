#include "isa/inst/transfer.h"

#include <fmt/format.h>

#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {

RuleResult result_types(const LoadGlobal& inst, const RuleContext& context) {
  std::optional<RegisterLayout> layout = inst.layout;
  if (!layout && context.expected != nullptr) layout = context.expected->layout;
  if (!layout) {
    add_note(context.error(Code::missing_operand, "`LoadGlobal` needs `layout`"),
             "the layout says which thread holds which element; only with `out=` may it be left "
             "out");
    return std::nullopt;
  }
  if (!check_shape_agrees(inst.shape, *layout, position_of(&LoadGlobal::shape), context)) {
    return std::nullopt;
  }
  const GlobalType& source = context.type(inst.src);
  if (!check_offset(inst.offset, source.rank(), layout->rank(), position_of(&LoadGlobal::offset),
                    context)) {
    return std::nullopt;
  }
  const auto tile = make_tile(source.dtype, *layout, position_of(&LoadGlobal::layout), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

RuleResult result_types(const StoreGlobal& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  const GlobalType& destination = context.type(inst.dst);
  if (source.dtype != destination.dtype) {
    add_note(context.error(Code::type_mismatch, position_of(&StoreGlobal::src),
                           fmt::format("{} holds {}, but {} is a view of {}",
                                       context.name(inst.src.var), to_string(source.dtype),
                                       context.name(inst.dst.var), to_string(destination.dtype))),
             fmt::format("convert it first: `Cast({}, {})`", context.variable(inst.src.var).name,
                         to_string(destination.dtype)));
    return std::nullopt;
  }
  if (!check_offset(inst.offset, destination.rank(), source.layout.rank(),
                    position_of(&StoreGlobal::offset), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

}  // namespace tilevm::isa
