#include "isa/inst/gather.h"

#include <utility>

#include <fmt/format.h>

#include "isa/layout/broadcast.h"
#include "isa/layout/layout_ops.h"
#include "isa/program/tile_move.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// What the rules need to know of a tensor in memory.
struct MemoryTensor {
  DType dtype;
  int rank = 0;
};

/// The positions of an instruction's slots.
struct IndexedSlots {
  std::size_t tensor, index, dim, offset;
};

/// Nothing after a report: a register tile has no addresses.
std::optional<MemoryTensor> memory_tensor(const TensorOperand& operand, std::string_view mnemonic,
                                          std::size_t slot, const RuleContext& context) {
  if (const auto* shared = std::get_if<SharedOperand>(&operand.value)) {
    const SharedType& type = context.type(*shared);
    return MemoryTensor{type.dtype, type.layout.rank()};
  }
  if (const auto* view = std::get_if<GlobalOperand>(&operand.value)) {
    const GlobalType& type = context.type(*view);
    return MemoryTensor{type.dtype, type.rank()};
  }
  const RegisterOperand tile = *std::get_if<RegisterOperand>(&operand.value);
  auto& diagnostic = context.error(
      Code::wrong_operand_kind, slot,
      fmt::format("{} is a register tile; registers have no addresses, so `{}` works on views of "
                  "global memory and on shared tensors",
                  context.name(tile.var), mnemonic));
  add_note(
      diagnostic,
      "store it to a shared tensor first; a small table that all threads hold is for `Lookup`");
  return std::nullopt;
}

VarId variable_of(const TensorOperand& operand) {
  return std::visit([](const auto& each) { return each.var; }, operand.value);
}

/// Every thread must hold the indices of its elements.
bool check_broadcast(RegisterOperand index, const RegisterLayout& tile, std::size_t slot,
                     const RuleContext& context) {
  const RegisterLayout& layout = context.type(index).layout;
  if (broadcasts_to(layout, tile)) return true;
  auto& diagnostic =
      context.error(Code::layout_mismatch, slot,
                    fmt::format("{} does not broadcast to the tile: a thread must hold the "
                                "indices of its elements",
                                context.name(index.var)));
  note_operand(diagnostic, index, context);
  add_note(diagnostic, fmt::format("the tile has the layout {}", to_string(tile)));
  if (broadcast_shape(layout.shape(), tile.shape()) == tile.shape()) {
    if (const auto wanted = reduce_to(tile, layout.shape())) {
      add_note(diagnostic, fmt::format("`ConvertLayout({}, layout={})` would do",
                                       context.variable(index.var).name, to_string(*wanted)));
    }
  }
  return false;
}

bool check_indexed(const RegisterOperand& index, const DimList& dim,
                   const std::optional<OffsetList>& offset, const MemoryTensor& tensor,
                   const RegisterLayout& tile, const IndexedSlots& slots,
                   const RuleContext& context) {
  return one_dimension(dim, tensor.rank, slots.dim, context).has_value() &&
         check_index_type(index, slots.index, context) &&
         check_indexed_offset(offset, tensor.rank, tile.rank(), slots.offset, context) &&
         check_broadcast(index, tile, slots.index, context);
}

/// Whether a GPU combines elements of a type with those in memory as one step.
bool combines_in_memory(ReduceOp op, const DType& type, const Target& target) {
  if (type == bf16 && target.sm < 90) return false;
  if (type == f16 || type == bf16 || type == f32 || type == f64) return op == ReduceOp::add;
  return type.is_integer() && type.bits >= 32;
}

bool check_combination(ReduceOp op, RegisterOperand src, const RuleContext& context) {
  const std::size_t slot = position_of(&Scatter::op);
  if (gives_index(op) || op == ReduceOp::mul) {
    add_note(context.error(Code::not_supported, slot,
                           fmt::format("`Scatter` combines no elements by `{}`", to_string(op))),
             "it has `add`, `max`, `min`, `bit_and`, `bit_or` and `bit_xor`");
    return false;
  }
  const DType& type = context.type(src).dtype;
  if (combines_in_memory(op, type, context.target())) return true;
  const bool bits = is_bit_by_bit(combination(op));
  auto& diagnostic = context.error(
      Code::type_mismatch, position_of(&Scatter::src),
      fmt::format("{} is {}; elements in memory are combined by `{}` as {}", context.name(src.var),
                  to_string(type), to_string(op),
                  op == ReduceOp::add ? "i32, u32, i64, u64, f16, f32, f64 or, from sm_90 on, bf16"
                                      : "i32, u32, i64 or u64"));
  if (type.is_float() && !bits && op != ReduceOp::add) {
    add_note(diagnostic,
             "the order of floats of one sign is that of their bits: `View(x, dtype=i32)` of f32 "
             "that are not negative has the same maximum");
  } else {
    add_note(diagnostic, fmt::format("convert it first, `Cast({}, {})`, with memory of that type",
                                     context.variable(src.var).name,
                                     type.is_float()        ? "f32"
                                     : type.is_signed_int() ? "i32"
                                                            : "u32"));
  }
  return false;
}

IndexedDim indexed_dim(RegisterOperand index, const DimList& dim) {
  return {index.var, dim.dims.front()};
}

}  // namespace

template <>
RuleResult result_types(const Gather& inst, const RuleContext& context) {
  const auto tensor = memory_tensor(inst.src, Gather::schema.description.mnemonic,
                                    position_of(&Gather::src), context);
  if (!tensor) return std::nullopt;
  RegisterLayout layout = context.type(inst.index).layout;
  if (context.expected != nullptr && broadcasts_to(layout, context.expected->layout)) {
    layout = context.expected->layout;
  }
  if (inst.layout) layout = *inst.layout;
  const IndexedSlots slots{position_of(&Gather::src), position_of(&Gather::index),
                           position_of(&Gather::dim), position_of(&Gather::offset)};
  if (!check_indexed(inst.index, inst.dim, inst.offset, *tensor, layout, slots, context)) {
    return std::nullopt;
  }
  const auto tile = make_tile(tensor->dtype, layout, position_of(&Gather::layout), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

template <>
RuleResult result_types(const Scatter& inst, const RuleContext& context) {
  const auto tensor = memory_tensor(inst.dst, Scatter::schema.description.mnemonic,
                                    position_of(&Scatter::dst), context);
  if (!tensor) return std::nullopt;
  const RegisterType& source = context.type(inst.src);
  if (source.dtype != tensor->dtype) {
    add_note(context.error(Code::type_mismatch, position_of(&Scatter::src),
                           fmt::format("{} holds {}, but {} holds {}", context.name(inst.src.var),
                                       to_string(source.dtype), context.name(variable_of(inst.dst)),
                                       to_string(tensor->dtype))),
             fmt::format("convert it first: `Cast({}, {})`", context.variable(inst.src.var).name,
                         to_string(tensor->dtype)));
    return std::nullopt;
  }
  const IndexedSlots slots{position_of(&Scatter::dst), position_of(&Scatter::index),
                           position_of(&Scatter::dim), position_of(&Scatter::offset)};
  if (!check_indexed(inst.index, inst.dim, inst.offset, *tensor, source.layout, slots, context)) {
    return std::nullopt;
  }
  if (inst.op && !check_combination(*inst.op, inst.src, context)) return std::nullopt;
  return std::vector<Type>{};
}

template <>
TileMove tile_move(const Gather& inst, const InstStmt& stmt) {
  return RegisterMove{stmt.results[0], variable_of(inst.src), inst.offset, false,
                      indexed_dim(inst.index, inst.dim)};
}

template <>
TileMove tile_move(const Scatter& inst, const InstStmt&) {
  RegisterMove move{inst.src.var, variable_of(inst.dst), inst.offset, true,
                    indexed_dim(inst.index, inst.dim)};
  move.combines = inst.op;
  return move;
}

}  // namespace tilevm::isa
