#include "isa/inst/creation.h"

#include <fmt/format.h>

#include "isa/layout/layout_ops.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// The constant strides of `strides(..)`; nothing after a report.
std::optional<std::vector<std::int64_t>> constant_strides(const std::vector<Expr>& strides,
                                                          std::size_t slot,
                                                          const RuleContext& context) {
  std::vector<std::int64_t> values;
  for (const Expr& stride : strides) {
    const auto value = stride.constant_int();
    if (!value) {
      context.error(Code::not_a_constant, slot,
                    fmt::format("stride `{}` is not a constant; strides of a shared tensor are "
                                "known before the run",
                                to_string(stride)));
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

/// The memory layout of a shared tensor, from the layout slot.
Result<MemoryLayout> memory_layout(const ViewLayout& layout,
                                   const std::vector<std::int64_t>& strides, const Shape& shape) {
  switch (layout.form) {
    case ViewLayout::Form::row_major:
      return row_major(shape);
    case ViewLayout::Form::column_major:
      return column_major(shape);
    case ViewLayout::Form::strides:
      return strided(shape, strides);
    case ViewLayout::Form::memory:
      break;
  }
  if (layout.memory->shape() == shape) return *layout.memory;
  return Error{ErrorKind::program,
               fmt::format("the layout has shape {}, the tensor {}",
                           to_string(layout.memory->shape()), to_string(shape))};
}

}  // namespace

template <>
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

template <>
RuleResult result_types(const AllocateShared& inst, const RuleContext& context) {
  constexpr auto shape_slot = position_of(&AllocateShared::shape);
  constexpr auto layout_slot = position_of(&AllocateShared::layout);
  if (!check_extents(inst.shape.extents, shape_slot, context)) return std::nullopt;
  if (const std::int64_t count = element_count(inst.shape.extents); count > max_shared_elements) {
    context.error(Code::bad_shape, shape_slot,
                  fmt::format("{} has {} elements; a shared tensor has at most {}",
                              to_string(inst.shape.extents), count, max_shared_elements));
    return std::nullopt;
  }
  const ViewLayout wanted = inst.layout.value_or(ViewLayout{});
  const auto strides = constant_strides(wanted.strides, layout_slot, context);
  if (!strides) return std::nullopt;
  auto layout = memory_layout(wanted, *strides, inst.shape.extents);
  if (!layout) {
    context.error(Code::bad_layout, layout_slot, layout.error().message);
    return std::nullopt;
  }
  return std::vector<Type>{SharedType{inst.dtype, *std::move(layout)}};
}

template <>
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

template <>
RuleResult result_types(const Iota& inst, const RuleContext& context) {
  std::optional<RegisterLayout> layout = inst.layout;
  if (!layout && context.expected != nullptr) layout = context.expected->layout;
  if (!layout) {
    add_note(context.error(Code::missing_operand, "`Iota` needs `layout`"),
             "the layout says which thread holds which element; only with `out=` may it be left "
             "out");
    return std::nullopt;
  }
  if (!inst.dtype.is_integer()) {
    add_note(context.error(Code::type_mismatch, position_of(&Iota::dtype),
                           fmt::format("`Iota` gives integers, not {}", to_string(inst.dtype))),
             fmt::format("convert them: `Cast(Iota(i32, ..), {})`", to_string(inst.dtype)));
    return std::nullopt;
  }
  const bool names_one = !inst.dim || inst.dim->dims.size() == 1;
  const int dim = names_one && inst.dim ? inst.dim->dims.front() : 0;
  if (!names_one || dim < 0 || dim >= layout->rank()) {
    context.error(Code::bad_shape, position_of(&Iota::dim),
                  names_one ? fmt::format("dimension {} does not exist; the layout has rank {}",
                                          dim, layout->rank())
                            : "`dim` is one dimension");
    return std::nullopt;
  }
  if (inst.start && !is_integer(inst.start->value.kind())) {
    context.error(
        Code::scalar_type, position_of(&Iota::start),
        fmt::format("`start` is {}; it is an integer", to_string(inst.start->value.kind())));
    return std::nullopt;
  }
  const auto tile = make_tile(inst.dtype, *layout, position_of(&Iota::layout), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

template <>
RuleResult result_types(const Philox& inst, const RuleContext& context) {
  const RegisterType& counter = context.type(inst.counter);
  if (counter.dtype != u32) {
    add_note(
        context.error(Code::type_mismatch, position_of(&Philox::counter),
                      fmt::format("{} is {}; counters are u32", context.name(inst.counter.var),
                                  to_string(counter.dtype))),
        fmt::format("convert it first: `Cast({}, u32)`", context.variable(inst.counter.var).name));
    return std::nullopt;
  }
  const auto check_integer = [&](const ScalarOperand& operand, std::string_view name,
                                 std::size_t slot) {
    if (is_integer(operand.value.kind())) return true;
    context.error(
        Code::scalar_type, slot,
        fmt::format("`{}` is {}; it is an integer", name, to_string(operand.value.kind())));
    return false;
  };
  if (!check_integer(inst.key, "key", position_of(&Philox::key))) return std::nullopt;
  if (inst.stream && !check_integer(*inst.stream, "stream", position_of(&Philox::stream))) {
    return std::nullopt;
  }
  Shape words(counter.shape().size() + 1, 1);
  words[0] = 4;
  const auto factor = local(words);
  const auto inner = unsqueeze(counter.layout, {0});
  const auto layout = factor && inner ? compose(*factor, *inner) : inner;
  if (!layout) {
    context.error(Code::bad_layout, position_of(&Philox::counter), layout.error().message);
    return std::nullopt;
  }
  const auto tile = make_tile(u32, *layout, position_of(&Philox::counter), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

template <>
RuleResult result_types(const ViewGlobal& inst, const RuleContext& context) {
  constexpr auto shape_slot = position_of(&ViewGlobal::shape);
  const DType dtype = inst.dtype.value_or(context.type(inst.ptr).dtype);
  Shape known;
  for (const Expr& extent : inst.shape.extents) {
    if (!is_integer(extent.kind())) {
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
