// Instructions that move elements to and from places that are data.
#include <algorithm>
#include <bit>

#include "isa/base/check.h"
#include "isa/layout/layout_ops.h"
#include "vm/fuzz/random_layout.h"
#include "vm/fuzz/scenarios.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;
using isa::RegisterLayout;
using isa::Shape;

/// A layout that broadcasts to another: some dimensions are 1, leading ones may be missing.
RegisterLayout index_layout(Draw& draw, const RegisterLayout& tile) {
  Shape shape = tile.shape();
  if (draw.chance(40)) return tile;
  for (std::int64_t& extent : shape) {
    if (draw.chance(50)) extent = 1;
  }
  while (shape.size() > 1 && shape.front() == 1 && draw.chance(40)) shape.erase(shape.begin());
  const auto reduced = isa::reduce_to(tile, shape);
  TILEVM_CHECK(reduced.ok(), "a shape that broadcasts");
  return shape == tile.shape() ? tile : with_other_places(draw, *reduced);
}

Tile combined(KernelBuilder& builder, const isa::Instruction& inst, const isa::RegisterType& type) {
  const isa::VarId var = builder.add(inst);
  if (var.valid()) builder.add_tile(var);
  return {var, type};
}

Tile constant_like(KernelBuilder& builder, const Tile& tile, std::int64_t value) {
  return builder.constant(tile.type.dtype, tile.type.layout, Expr::constant(value));
}

/// Indices of 0 to 2^bits - 1, of any type that may index.
Tile indices_up_to(KernelBuilder& builder, int bits, const RegisterLayout& layout) {
  Draw& draw = builder.draw();
  if (bits > 0 && draw.chance(40)) return builder.tile(isa::unsigned_int(bits), layout);
  static const std::vector<isa::DType> types = {isa::u8,  isa::u16, isa::u32,
                                                isa::u64, isa::i32, isa::i64};
  const Tile any = builder.tile(draw.pick(types), layout);
  if (!any.var.valid()) return any;
  const Tile mask = constant_like(builder, any, (std::int64_t{1} << bits) - 1);
  return combined(builder, isa::And{{any.var}, {mask.var}}, any.type);
}

/// Adds a Gather; the layout is left out where it follows.
void add_gather(KernelBuilder& builder, isa::TensorOperand from, const Tile& index, int dim,
                const std::optional<isa::OffsetList>& offset, const RegisterLayout& layout) {
  if (!index.var.valid()) return;
  isa::Gather inst{std::move(from), {index.var}, {{dim}}, offset, layout};
  if (index.type.layout == layout && builder.draw().chance(50)) inst.layout.reset();
  builder.compute(inst);
}

void gather_from_input(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const isa::DType dtype = builder.some_type();
  const RegisterLayout layout = builder.some_layout();
  if (draw.chance(30)) {  // of rank 1, by an index of any shape
    const std::int64_t extent = draw.between(1, 40);
    const InputView view = builder.input_view(dtype, {extent});
    if (!view.var.valid() || view.extents.size() != 1) return;
    std::optional<isa::OffsetList> offset;
    if (draw.chance(50))
      offset = builder.edge_offset(view.extents, draw.chance(50) ? Shape{} : Shape{1});
    const Tile index = make_index(builder, view.extents[0], layout);
    return add_gather(builder, {isa::GlobalOperand{view.var}}, index, 0, offset, layout);
  }
  const InputView view = builder.input_view(dtype, layout.shape());
  if (!view.var.valid() || view.extents.size() == 1) return;
  const auto dim = static_cast<int>(draw.below(static_cast<std::int64_t>(view.extents.size())));
  const Tile index =
      make_index(builder, view.extents[static_cast<std::size_t>(dim)], index_layout(draw, layout));
  add_gather(builder, {isa::GlobalOperand{view.var}}, index, dim,
             builder.edge_offset(view.extents, layout.shape()), layout);
}

/// Memory of the block's own of this many dimensions or more, whose elements have values.
OwnMemory* own_memory(KernelBuilder& builder) {
  std::vector<OwnMemory*> found;
  for (OwnMemory& memory : builder.memories()) {
    if (memory.defined) found.push_back(&memory);
  }
  if (!found.empty() && builder.draw().chance(80)) return builder.draw().pick(found);
  return make_memory(builder, builder.draw().chance(70));
}

/// A part of a tensor, and where it begins: inside, along `dim` with room for `room` elements.
struct TilePart {
  Shape shape;
  isa::OffsetList offset;
};
TilePart part_inside(KernelBuilder& builder, const OwnMemory& memory, std::size_t dim,
                     std::int64_t room) {
  Draw& draw = builder.draw();
  TilePart part{memory.shape, {}};
  if (!memory.shared) part.offset.entries = builder.own_part();
  for (std::size_t d = 0; d < part.shape.size(); ++d) {
    if (d != dim && draw.chance(30)) part.shape[d] = draw.between(1, part.shape[d]);
    const std::int64_t needed = d == dim ? room : part.shape[d];
    part.offset.entries.push_back({builder.within(0, memory.shape[d] - needed), true});
  }
  return part;
}

/// The offset of a part; often none where the tile begins with the tensor.
std::optional<isa::OffsetList> offset_of(const TilePart& part, Draw& draw) {
  const bool begins = std::ranges::all_of(part.offset.entries, [](const auto& entry) {
    return entry.value.constant_int() == std::optional<std::int64_t>(0);
  });
  if (begins && draw.chance(60)) return std::nullopt;
  return part.offset;
}

int dim_in(const KernelBuilder& builder, const OwnMemory& memory, std::size_t dim) {
  return static_cast<int>(dim + (memory.shared ? 0 : builder.grid().size()));
}

isa::TensorOperand tensor_of(const OwnMemory& memory) {
  if (memory.shared) return {isa::SharedOperand{memory.var}};
  return {isa::GlobalOperand{memory.var}};
}

bool gather_from_own(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  OwnMemory* memory = own_memory(builder);
  if (memory == nullptr || !memory->defined) return false;
  const auto dim =
      static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(memory->shape.size())));
  const auto bits =
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(memory->shape[dim])) - 1);
  const TilePart part = part_inside(builder, *memory, dim, std::int64_t{1} << bits);
  const RegisterLayout layout = random_layout(draw, builder.threads(), part.shape);
  const Tile index = indices_up_to(builder, bits, index_layout(draw, layout));
  if (!index.var.valid()) return false;
  builder.before_read(*memory);
  add_gather(builder, tensor_of(*memory), index, dim_in(builder, *memory, dim),
             offset_of(part, draw), layout);
  return true;
}

/// Different numbers from 0 to the extent - 1 along a dimension: ascending, or descending.
Tile different_indices(KernelBuilder& builder, const RegisterLayout& layout, int dim) {
  Draw& draw = builder.draw();
  static const std::vector<isa::DType> types = {isa::u8, isa::u16, isa::u32, isa::i32, isa::i64};
  const isa::DType dtype = draw.pick(types);
  const Tile ascending = combined(builder, isa::Iota{dtype, layout, isa::DimList{{dim}}, {}},
                                  isa::RegisterType{dtype, layout});
  if (!ascending.var.valid() || draw.chance(50)) return ascending;
  const Tile last =
      constant_like(builder, ascending, layout.shape()[static_cast<std::size_t>(dim)] - 1);
  return combined(builder, isa::Sub{{last.var}, {ascending.var}}, ascending.type);
}

}  // namespace

Tile make_index(KernelBuilder& builder, std::int64_t extent, const RegisterLayout& layout) {
  Draw& draw = builder.draw();
  const int bits = std::bit_width(static_cast<std::uint64_t>(extent)) + (draw.chance(30) ? 1 : 0);
  Tile index = indices_up_to(builder, std::min(bits, 7), layout);
  if (!index.var.valid() || !index.type.dtype.is_signed_int() || draw.chance(50)) return index;
  const Tile less = constant_like(builder, index, draw.between(1, 3));
  return combined(builder, isa::Sub{{index.var}, {less.var}}, index.type);
}

void make_gather(KernelBuilder& builder) {
  if (builder.draw().chance(45) && gather_from_own(builder)) return;
  gather_from_input(builder);
}

namespace {

/// An operation by which elements of a type are combined with those of memory, and whose result
/// does not depend on their order.
std::optional<isa::ReduceOp> some_combination(Draw& draw, const isa::DType& type) {
  using isa::ReduceOp;
  static const std::vector<ReduceOp> all = {ReduceOp::add,     ReduceOp::max,    ReduceOp::min,
                                            ReduceOp::bit_and, ReduceOp::bit_or, ReduceOp::bit_xor};
  if (!type.is_integer() || type.bits < 32) return std::nullopt;
  return draw.pick(all);
}

/// Memory of a type that atomic instructions know, whose elements have values.
OwnMemory* combining_memory(KernelBuilder& builder) {
  std::vector<OwnMemory*> found;
  for (OwnMemory& memory : builder.memories()) {
    if (memory.defined && memory.dtype.is_integer() && memory.dtype.bits >= 32) {
      found.push_back(&memory);
    }
  }
  Draw& draw = builder.draw();
  if (!found.empty()) return draw.pick(found);
  static const std::vector<isa::DType> types = {isa::i32, isa::u32, isa::i64, isa::u64};
  const bool shared = draw.chance(70);
  return make_memory(builder, shared, draw.pick(types));
}

/// Elements combined with memory, any number of them in one place.
bool scatter_combining(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  OwnMemory* memory = combining_memory(builder);
  if (memory == nullptr || !memory->defined) return false;
  const auto op = some_combination(draw, memory->dtype);
  if (!op) return false;
  const auto dim =
      static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(memory->shape.size())));
  const auto bits =
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(memory->shape[dim])) - 1);
  TilePart part = part_inside(builder, *memory, dim, std::int64_t{1} << bits);
  part.shape[dim] = draw.between(1, 2 * memory->shape[dim]);
  const RegisterLayout layout = random_layout(draw, builder.threads(), part.shape);
  const Tile tile = builder.tile(memory->dtype, layout);
  const Tile index = indices_up_to(builder, bits, index_layout(draw, layout));
  if (!tile.var.valid() || !index.var.valid()) return false;
  builder.before_write(*memory);
  const isa::Scatter inst{{tile.var},
                          tensor_of(*memory),
                          {index.var},
                          {{dim_in(builder, *memory, dim)}},
                          offset_of(part, draw),
                          op};
  builder.add(inst);
  if (draw.chance(40)) builder.add(inst);  // without a barrier between the two
  return true;
}

}  // namespace

void make_scatter(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  if (draw.chance(45) && scatter_combining(builder)) return;
  OwnMemory* memory = own_memory(builder);
  if (memory == nullptr || !memory->defined) return;
  const auto dim =
      static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(memory->shape.size())));
  const std::int64_t count = draw.between(1, memory->shape[dim]);
  TilePart part = part_inside(builder, *memory, dim, count);
  part.shape[dim] = count;
  const RegisterLayout layout = random_layout(draw, builder.threads(), part.shape);
  Shape kept(part.shape.size(), 1);
  kept[dim] = count;
  const auto along = isa::reduce_to(layout, kept);
  TILEVM_CHECK(along.ok(), "a shape that broadcasts");
  const Tile tile = builder.tile(memory->dtype, layout);
  const Tile index = different_indices(builder, *along, static_cast<int>(dim));
  if (!tile.var.valid() || !index.var.valid()) return;
  builder.before_write(*memory);
  builder.add(isa::Scatter{{tile.var},
                           tensor_of(*memory),
                           {index.var},
                           {{dim_in(builder, *memory, dim)}},
                           offset_of(part, draw)});
}

}  // namespace tilevm::vm::fuzz
