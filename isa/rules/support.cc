#include "isa/rules/support.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilevm::isa {
namespace {

constexpr std::int64_t max_tensor_elements = std::int64_t{1} << 40;

/// Row-major strides: the last dimension is contiguous; column-major: the first.
std::vector<Expr> packed_strides(const std::vector<Expr>& extents, bool row_major) {
  std::vector<Expr> strides(extents.size(), Expr::constant(1));
  Expr step = Expr::convert(Expr::constant(1), ScalarKind::i64);
  for (std::size_t n = 0; n < extents.size(); ++n) {
    const std::size_t d = row_major ? extents.size() - 1 - n : n;
    strides[d] = step;
    step = Expr::binary(ScalarBinary::mul, step, extents[d]);
  }
  return strides;
}

}  // namespace

bool check_extents(const Shape& extents, std::size_t slot, const RuleContext& context) {
  if (extents.size() > static_cast<std::size_t>(RegisterLayout::max_rank)) {
    context.error(Code::bad_shape, slot,
                  fmt::format("{} dimensions; a tensor has at most {}", extents.size(),
                              RegisterLayout::max_rank));
    return false;
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 1) {
      context.error(
          Code::bad_shape, slot,
          fmt::format("extent {} in {}; extents must be positive", extent, to_string(extents)));
      return false;
    }
    if (extent > max_tensor_elements / count) {
      context.error(Code::bad_shape, slot,
                    fmt::format("{} has more than 2^40 elements", to_string(extents)));
      return false;
    }
    count *= extent;
  }
  return true;
}

std::optional<RegisterType> make_tile(const DType& dtype, const RegisterLayout& layout,
                                      std::size_t slot, const RuleContext& context) {
  RegisterType type{dtype, layout};
  if (layout.num_threads() > max_threads) {
    context.error(Code::too_many_threads, slot,
                  fmt::format("the layout spreads over {} threads; a block has at most {}",
                              layout.num_threads(), max_threads));
    return std::nullopt;
  }
  if (type.bits_per_thread() > max_tile_bits_per_thread) {
    context.error(
        Code::program_too_large, slot,
        fmt::format("{} elements of {} in each thread are {} bits; a tile has at most {} bits "
                    "per thread",
                    layout.num_locals(), to_string(dtype), type.bits_per_thread(),
                    max_tile_bits_per_thread));
    return std::nullopt;
  }
  return type;
}

void note_operand(Diagnostic& diagnostic, RegisterOperand operand, const RuleContext& context) {
  add_note(diagnostic,
           fmt::format("{} is {}", context.name(operand.var),
                       to_string(context.variable(operand.var).type)),
           context.variable(operand.var).span);
}

bool check_shape_agrees(const std::optional<TileShape>& shape, const RegisterLayout& layout,
                        std::size_t slot, const RuleContext& context) {
  if (!shape || shape->extents == layout.shape()) return true;
  context.error(Code::shape_mismatch, slot,
                fmt::format("shape {} differs from the layout's shape {}",
                            to_string(shape->extents), to_string(layout.shape())));
  return false;
}

bool check_offset(const std::optional<OffsetList>& offset, int tensor_rank, int tile_rank,
                  std::size_t slot, const RuleContext& context) {
  if (!offset) {
    if (tile_rank <= tensor_rank) return true;
    context.error(
        Code::rank_mismatch,
        fmt::format("a tile of rank {} does not fit a tensor of rank {}", tile_rank, tensor_rank));
    return false;
  }
  const auto entries = static_cast<int>(offset->entries.size());
  if (entries != tensor_rank) {
    context.error(Code::rank_mismatch, slot,
                  fmt::format("{} offset{} for a tensor of rank {}; give one per dimension",
                              entries, entries == 1 ? "" : "s", tensor_rank));
    return false;
  }
  const auto colons = std::count_if(offset->entries.begin(), offset->entries.end(),
                                    [](const OffsetList::Entry& entry) { return entry.tile; });
  if (colons != tile_rank) {
    add_note(context.error(Code::rank_mismatch, slot,
                           fmt::format("{} offset{} with a colon for a tile of rank {}", colons,
                                       colons == 1 ? "" : "s", tile_rank)),
             "an entry with a colon (`e:`) starts the tile along that dimension; one without fixes "
             "an index");
    return false;
  }
  for (const OffsetList::Entry& entry : offset->entries) {
    if (is_integer(entry.value.kind())) continue;
    context.error(Code::scalar_type, slot,
                  fmt::format("offset `{}` is {}; offsets are integers", to_string(entry.value),
                              to_string(entry.value.kind())));
    return false;
  }
  return true;
}

std::optional<int> one_dimension(const DimList& list, int rank, std::size_t slot,
                                 const RuleContext& context) {
  if (list.dims.size() != 1) {
    context.error(Code::bad_shape, slot, "`dim` is one dimension");
    return std::nullopt;
  }
  if (const int dim = list.dims.front(); dim >= 0 && dim < rank) return dim;
  context.error(
      Code::bad_shape, slot,
      fmt::format("dimension {} does not exist; the tile has rank {}", list.dims.front(), rank));
  return std::nullopt;
}

bool check_index_type(RegisterOperand index, std::size_t slot, const RuleContext& context) {
  const DType& dtype = context.type(index).dtype;
  if (dtype.kind == TypeKind::unsigned_int) return true;
  if (dtype.is_signed_int() && dtype.bits >= 32) return true;
  add_note(context.error(Code::type_mismatch, slot,
                         fmt::format("{} is {}; indices are unsigned integers, `i32` or `i64`",
                                     context.name(index.var), to_string(dtype))),
           fmt::format("convert it first: `Cast({}, i32)`", context.variable(index.var).name));
  return false;
}

bool check_indexed_offset(const std::optional<OffsetList>& offset, int tensor_rank, int tile_rank,
                          std::size_t slot, const RuleContext& context) {
  if (tensor_rank != 1) return check_offset(offset, tensor_rank, tile_rank, slot, context);
  if (!offset) return true;
  const auto colons = offset->entries.size() == 1 && offset->entries[0].tile ? 1 : 0;
  return check_offset(offset, 1, colons, slot, context);
}

std::optional<GlobalLayout> view_layout(const std::optional<ViewLayout>& layout,
                                        const std::vector<Expr>& extents, std::size_t slot,
                                        const RuleContext& context) {
  const ViewLayout::Form form = layout ? layout->form : ViewLayout::Form::row_major;
  switch (form) {
    case ViewLayout::Form::row_major:
    case ViewLayout::Form::column_major:
      return GlobalLayout{packed_strides(extents, form == ViewLayout::Form::row_major)};
    case ViewLayout::Form::strides:
      if (layout->strides.size() != extents.size()) {
        context.error(Code::rank_mismatch, slot,
                      fmt::format("{} strides for a tensor of rank {}; give one per dimension",
                                  layout->strides.size(), extents.size()));
        return std::nullopt;
      }
      return GlobalLayout{layout->strides};
    case ViewLayout::Form::memory:
      break;
  }
  Shape shape;
  for (const Expr& extent : extents) shape.push_back(extent.constant_int().value_or(-1));
  if (shape != layout->memory->shape()) {
    context.error(Code::shape_mismatch, slot,
                  fmt::format("the layout has shape {}, the view {}",
                              to_string(layout->memory->shape()), to_string(shape)));
    return std::nullopt;
  }
  return GlobalLayout{*layout->memory};
}

std::optional<bool> constant_flag(const std::optional<ScalarOperand>& flag, std::string_view name,
                                  std::size_t slot, const RuleContext& context) {
  if (!flag) return false;
  const auto value = flag->value.constant_value();
  if (value && value->kind == ScalarKind::boolean) return value->as_bool();
  context.error(Code::not_a_constant, slot,
                fmt::format("`{}` is `true` or `false`, known before the run", name));
  return std::nullopt;
}

bool check_pending(const ScalarOperand& pending, std::size_t slot, const RuleContext& context) {
  constexpr std::int64_t max_pending = 1 << 20;
  const auto groups = pending.value.constant_int();
  if (!groups) {
    context.error(Code::not_a_constant, slot,
                  fmt::format("`{}` is not a constant; how many groups may stay in flight is known "
                              "before the run",
                              to_string(pending.value)));
    return false;
  }
  if (*groups >= 0 && *groups <= max_pending) return true;
  context.error(Code::constant_overflow, slot,
                fmt::format("{} groups may stay in flight; the number must lie between 0 and {}",
                            *groups, max_pending));
  return false;
}

bool has_cluster(std::string_view what, const RuleContext& context) {
  if (context.target().sm < 90) {
    add_note(context.error(Code::not_supported,
                           fmt::format("{} needs sm_90 or later, which have clusters; the target "
                                       "is {}",
                                       what, to_string(context.target()))),
             "let each block copy for itself and arrive at its own barriers");
    return false;
  }
  if (!context.kernel().cluster.empty()) return true;
  add_note(context.error(Code::bad_group,
                         fmt::format("{} is of a cluster, and the blocks of this kernel are in "
                                     "none",
                                     what)),
           "write `@cluster(2)` above the kernel: two blocks along x are a cluster",
           context.kernel().span);
  return false;
}

bool check_block_rank(const std::optional<ScalarOperand>& block, std::size_t slot,
                      const RuleContext& context) {
  if (!block) return true;
  if (!has_cluster("`block=`", context)) return false;
  if (!is_integer(block->value.kind())) {
    context.error(Code::scalar_type, slot,
                  fmt::format("`block` is an integer, this is {}", to_string(block->value.kind())));
    return false;
  }
  const auto rank = block->value.constant_int();
  const std::int64_t blocks = context.kernel().cluster_blocks();
  if (!rank || (0 <= *rank && *rank < blocks)) return true;
  context.error(Code::index_out_of_range, slot,
                fmt::format("a cluster of {} blocks has ranks 0 to {}; this is rank {}", blocks,
                            blocks - 1, *rank));
  return false;
}

}  // namespace tilevm::isa
