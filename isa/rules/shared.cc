#include "isa/inst/shared.h"

#include <fmt/format.h>

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

/// Where the elements of a shared tensor lie, from the layout slot.
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

RuleResult result_types(const LoadShared& inst, const RuleContext& context) {
  std::optional<RegisterLayout> layout = inst.layout;
  if (!layout && context.expected != nullptr) layout = context.expected->layout;
  if (!layout) {
    add_note(context.error(Code::missing_operand, "`LoadShared` needs `layout`"),
             "the layout says which thread holds which element; only with `out=` may it be left "
             "out");
    return std::nullopt;
  }
  if (!check_shape_agrees(inst.shape, *layout, position_of(&LoadShared::shape), context)) {
    return std::nullopt;
  }
  const SharedType& source = context.type(inst.src);
  if (!check_offset(inst.offset, source.layout.rank(), layout->rank(),
                    position_of(&LoadShared::offset), context)) {
    return std::nullopt;
  }
  const auto tile = make_tile(source.dtype, *layout, position_of(&LoadShared::layout), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

RuleResult result_types(const StoreShared& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  const SharedType& destination = context.type(inst.dst);
  if (source.dtype != destination.dtype) {
    add_note(context.error(Code::type_mismatch, position_of(&StoreShared::src),
                           fmt::format("{} holds {}, but {} holds {}", context.name(inst.src.var),
                                       to_string(source.dtype), context.name(inst.dst.var),
                                       to_string(destination.dtype))),
             fmt::format("convert it first: `Cast({}, {})`", context.variable(inst.src.var).name,
                         to_string(destination.dtype)));
    return std::nullopt;
  }
  if (!check_offset(inst.offset, destination.layout.rank(), source.layout.rank(),
                    position_of(&StoreShared::offset), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

}  // namespace tilevm::isa
