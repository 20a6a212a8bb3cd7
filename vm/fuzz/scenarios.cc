#include "vm/fuzz/scenarios.h"

#include <algorithm>

#include "vm/fuzz/random_layout.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;
using isa::ScalarBinary;
using isa::Shape;
using isa::VarId;

constexpr std::size_t most_memories = 4;
constexpr std::int64_t most_part_elements = 128;

/// The offset of a tile in the block's part of a tensor.
isa::OffsetList offset_in(KernelBuilder& builder, const OwnMemory& memory,
                          const isa::OffsetList& inner) {
  if (memory.shared) return inner;
  isa::OffsetList offset{builder.own_part()};
  offset.entries.insert(offset.entries.end(), inner.entries.begin(), inner.entries.end());
  return offset;
}

isa::OffsetList zero_offset(std::size_t rank) {
  isa::OffsetList list;
  for (std::size_t d = 0; d < rank; ++d) list.entries.push_back({Expr::constant(0), true});
  return list;
}

/// An offset of zeros, which may be left out.
std::optional<isa::OffsetList> zeros_or_none(Draw& draw, std::size_t rank) {
  return draw.chance(40) ? std::nullopt : std::optional(zero_offset(rank));
}

/// `inner` begins at zero where it is left out.
void store_tile(KernelBuilder& builder, const Tile& tile, OwnMemory& memory,
                const std::optional<isa::OffsetList>& inner) {
  builder.before_write(memory);
  if (memory.shared) {
    builder.add(isa::StoreShared{{tile.var}, {memory.var}, inner});
    return;
  }
  const isa::OffsetList zero = zero_offset(tile.type.shape().size());
  const isa::OffsetList offset = offset_in(builder, memory, inner.value_or(zero));
  builder.add(isa::StoreGlobal{{tile.var}, {memory.var}, offset});
}

OwnMemory* find_memory(KernelBuilder& builder, bool shared) {
  std::vector<OwnMemory*> found;
  for (OwnMemory& memory : builder.memories()) {
    if (memory.shared == shared && memory.defined) found.push_back(&memory);
  }
  return found.empty() ? nullptr : builder.draw().pick(found);
}

OwnMemory* some_memory(KernelBuilder& builder, bool shared) {
  OwnMemory* memory = builder.draw().chance(75) ? find_memory(builder, shared) : nullptr;
  if (memory != nullptr) return memory;
  memory = make_memory(builder, shared);
  return memory != nullptr ? memory : find_memory(builder, shared);
}

/// Extents of a part of a tensor, all of it now and then.
Shape part_of(Draw& draw, const Shape& shape) {
  Shape part = shape;
  for (std::int64_t& extent : part) {
    if (draw.chance(35)) extent = draw.between(1, extent);
  }
  if (part.size() > 1 && draw.chance(20)) part.erase(part.begin());
  return part;
}

/// A type whose elements can be added.
isa::DType addable_type(KernelBuilder& builder) {
  isa::DType dtype = builder.some_type();
  while (!isa::is_defined(isa::BinaryOp::add, dtype)) dtype = builder.some_type();
  return dtype;
}

isa::ScalarOperand integer(std::int64_t value) { return {Expr::constant(value)}; }

/// A new counter, zero when the launch begins.
VarId make_semaphore(KernelBuilder& builder, isa::DType dtype) {
  return builder.add_first(isa::AllocateGlobal{dtype, {{2}}, {}, integer(0)});
}

isa::OffsetList element(std::int64_t index) {
  return isa::OffsetList{{{Expr::constant(index), false}}};
}
/// Either element of a semaphore; the first needs no offset.
std::optional<isa::OffsetList> some_element(Draw& draw) {
  return draw.chance(40) ? std::nullopt : std::optional(element(draw.below(2)));
}

Expr of_kind(const Expr& value, const isa::DType& dtype) {
  return Expr::convert(value, dtype == isa::u32 ? isa::ScalarKind::u32 : isa::ScalarKind::i32);
}

}  // namespace

OwnMemory* make_memory(KernelBuilder& builder, bool shared, std::optional<isa::DType> dtype) {
  if (builder.memories().size() >= most_memories) return nullptr;
  Draw& draw = builder.draw();
  OwnMemory memory;
  memory.shared = shared;
  memory.dtype = dtype.value_or(builder.some_type());
  const int rank = draw.chance(70) ? 2 : draw.chance(60) ? 1 : 3;
  memory.shape = random_shape(draw, rank, most_part_elements);
  Shape whole = memory.shape;
  if (!shared) whole.insert(whole.begin(), builder.grid().begin(), builder.grid().end());
  const auto [layout, elements] = builder.written_layout(whole);
  std::optional<isa::ScalarOperand> zeros;
  if (shared) {
    memory.var = builder.add_first(isa::AllocateShared{memory.dtype, {whole}, layout});
  } else {
    if (draw.chance(30)) zeros = integer(0);
    memory.var = builder.add_first(isa::AllocateGlobal{memory.dtype, {whole}, layout, zeros});
  }
  memory.defined = zeros.has_value();
  if (!memory.defined || draw.chance(50)) {
    const Tile tile =
        builder.tile(memory.dtype, random_layout(draw, builder.threads(), memory.shape));
    if (!memory.var.valid() || !tile.var.valid()) return nullptr;
    store_tile(builder, tile, memory, zeros_or_none(draw, memory.shape.size()));
    memory.defined = true;
  }
  builder.memories().push_back(memory);
  return &builder.memories().back();
}

namespace {

/// A whole shared tensor in the place of a tile that exists, whose layout the load takes.
void load_over(KernelBuilder& builder, const OwnMemory& memory) {
  const Tile tile =
      builder.tile(memory.dtype, random_layout(builder.draw(), builder.threads(), memory.shape));
  if (tile.var.valid()) builder.add(isa::LoadShared{{memory.var}, {}, {}, {}}, tile.var);
}

}  // namespace

void load_part(KernelBuilder& builder, bool shared) {
  OwnMemory* memory = some_memory(builder, shared);
  if (memory == nullptr) return;
  Draw& draw = builder.draw();
  const Shape part = part_of(draw, memory->shape);
  const isa::RegisterLayout layout = random_layout(draw, builder.threads(), part);
  builder.before_read(*memory);
  std::optional<isa::TileShape> shape;
  if (draw.chance(10)) shape = isa::TileShape{part};
  if (shared) {
    if (draw.chance(15)) return load_over(builder, *memory);
    std::optional<isa::OffsetList> offset = builder.inner_offset(memory->shape, part);
    if (draw.chance(20)) offset.reset();  // at zero
    builder.add_tile(builder.add(isa::LoadShared{{memory->var}, layout, offset, shape}));
    return;
  }
  const isa::OffsetList inner = builder.edge_offset(memory->shape, part);
  const isa::OffsetList offset = offset_in(builder, *memory, inner);
  builder.add_tile(builder.add(isa::LoadGlobal{{memory->var}, layout, offset, shape}));
}

void store_part(KernelBuilder& builder, bool shared) {
  OwnMemory* memory = some_memory(builder, shared);
  if (memory == nullptr) return;
  const OwnMemory chosen = *memory;
  Draw& draw = builder.draw();
  const Shape part = part_of(draw, chosen.shape);
  const Tile tile = builder.tile(chosen.dtype, random_layout(draw, builder.threads(), part));
  const isa::OffsetList inner =
      shared ? builder.inner_offset(chosen.shape, part) : builder.edge_offset(chosen.shape, part);
  store_tile(builder, tile, *memory, inner);
}

// --- Asynchronous copies -------------------------------------------------------------------------

namespace {

/// A shared tensor and a view from which it is filled.
struct CopyPair {
  OwnMemory memory;
  InputView view;
};

CopyPair make_pair(KernelBuilder& builder, std::int64_t stages) {
  Draw& draw = builder.draw();
  CopyPair pair;
  isa::DType dtype = stages > 0 ? addable_type(builder) : builder.some_type();
  const Shape tile = random_shape(draw, draw.chance(80) ? 2 : 1, most_part_elements);
  Shape whole = tile;
  if (stages > 0) whole.insert(whole.begin(), stages);
  auto [layout, elements] = builder.written_layout(whole);
  if (stages > 0 && !dtype.is_byte_sized()) {
    // No two stages may share a byte.
    layout.reset();
    if (isa::element_count(tile) * dtype.bits % 8 != 0) dtype = isa::i8;
  }
  const VarId var = builder.add_first(isa::AllocateShared{dtype, {whole}, layout});
  pair.memory = {var, dtype, whole, true, false, false, false};
  pair.view = builder.input_view(dtype, tile);
  return pair;
}

/// Lets data say where the elements of a copy are along a dimension of the view.
void add_index(KernelBuilder& builder, const CopyPair& pair, isa::CopyAsync& copy) {
  Draw& draw = builder.draw();
  const Shape& extents = pair.view.extents;
  Shape shape = pair.memory.shape;
  for (std::int64_t& extent : shape) {
    if (draw.chance(50)) extent = 1;
  }
  const auto dim = draw.below(static_cast<std::int64_t>(extents.size()));
  const Tile index = make_index(builder, extents[static_cast<std::size_t>(dim)],
                                random_layout(draw, builder.threads(), shape));
  if (!index.var.valid()) return;
  copy.index = isa::RegisterOperand{index.var};
  copy.dim = isa::DimList{{static_cast<int>(dim)}};
}

}  // namespace

void copy_and_wait(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const std::int64_t groups = draw.between(1, 2);
  std::vector<CopyPair> pairs;
  for (std::int64_t i = 0; i < groups; ++i) {
    CopyPair pair = make_pair(builder, 0);
    std::optional<isa::OffsetList> from;
    const bool fits = pair.memory.shape.size() <= pair.view.extents.size();
    if (!fits || draw.chance(85)) from = builder.edge_offset(pair.view.extents, pair.memory.shape);
    isa::CopyAsync copy{{pair.memory.var}, {pair.view.var}, from, {}, {}, {}};
    if (draw.chance(35)) add_index(builder, pair, copy);
    if (draw.chance(25)) copy.cache = static_cast<isa::CacheHint>(draw.below(3));
    copy.shared_offset = zeros_or_none(draw, pair.memory.shape.size());
    builder.add(std::move(copy));
    builder.add(isa::CopyAsyncCommitGroup{});
    pairs.push_back(pair);
  }
  for (std::int64_t i = 0; i < groups; ++i) {
    builder.add(isa::CopyAsyncWaitGroup{integer(groups - 1 - i)});
    builder.synchronize();
    OwnMemory& memory = pairs[static_cast<std::size_t>(i)].memory;
    memory.defined = memory.read = true;
    const isa::RegisterLayout layout = random_layout(draw, builder.threads(), memory.shape);
    builder.add_tile(builder.add(isa::LoadShared{{memory.var}, layout, {}, {}}));
  }
  // In a loop the next iteration copies again: the tensors are for these copies alone.
  if (builder.loops() > 0) return builder.synchronize();
  for (const CopyPair& pair : pairs) {
    if (builder.memories().size() < most_memories) builder.memories().push_back(pair.memory);
  }
}

void copy_in_stages(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const std::int64_t stages = draw.between(2, 4);
  const CopyPair pair = make_pair(builder, stages);
  const Shape tile(pair.memory.shape.begin() + 1, pair.memory.shape.end());
  const isa::RegisterLayout layout = random_layout(draw, builder.threads(), tile);
  const Tile sum = builder.constant(pair.memory.dtype, layout, Expr::constant(0));
  const auto copy = [&](const Expr& step) {
    isa::OffsetList from = builder.edge_offset(pair.view.extents, tile);
    isa::OffsetList::Entry& rows = from.entries[pair.view.extents.size() - tile.size()];
    rows.value = Expr::binary(ScalarBinary::mul, step, Expr::constant(tile[0]));
    isa::OffsetList to = zero_offset(pair.memory.shape.size());
    to.entries[0] = {Expr::binary(ScalarBinary::mod, step, Expr::constant(stages)), false};
    builder.add(isa::CopyAsync{{pair.memory.var}, {pair.view.var}, from, to, {}, {}});
    builder.add(isa::CopyAsyncCommitGroup{});
  };
  for (std::int64_t step = 0; step + 1 < stages; ++step) copy(Expr::constant(step));
  isa::ForStmt loop;
  loop.var = builder.new_variable('k', isa::ScalarType{isa::ScalarKind::i32});
  loop.begin = Expr::constant(0);
  loop.end = Expr::convert(builder.known(draw.between(1, 5)), isa::ScalarKind::i32);
  loop.step = Expr::constant(1);
  loop.unroll = draw.chance(30) ? draw.between(1, 3) : 0;
  const Expr k = builder.use({loop.var, isa::ScalarKind::i32});
  builder.open();
  const Expr next = Expr::binary(ScalarBinary::add, k, Expr::constant(stages - 1));
  builder.add(isa::CopyAsyncWaitGroup{integer(stages - 2)});
  builder.synchronize();
  const bool copies_first = draw.chance(50);
  if (copies_first) copy(next);
  isa::OffsetList stage = zero_offset(pair.memory.shape.size());
  stage.entries[0] = {Expr::binary(ScalarBinary::mod, k, Expr::constant(stages)), false};
  const VarId loaded = builder.add(isa::LoadShared{{pair.memory.var}, layout, stage, {}});
  if (loaded.valid() && sum.var.valid()) {
    builder.add(isa::Add{{sum.var}, {loaded}}, sum.var);
  }
  if (!copies_first) copy(next);
  loop.body = builder.close();
  builder.add_statement(std::move(loop));
  builder.add(isa::CopyAsyncWaitGroup{integer(0)});
  builder.synchronize();
}

// --- Blocks that wait ----------------------------------------------------------------------------

bool blocks_may_wait(const KernelBuilder& builder) {
  return builder.depth() == 0 && !builder.may_have_ended;
}

void add_in_turns(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const isa::DType semaphore_type = draw.chance(50) ? isa::i32 : isa::u32;
  const VarId semaphore = make_semaphore(builder, semaphore_type);
  const isa::DType dtype = addable_type(builder);
  const Shape shape = random_shape(draw, 2, most_part_elements);
  const isa::RegisterLayout layout = random_layout(draw, builder.threads(), shape);
  const Tile own = builder.tile(dtype, layout);
  const Tile sum = builder.constant(dtype, layout, Expr::constant(0));
  const VarId workspace = builder.add_first(isa::AllocateGlobal{dtype, {shape}, {}, {}});
  if (!own.var.valid() || !sum.var.valid() || !workspace.valid()) return;
  const Expr turn = builder.block_number();
  const auto place = some_element(draw);
  builder.add(isa::LockSemaphore{{semaphore}, {of_kind(turn, semaphore_type)}, place});
  builder.note_barrier();
  isa::IfStmt branch;
  builder.open();
  builder.add(isa::LoadGlobal{{workspace}, layout, zero_offset(2), {}}, sum.var);
  branch.arms.push_back({Expr::binary(ScalarBinary::gt, turn, Expr::constant(0)), builder.close()});
  builder.add_statement(std::move(branch));
  builder.synchronize();  // replicas of an element are loaded by other threads
  builder.add(isa::Add{{sum.var}, {own.var}}, sum.var);
  builder.add(isa::StoreGlobal{{sum.var}, {workspace}, zeros_or_none(draw, 2)});
  const Expr next = Expr::binary(ScalarBinary::add, turn, Expr::constant(1));
  builder.add(isa::ReleaseSemaphore{{semaphore}, {of_kind(next, semaphore_type)}, place});
  builder.note_barrier();
  builder.store(sum);
}

void last_block_adds(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const isa::DType counter_type = draw.chance(50) ? isa::i32 : isa::u32;
  const VarId counter = make_semaphore(builder, counter_type);
  const isa::DType dtype = addable_type(builder);
  const Shape shape = random_shape(draw, 2, most_part_elements);
  const isa::RegisterLayout layout = random_layout(draw, builder.threads(), shape);
  const Tile own = builder.tile(dtype, layout);
  Shape parts = shape;
  parts.insert(parts.begin(), builder.blocks());
  const VarId workspace = builder.add_first(isa::AllocateGlobal{dtype, {parts}, {}, {}});
  const VarId output = builder.plain_output(dtype, shape);
  if (!own.var.valid() || !workspace.valid() || !output.valid()) return;
  isa::OffsetList mine = zero_offset(3);
  mine.entries[0] = {builder.block_number(), false};
  builder.add(isa::StoreGlobal{{own.var}, {workspace}, mine});
  const auto place = some_element(draw);
  const VarId before =
      draw.chance(50)
          ? builder.add(isa::AtomicAdd{{counter}, integer(1), place})
          : builder.add(isa::AtomicCombine{{counter}, isa::ReduceOp::add, integer(1), place});
  builder.note_barrier();
  if (!before.valid()) return;
  const isa::ScalarKind kind =
      counter_type == isa::u32 ? isa::ScalarKind::u32 : isa::ScalarKind::i32;
  const Expr last = Expr::binary(ScalarBinary::eq, builder.use({before, kind}),
                                 Expr::constant(builder.blocks() - 1));
  builder.open();
  const isa::RegisterLayout other = random_layout(draw, builder.threads(), shape);
  const Tile sum = builder.constant(dtype, other, Expr::constant(0));
  isa::ForStmt loop;
  loop.var = builder.new_variable('k', isa::ScalarType{isa::ScalarKind::i32});
  loop.end = Expr::constant(builder.blocks());
  loop.step = Expr::constant(1);
  builder.open();
  isa::OffsetList part = zero_offset(3);
  part.entries[0] = {builder.use({loop.var, isa::ScalarKind::i32}), false};
  const VarId loaded = builder.add(isa::LoadGlobal{{workspace}, other, part, {}});
  if (loaded.valid() && sum.var.valid()) builder.add(isa::Add{{sum.var}, {loaded}}, sum.var);
  loop.body = builder.close();
  builder.add_statement(std::move(loop));
  builder.add(isa::StoreGlobal{{sum.var}, {output}, zeros_or_none(draw, 2)});
  isa::IfStmt branch;
  branch.arms.push_back({last, builder.close()});
  builder.add_statement(std::move(branch));
}

void exchange_own_elements(KernelBuilder& builder) {
  Draw& draw = builder.draw();
  const VarId elements =
      builder.add_first(isa::AllocateGlobal{isa::i32, {{builder.blocks()}}, {}, integer(0)});
  const isa::OffsetList mine{{{builder.block_number(), false}}};
  const isa::RegisterLayout layout = random_layout(draw, builder.threads(), Shape{32});
  for (int i = 0; i < 3 && elements.valid(); ++i) {
    const isa::ScalarOperand value = integer(draw.below(4)), other = integer(draw.below(4));
    const VarId before =
        draw.chance(40) ? builder.add(isa::AtomicExchange{{elements}, value, mine})
                        : builder.add(isa::AtomicCompareExchange{{elements}, other, value, mine});
    builder.note_barrier();
    if (!before.valid()) return;
    builder.store(builder.constant(isa::i32, layout, builder.use({before, isa::ScalarKind::i32})));
  }
}

}  // namespace tilevm::vm::fuzz
