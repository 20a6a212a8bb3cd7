#include "isa/inst/reduce.h"

#include <algorithm>

#include <fmt/format.h>

#include "isa/layout/layout_ops.h"
#include "isa/layout/reduction.h"
#include "isa/layout/scan_plan.h"
#include "isa/program/exchange.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// Whether the dimensions exist, each at most once; reports otherwise.
bool check_dims(const DimList& list, int rank, std::size_t slot, const RuleContext& context) {
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  for (const int dim : list.dims) {
    if (dim < 0 || dim >= rank) {
      context.error(Code::bad_shape, slot,
                    fmt::format("dimension {} does not exist; the tile has dimensions 0 to {}", dim,
                                rank - 1));
      return false;
    }
    if (seen[static_cast<std::size_t>(dim)]) {
      context.error(Code::bad_shape, slot, fmt::format("dimension {} stands twice", dim));
      return false;
    }
    seen[static_cast<std::size_t>(dim)] = true;
  }
  return true;
}

template <class Inst>
bool check_type(const Inst& inst, const RuleContext& context) {
  const DType& type = context.type(inst.src).dtype;
  if (is_defined(combination(inst.op), type)) return true;
  const bool on_bits = is_bitwise(combination(inst.op));
  add_note(context.error(
               Code::type_mismatch, position_of(&Inst::op),
               fmt::format("{} is {}; `{}` is {}", context.name(inst.src.var), to_string(type),
                           to_string(inst.op),
                           on_bits ? "defined on integers" : "not defined on bipolar integers")),
           on_bits ? fmt::format("its bits as integers are `View({}, dtype=u{})`",
                                 context.variable(inst.src.var).name, int{type.bits})
                   : fmt::format("convert it first, for example `Cast({}, i32)`",
                                 context.variable(inst.src.var).name));
  return false;
}

}  // namespace

template <>
RuleResult result_types(const Reduce& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  if (!check_type(inst, context)) return std::nullopt;
  if (!check_dims(inst.dims, source.layout.rank(), position_of(&Reduce::dims), context)) {
    return std::nullopt;
  }
  const auto keeps =
      constant_flag(inst.keep_dims, "keep_dims", position_of(&Reduce::keep_dims), context);
  if (!keeps) return std::nullopt;
  const auto layout = reduce(source.layout, inst.dims.dims, *keeps);
  if (!layout) {
    context.error(Code::bad_layout, position_of(&Reduce::dims), layout.error().message);
    return std::nullopt;
  }
  std::vector<Type> types{RegisterType{source.dtype, *layout}};
  if (!gives_index(inst.op)) return types;
  const auto numbers = make_tile(i32, *layout, position_of(&Reduce::src), context);
  if (!numbers) return std::nullopt;
  types.emplace_back(*numbers);
  return types;
}

template <>
RuleResult result_types(const Scan& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  if (gives_index(inst.op)) {
    context.error(Code::wrong_operand_kind, position_of(&Scan::op),
                  fmt::format("`Scan` has no `{}`: it says nothing of where elements are",
                              to_string(inst.op)));
    return std::nullopt;
  }
  if (!check_type(inst, context) ||
      !one_dimension(inst.dim, source.layout.rank(), position_of(&Scan::dim), context) ||
      !constant_flag(inst.exclusive, "exclusive", position_of(&Scan::exclusive), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{source};
}

template <>
std::int64_t exchange_bytes(const Scan& inst, const InstStmt&, const Kernel& kernel) {
  const auto& source = *std::get_if<RegisterType>(&kernel.variable(inst.src.var).type);
  return plan_scan(source.layout, inst.dim.dims.front()).exchanged_values() *
         (accumulator(inst.op, source.dtype).bits > 32 ? 8 : 4);
}

/// Values take whole words, and numbers of elements one.
template <>
std::int64_t exchange_bytes(const Reduce& inst, const InstStmt& stmt, const Kernel& kernel) {
  const auto& source = *std::get_if<RegisterType>(&kernel.variable(inst.src.var).type);
  const auto& result = *std::get_if<RegisterType>(&kernel.variable(stmt.results[0]).type);
  const std::int64_t value = accumulator(inst.op, source.dtype).bits > 32 ? 8 : 4;
  return plan_reduction(source.layout, inst.dims.dims, result.layout).exchanged_values() *
         (value + (gives_index(inst.op) ? 4 : 0));
}

}  // namespace tilevm::isa
