#include "isa/inst/rearrange.h"

#include <fmt/format.h>

#include "isa/layout/layout_ops.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

std::optional<std::int64_t> constant_of(const ScalarOperand& operand, std::string_view name,
                                        std::size_t slot, const RuleContext& context) {
  const auto value = operand.value.constant_int();
  if (!value) {
    context.error(
        Code::not_a_constant, slot,
        fmt::format("`{}` must be known before the run: registers have no addresses", name));
  }
  return value;
}

}  // namespace

template <>
RuleResult result_types(const Slice& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  const auto dim = one_dimension(inst.dim, source.layout.rank(), position_of(&Slice::dim), context);
  if (!dim) return std::nullopt;
  const auto begin = constant_of(inst.begin, "begin", position_of(&Slice::begin), context);
  const auto extent = constant_of(inst.extent, "extent", position_of(&Slice::extent), context);
  if (!begin || !extent) return std::nullopt;
  const auto layout = slice(source.layout, *dim, *extent);
  if (!layout) {
    note_operand(
        context.error(Code::bad_layout, position_of(&Slice::extent), layout.error().message),
        inst.src, context);
    return std::nullopt;
  }
  const std::int64_t all = source.shape()[static_cast<std::size_t>(*dim)];
  if (*begin < 0 || *begin >= all || *begin % *extent != 0) {
    context.error(
        Code::bad_shape, position_of(&Slice::begin),
        fmt::format("a part of {} elements begins at a multiple of {} below {}, not at {}", *extent,
                    *extent, all, *begin));
    return std::nullopt;
  }
  return std::vector<Type>{RegisterType{source.dtype, *layout}};
}

template <>
RuleResult result_types(const Concat& inst, const RuleContext& context) {
  const RegisterType &a = context.type(inst.a), &b = context.type(inst.b);
  if (a != b) {
    auto& diagnostic = context.error(
        a.dtype != b.dtype ? Code::type_mismatch : Code::layout_mismatch, position_of(&Concat::b),
        fmt::format("{} and {} differ; `Concat` takes tiles of one type and layout",
                    context.name(inst.a.var), context.name(inst.b.var)));
    note_operand(diagnostic, inst.a, context);
    note_operand(diagnostic, inst.b, context);
    return std::nullopt;
  }
  const auto dim = one_dimension(inst.dim, a.layout.rank(), position_of(&Concat::dim), context);
  if (!dim) return std::nullopt;
  Shape pair(a.shape().size(), 1);
  pair[static_cast<std::size_t>(*dim)] = 2;
  const auto factor = local(pair);
  const auto layout = factor ? compose(*factor, a.layout) : factor;
  if (!layout) {
    context.error(Code::bad_layout, position_of(&Concat::dim), layout.error().message);
    return std::nullopt;
  }
  const auto tile = make_tile(a.dtype, *layout, position_of(&Concat::dim), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

template <>
RuleResult result_types(const Lookup& inst, const RuleContext& context) {
  constexpr std::int64_t most_entries = 64;
  const RegisterType &table = context.type(inst.table), &index = context.type(inst.index);
  if (table.layout.rank() != 1 || !table.layout.thread_terms().empty() ||
      table.layout.size() > most_entries) {
    auto& diagnostic = context.error(
        Code::layout_mismatch, position_of(&Lookup::table),
        fmt::format("{} is not a table: it has one dimension of at most {} entries, all of which "
                    "every thread holds",
                    context.name(inst.table.var), most_entries));
    note_operand(diagnostic, inst.table, context);
    add_note(diagnostic,
             fmt::format("a table of 16 entries has the layout `replicated({}).local(16)`",
                         index.layout.num_threads()));
    return std::nullopt;
  }
  if (index.dtype.kind != TypeKind::unsigned_int) {
    add_note(context.error(Code::type_mismatch, position_of(&Lookup::index),
                           fmt::format("{} is {}; indices are unsigned integers",
                                       context.name(inst.index.var), to_string(index.dtype))),
             fmt::format("its bits as such are `View({}, dtype=u{})`",
                         context.variable(inst.index.var).name, int{index.dtype.bits}));
    return std::nullopt;
  }
  const auto tile = make_tile(table.dtype, index.layout, position_of(&Lookup::index), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

}  // namespace tilevm::isa
