#include "isa/inst/compute.h"

#include <string_view>

#include <fmt/format.h>

#include "isa/dot/dot_product.h"
#include "isa/layout/layout_ops.h"
#include "isa/layout/warp_exchange.h"
#include "isa/program/exchange.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// Whether a product of [.., m, k / density], [.., k, n] onto [.., m, n] has these shapes.
bool are_product_shapes(const Shape& a, const Shape& b, const Shape& c, std::int64_t density) {
  const auto batch = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  const auto extent = [](const Shape& shape, std::size_t from_end) {
    return shape[shape.size() - from_end];
  };
  return c.size() >= 2 && a.size() == c.size() && b.size() == c.size() && batch(a) == batch(c) &&
         batch(b) == batch(c) && extent(a, 1) * density == extent(b, 2) &&
         extent(a, 2) == extent(c, 2) && extent(b, 1) == extent(c, 1);
}

/// An error: the matrices of a product have not the shapes that it takes.
template <class Inst>
bool refuse_shapes(const Inst& inst, std::string_view taken, const RuleContext& context) {
  auto& diagnostic = context.error(
      Code::dot_shapes,
      fmt::format("`{}` of {} and {} onto {}; it takes {}", Inst::schema.description.mnemonic,
                  to_string(context.type(inst.a).shape()), to_string(context.type(inst.b).shape()),
                  to_string(context.type(inst.c).shape()), taken));
  for (const RegisterOperand& operand : {inst.a, inst.b, inst.c}) {
    note_operand(diagnostic, operand, context);
  }
  return false;
}

bool check_dot_shapes(const Dot& inst, const RuleContext& context) {
  const Shape &a = context.type(inst.a).shape(), &b = context.type(inst.b).shape(),
              &c = context.type(inst.c).shape();
  if (are_product_shapes(a, b, c, 1)) return true;
  return refuse_shapes(inst,
                       "a [m, k], b [k, n] and c [m, n], or batches of them: [.., m, k], "
                       "[.., k, n] and [.., m, n]",
                       context);
}

bool check_sparse_shapes(const DotSparse& inst, const RuleContext& context) {
  const Shape &a = context.type(inst.a).shape(), &b = context.type(inst.b).shape(),
              &c = context.type(inst.c).shape();
  const RegisterType& places = context.type(inst.places);
  if (!are_product_shapes(a, b, c, 2) || b[b.size() - 2] % 4 != 0) {
    return refuse_shapes(inst,
                         "the stored half of a, [m, k / 2], b [k, n] and c [m, n] with k a "
                         "multiple of 4, or batches of them",
                         context);
  }
  if (places.dtype == unsigned_int(2) && places.shape() == a) return true;
  auto& diagnostic = context.error(
      places.shape() == a ? Code::type_mismatch : Code::dot_shapes, position_of(&DotSparse::places),
      fmt::format("places are u2 in the shape of the stored elements, u2{}; {} is {}{}",
                  to_string(a), context.name(inst.places.var), to_string(places.dtype),
                  to_string(places.shape())));
  note_operand(diagnostic, inst.places, context);
  return false;
}

bool check_scaled_shapes(const DotScaled& inst, const RuleContext& context) {
  const Shape &a = context.type(inst.a).shape(), &b = context.type(inst.b).shape(),
              &c = context.type(inst.c).shape();
  if (are_product_shapes(a, b, c, 1)) return true;
  return refuse_shapes(inst, "a [m, k], b [k, n] and c [m, n], or batches of them", context);
}

/// Whether an operand holds the scales of a matrix along `dim`, counted from the end.
bool check_scales(const RegisterOperand& scales, const RegisterOperand& matrix, std::size_t slot,
                  std::size_t dim, const RuleContext& context) {
  const RegisterType& type = context.type(scales);
  const int shared = products_per_scale(type.dtype);
  const auto error = [&](Code code, const std::string& message) {
    auto& diagnostic = context.error(code, slot, message);
    note_operand(diagnostic, scales, context);
    note_operand(diagnostic, matrix, context);
    return false;
  };
  if (shared == 0) {
    return error(
        Code::type_mismatch,
        fmt::format("scales are f8e8m0, one for 32 elements, or f7e4m3u, one for 16; {} is "
                    "{}",
                    context.name(scales.var), to_string(type.dtype)));
  }
  Shape wanted = context.type(matrix).shape();
  std::int64_t& extent = wanted[wanted.size() - dim];
  if (extent % shared != 0) {
    return error(Code::dot_shapes,
                 fmt::format("{} elements share a scale of {}; k = {} is not a multiple", shared,
                             to_string(type.dtype), extent));
  }
  extent /= shared;
  if (type.shape() == wanted) return true;
  return error(Code::dot_shapes,
               fmt::format("{} elements share a scale of {}: the scales of {} are {}; {} is {}",
                           shared, to_string(type.dtype), to_string(context.type(matrix).shape()),
                           to_string(wanted), context.name(scales.var), to_string(type.shape())));
}

bool check_scaled(const DotScaled& inst, const RuleContext& context) {
  constexpr auto a_slot = position_of(&DotScaled::a_scales),
                 b_slot = position_of(&DotScaled::b_scales);
  if (!check_scaled_shapes(inst, context) ||
      !check_scales(inst.a_scales, inst.a, a_slot, 1, context) ||
      !check_scales(inst.b_scales, inst.b, b_slot, 2, context)) {
    return false;
  }
  const DType &a = context.type(inst.a_scales).dtype, &b = context.type(inst.b_scales).dtype;
  if (a == b) return true;
  auto& diagnostic =
      context.error(Code::type_mismatch, b_slot,
                    fmt::format("the scales of a are {}, those of b are {}; they have one type",
                                to_string(a), to_string(b)));
  note_operand(diagnostic, inst.a_scales, context);
  note_operand(diagnostic, inst.b_scales, context);
  return false;
}

/// The type of the addend; an error if no instruction computes the product.
template <ProductInstruction Inst>
RuleResult planned_result(const Inst& inst, const RuleContext& context) {
  const ProductOperands operands = product_operands(inst);
  const auto type_of = [&](VarId var) { return context.type(RegisterOperand{var}); };
  DotMismatch mismatch;
  if (plan_product(product_types(operands, type_of), context.target(), &mismatch)) {
    return std::vector<Type>{type_of(operands.addend)};
  }
  auto& diagnostic = context.error(Code::no_dot_instruction, mismatch.reason);
  for_each_slot<Inst>(
      [&](const auto& info, std::size_t) { note_operand(diagnostic, inst.*info.member, context); });
  for (const std::string& suggestion : mismatch.suggestions) add_note(diagnostic, suggestion);
  return std::nullopt;
}

}  // namespace

template <>
RuleResult result_types(const Cast& inst, const RuleContext& context) {
  const auto tile =
      make_tile(inst.dtype, context.type(inst.src).layout, position_of(&Cast::dtype), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

template <>
RuleResult result_types(const View& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  const RegisterType result{inst.dtype.value_or(source.dtype), inst.layout.value_or(source.layout)};
  constexpr auto layout_slot = position_of(&View::layout);
  if (result.layout.num_threads() != source.layout.num_threads()) {
    auto& diagnostic = context.error(
        Code::view_threads_differ, layout_slot,
        fmt::format("`View` changes the number of threads: {} has {}, the new layout {}",
                    context.name(inst.src.var), source.layout.num_threads(),
                    result.layout.num_threads()));
    note_operand(diagnostic, inst.src, context);
    return std::nullopt;
  }
  if (result.bits_per_thread() != source.bits_per_thread()) {
    auto& diagnostic = context.error(
        Code::view_bits_differ,
        fmt::format("`View` changes the bits per thread: {} x {} = {} bits, {} x {} = {} bits",
                    to_string(source.dtype), source.layout.num_locals(), source.bits_per_thread(),
                    to_string(result.dtype), result.layout.num_locals(), result.bits_per_thread()));
    note_operand(diagnostic, inst.src, context);
    return std::nullopt;
  }
  const auto tile = make_tile(result.dtype, result.layout, layout_slot, context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

template <>
RuleResult result_types(const ConvertLayout& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  constexpr auto slot = position_of(&ConvertLayout::layout);
  const auto error = [&](Code code, const std::string& message) {
    auto& diagnostic = context.error(code, slot, "`ConvertLayout` " + message);
    note_operand(diagnostic, inst.src, context);
    return &diagnostic;
  };
  if (inst.layout.shape() != source.shape()) {
    error(Code::shape_mismatch,
          fmt::format("changes the shape: {} has {}, the new layout {}", context.name(inst.src.var),
                      to_string(source.shape()), to_string(inst.layout.shape())));
    return std::nullopt;
  }
  if (inst.layout.num_threads() != source.layout.num_threads()) {
    error(Code::convert_crosses_threads,
          fmt::format("changes the number of threads: {} has {}, the new layout {}",
                      context.name(inst.src.var), source.layout.num_threads(),
                      inst.layout.num_threads()));
    return std::nullopt;
  }
  const auto tile = make_tile(source.dtype, inst.layout, slot, context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

/// Elements take whole bytes on their way between threads.
template <>
std::int64_t exchange_bytes(const ConvertLayout& inst, const InstStmt&, const Kernel& kernel) {
  const auto& source = *std::get_if<RegisterType>(&kernel.variable(inst.src.var).type);
  const int bits = source.dtype.bits;
  if (thread_local_equivalent(source.layout, inst.layout) ||
      plan_warp_exchange(source.layout, inst.layout, bits)) {
    return 0;
  }
  return source.layout.size() * (bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8);
}

template <>
RuleResult result_types(const Dot& inst, const RuleContext& context) {
  if (!check_dot_shapes(inst, context)) return std::nullopt;
  return planned_result(inst, context);
}

template <>
RuleResult result_types(const DotSparse& inst, const RuleContext& context) {
  if (!check_sparse_shapes(inst, context)) return std::nullopt;
  return planned_result(inst, context);
}

template <>
RuleResult result_types(const DotScaled& inst, const RuleContext& context) {
  if (!check_scaled(inst, context)) return std::nullopt;
  return planned_result(inst, context);
}

}  // namespace tilevm::isa
