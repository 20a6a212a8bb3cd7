#include "isa/inst/tensor_copy.h"

#include <fmt/format.h>

#include "isa/program/tile_move.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"
#include "isa/rules/tensor_map.h"

namespace tilevm::isa {
namespace {

constexpr const char* use_copies = "copy by `CopyAsync`, which needs no map";

bool has_tensor_maps(std::string_view mnemonic, std::string_view way, const RuleContext& context) {
  if (context.target().sm >= 90) return true;
  add_note(context.error(Code::not_supported,
                         fmt::format("`{}` needs sm_90 or later, which have tensor maps; the "
                                     "target is {}",
                                     mnemonic, to_string(context.target()))),
           std::string(way));
  return false;
}

/// The slots of a copy, for messages.
struct CopySlots {
  std::size_t view, tensor, offset, shared_offset;
};

bool check_types(const TensorCopy& copy, const GlobalType& view, const SharedType& tensor,
                 const CopySlots& slots, const RuleContext& context) {
  if (view.dtype != tensor.dtype) {
    context.error(Code::type_mismatch, slots.view,
                  fmt::format("{} is a view of {}, but {} holds {}; a copy does not convert",
                              context.name(copy.view), to_string(view.dtype),
                              context.name(copy.tensor), to_string(tensor.dtype)));
    return false;
  }
  const int bits = view.dtype.bits;
  if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return true;
  add_note(context.error(Code::bad_tensor_map, slots.view,
                         fmt::format("{} is a view of {}; a tensor map has elements of whole bytes",
                                     context.name(copy.view), to_string(view.dtype))),
           "view both tensors as u8, or copy by `CopyAsync`");
  return false;
}

/// Rank and strides, as far as they are constants; the launch checks the others.
bool check_view(const TensorCopy& copy, const GlobalType& view, const CopySlots& slots,
                const RuleContext& context) {
  const auto refuse = [&](const std::string& why) {
    add_note(context.error(
                 Code::bad_tensor_map, slots.view,
                 fmt::format("there is no tensor map of {}: {}", context.name(copy.view), why)),
             use_copies);
    return false;
  };
  if (view.rank() < 1 || view.rank() > max_map_rank) {
    return refuse(fmt::format("it has rank {}, and maps have rank 1 to 5", view.rank()));
  }
  const auto* strides = view.layout.strides();
  if (strides == nullptr) return refuse("its layout is not a list of strides");
  const auto order = map_order(view);
  if (!order) return refuse("neighbours of none of its dimensions are side by side");
  const std::int64_t bytes = view.dtype.bits / 8;
  std::vector<std::int64_t> extents, known;
  for (const std::size_t d : *order) {
    extents.push_back(view.extents[d].constant_int().value_or(1));
    if (d == order->back()) break;
    const auto stride = (*strides)[d].constant_int();
    const bool is_known = stride && *stride >= 0 && *stride <= max_map_stride;
    known.push_back(is_known ? *stride * bytes : stride ? -1 : 0);
  }
  if (const auto why = why_no_map(extents, known)) return refuse(*why);
  return true;
}

/// The place of the box: the parts of both tensors, and a begin that hardware can have.
bool check_place(const TensorCopy& copy, const GlobalType& view, const SharedType& tensor,
                 const CopySlots& slots, const RuleContext& context) {
  const auto rank = static_cast<int>(tile_shape(copy.offset, tensor).size());
  if (!check_offset(copy.offset, tensor.layout.rank(), rank, slots.shared_offset, context) ||
      !check_offset(copy.view_offset, view.rank(), rank, slots.offset, context)) {
    return false;
  }
  if (copy.offset) {
    for (const OffsetList::Entry& entry : copy.offset->entries) {
      if (!entry.tile || entry.value.constant_int() == std::int64_t{0}) continue;
      add_note(context.error(Code::offset_out_of_range, slots.shared_offset,
                             fmt::format("`{}:` begins a whole dimension of {}; a copy takes it "
                                         "from 0 on",
                                         to_string(entry.value), context.name(copy.tensor))),
               "write `0:`, or leave the colon out to fix an index");
      return false;
    }
  }
  if (!copy.view_offset) return true;
  const std::size_t inner = map_order(view)->back();
  const auto begin = copy.view_offset->entries[inner].value.constant_int();
  const std::int64_t bytes = view.dtype.bits / 8;
  if (!begin || *begin % (map_unit / bytes) == 0) return true;
  context.error(Code::bad_tensor_map, slots.offset,
                fmt::format("the box begins at element {} of dimension {}; a copy by a tensor map "
                            "begins at a multiple of 16 bytes, {} elements",
                            *begin, inner, map_unit / bytes));
  return false;
}

RuleResult copy_types(const Instruction& inst, const CopySlots& slots, const RuleContext& context) {
  const TensorCopy copy = *tensor_copy(inst);
  const GlobalType& view = context.type(GlobalOperand{copy.view});
  const SharedType& tensor = context.type(SharedOperand{copy.tensor});
  if (!has_tensor_maps(mnemonic(inst), copy.stores ? "store by `StoreGlobal`" : use_copies,
                       context) ||
      !check_types(copy, view, tensor, slots, context) || !check_view(copy, view, slots, context) ||
      !check_place(copy, view, tensor, slots, context)) {
    return std::nullopt;
  }
  NoTensorMap why;
  if (plan_boxes(copy, view, tensor, why)) return std::vector<Type>{};
  add_note(context.error(Code::bad_tensor_map, slots.tensor,
                         fmt::format("no tensor map {} {}: {}", copy.stores ? "reads" : "fills",
                                     context.name(copy.tensor), why.reason)),
           why.advice);
  return std::nullopt;
}

/// The blocks that get a box, if they are named: at least one, and all in the cluster.
bool check_multicast(const std::optional<ScalarOperand>& mask, const RuleContext& context) {
  if (!mask) return true;
  constexpr auto slot = position_of(&CopyAsyncTensorGlobalToShared::multicast);
  if (!has_cluster("`multicast=`", context)) return false;
  if (!is_integer(mask->value.kind())) {
    context.error(
        Code::scalar_type, slot,
        fmt::format("`multicast` is an integer, this is {}", to_string(mask->value.kind())));
    return false;
  }
  const auto value = mask->value.constant_int();
  const std::int64_t all = (std::int64_t{1} << context.kernel().cluster_blocks()) - 1;
  if (!value || (0 < *value && *value <= all)) return true;
  context.error(Code::index_out_of_range, slot,
                fmt::format("the mask {} names {}; bit r is for the block of rank r, and {} names "
                            "all {} blocks of the cluster",
                            *value, *value == 0 ? "no block" : "blocks that are not in the cluster",
                            all, context.kernel().cluster_blocks()));
  return false;
}

}  // namespace

template <>
RuleResult result_types(const CopyAsyncTensorGlobalToShared& inst, const RuleContext& context) {
  using Copy = CopyAsyncTensorGlobalToShared;
  if (inst.stage) {
    constexpr auto slot = position_of(&Copy::stage);
    if (!is_integer(inst.stage->value.kind())) {
      context.error(
          Code::scalar_type, slot,
          fmt::format("`stage` is an integer, this is {}", to_string(inst.stage->value.kind())));
      return std::nullopt;
    }
    const auto value = inst.stage->value.constant_int();
    const std::int64_t stages = context.type(inst.barrier).stages;
    if (value && (*value < 0 || *value >= stages)) {
      context.error(Code::index_out_of_range, slot,
                    fmt::format("{} has stages 0 to {}; this is stage {}",
                                context.name(inst.barrier.var), stages - 1, *value));
      return std::nullopt;
    }
  }
  constexpr auto fill = position_of(&Copy::fill_nan);
  const auto fills_nan = constant_flag(inst.fill_nan, "fill_nan", fill, context);
  if (!fills_nan || !check_multicast(inst.multicast, context)) return std::nullopt;
  const DType& dtype = context.type(inst.dst).dtype;
  if (*fills_nan && dtype != f16 && dtype != bf16 && dtype != f32) {
    context.error(
        Code::bad_tensor_map, fill,
        fmt::format("tensor maps fill f16, bf16 and f32 with NaN, not {}", to_string(dtype)));
    return std::nullopt;
  }
  return copy_types(inst,
                    {position_of(&Copy::src), position_of(&Copy::dst), position_of(&Copy::offset),
                     position_of(&Copy::shared_offset)},
                    context);
}

template <>
RuleResult result_types(const CopyAsyncTensorSharedToGlobal& inst, const RuleContext& context) {
  using Copy = CopyAsyncTensorSharedToGlobal;
  return copy_types(inst,
                    {position_of(&Copy::dst), position_of(&Copy::src), position_of(&Copy::offset),
                     position_of(&Copy::shared_offset)},
                    context);
}

template <>
RuleResult result_types(const CopyAsyncTensorCommitGroup&, const RuleContext& context) {
  if (!has_tensor_maps("CopyAsyncTensorCommitGroup", "store by `StoreGlobal`", context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const CopyAsyncTensorWaitGroup& inst, const RuleContext& context) {
  using Wait = CopyAsyncTensorWaitGroup;
  if (!has_tensor_maps("CopyAsyncTensorWaitGroup", "store by `StoreGlobal`", context) ||
      !check_pending(inst.pending, position_of(&Wait::pending), context) ||
      !constant_flag(inst.read, "read", position_of(&Wait::read), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

}  // namespace tilevm::isa
