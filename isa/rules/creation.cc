#include "isa/inst/creation.h"

#include <fmt/format.h>

#include "isa/layout/layout_ops.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {

RuleResult result_types(const AllocateGlobal& inst, const RuleContext& context) {
  constexpr auto shape_slot = position_of(&AllocateGlobal::shape);
  if (!check_extents(inst.shape.extents, shape_slot, context)) return std::nullopt;
  std::vector<Expr> extents;
  for (const std::int64_t extent : inst.shape.extents) extents.push_back(Expr::constant(extent));
  const auto layout =
      view_layout(inst.layout, extents, position_of(&AllocateGlobal::layout), context);
  if (!layout) return std::nullopt;
  if (inst.init) {
    const auto value = inst.init->value.constant_value();
    if (!value || value->bits != 0) {
      add_note(context.error(Code::not_supported, position_of(&AllocateGlobal::init),
                             "a workspace begins with zeros or without defined values: `init` can "
                             "only be the constant 0"),
               "for other values let blocks store them before they are used");
      return std::nullopt;
    }
  }
  return std::vector<Type>{GlobalType{inst.dtype, extents, *layout}};
}

RuleResult result_types(const AllocateRegister& inst, const RuleContext& context) {
  constexpr auto layout_slot = position_of(&AllocateRegister::layout);
  constexpr auto shape_slot = position_of(&AllocateRegister::shape);
  if (inst.shape && !check_extents(inst.shape->extents, shape_slot, context)) return std::nullopt;
  std::optional<RegisterLayout> layout = inst.layout;
  if (!layout && context.expected != nullptr) layout = context.expected->layout;
  if (!layout && !inst.shape) {
    context.error(Code::missing_operand, "`shape` or `layout` must be given");
    return std::nullopt;
  }
  if (!layout) {
    if (!context.kernel().threads) {
      add_note(
          context.error(Code::missing_operand, "without `layout` the thread count must be known"),
          "give `layout=..`, or `@threads(n)` before the `def`");
      return std::nullopt;
    }
    const auto automatic = auto_local_spatial(*context.kernel().threads, inst.shape->extents);
    if (!automatic) {
      context.error(Code::bad_layout, shape_slot, automatic.error().message);
      return std::nullopt;
    }
    layout = *automatic;
  }
  if (!check_shape_agrees(inst.shape, *layout, shape_slot, context)) return std::nullopt;
  const auto tile = make_tile(inst.dtype, *layout, layout_slot, context);
  if (!tile) return std::nullopt;
  if (inst.init && inst.init->values.empty()) {
    context.error(Code::bad_shape, position_of(&AllocateRegister::init),
                  "`init` is an empty list; leave it out for a tile without defined values");
    return std::nullopt;
  }
  return std::vector<Type>{*tile};
}

RuleResult result_types(const ViewGlobal& inst, const RuleContext& context) {
  constexpr auto shape_slot = position_of(&ViewGlobal::shape);
  const DType dtype = inst.dtype.value_or(context.type(inst.ptr).dtype);
  Shape known;
  for (const Expr& extent : inst.shape.extents) {
    if (extent.kind() == ScalarKind::f32 || extent.kind() == ScalarKind::boolean) {
      context.error(Code::scalar_type, shape_slot,
                    fmt::format("extent `{}` is {}; extents are integers", to_string(extent),
                                to_string(extent.kind())));
      return std::nullopt;
    }
    known.push_back(extent.constant_value() ? extent.constant_int().value_or(0) : 1);
  }
  if (!check_extents(known, shape_slot, context)) return std::nullopt;
  const auto layout =
      view_layout(inst.layout, inst.shape.extents, position_of(&ViewGlobal::layout), context);
  if (!layout) return std::nullopt;
  return std::vector<Type>{GlobalType{dtype, inst.shape.extents, *layout}};
}

}  // namespace tilevm::isa
