// More than 400 lines: one maker for each instruction, each a few lines.
#include "vm/fuzz/instruction_makers.h"

#include <algorithm>
#include <array>

#include "isa/base/check.h"
#include "isa/layout/layout_ops.h"
#include "vm/fuzz/random_layout.h"
#include "vm/fuzz/scenarios.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::BinaryOp;
using isa::DType;
using isa::Expr;
using isa::RegisterLayout;
using isa::UnaryOp;

constexpr std::int64_t most_view_bits = 1024, most_places = 128;

/// A type for which a condition holds.
template <class Condition>
DType type_where(KernelBuilder& builder, Condition condition) {
  std::vector<DType> types;
  for (const DType& type : isa::all_dtypes()) {
    if (condition(type)) types.push_back(type);
  }
  const DType wanted = builder.some_type();
  return condition(wanted) ? wanted : builder.draw().pick(types);
}

/// The layouts of operands that broadcast, and whether the result needs a tile to go to.
struct OperandLayouts {
  RegisterLayout result;
  std::vector<RegisterLayout> operands;
  bool needs_target = false;
};

/// The layout that an operand has without the dimensions `dropped`.
RegisterLayout reduced(Draw& draw, const RegisterLayout& layout, const isa::Shape& shape) {
  const auto result = isa::reduce_to(layout, shape);
  TILEVM_CHECK(result.ok(), "a shape that broadcasts");
  return shape == layout.shape() ? layout : with_other_places(draw, *result);
}

OperandLayouts operand_layouts(KernelBuilder& builder, std::size_t count) {
  Draw& draw = builder.draw();
  OperandLayouts layouts;
  layouts.result = builder.some_layout();
  layouts.operands.assign(count, layouts.result);
  const std::size_t rank = layouts.result.shape().size();
  if (rank == 0 || draw.chance(65)) return layouts;
  const isa::Shape& full = layouts.result.shape();
  // Each dimension is kept by one operand at least, so that the joint shape is the full one.
  std::vector<isa::Shape> shapes(count, full);
  for (std::size_t d = 0; d < rank; ++d) {
    const auto keeper = static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(count)));
    for (std::size_t i = 0; i < count; ++i) {
      if (i != keeper && draw.chance(45)) shapes[i][d] = 1;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    while (!shapes[i].empty() && shapes[i].front() == 1 && shapes[i].size() > 1 &&
           draw.chance(40)) {
      shapes[i].erase(shapes[i].begin());
    }
  }
  layouts.needs_target = std::find(shapes.begin(), shapes.end(), full) == shapes.end();
  // Someone must have the full rank; otherwise the joint shape has fewer dimensions.
  const bool full_rank = std::any_of(shapes.begin(), shapes.end(),
                                     [&](const isa::Shape& s) { return s.size() == rank; });
  if (!full_rank) return layouts.needs_target = false, layouts;
  for (std::size_t i = 0; i < count; ++i) {
    layouts.operands[i] = reduced(draw, layouts.result, shapes[i]);
    for (std::size_t j = 0; j < i; ++j) {  // tiles of one shape have one layout
      if (shapes[j] == shapes[i]) layouts.operands[i] = layouts.operands[j];
    }
  }
  return layouts;
}

/// Adds an element-wise instruction whose result has this type.
void finish_elementwise(KernelBuilder& builder, const isa::Instruction& inst,
                        const OperandLayouts& layouts, const DType& result) {
  if (!layouts.needs_target) return builder.compute(inst);
  const Tile target = builder.tile(result, layouts.result);
  if (target.var.valid()) builder.add(inst, target.var);
}

/// The tile with no element that is zero.
Tile without_zeros(KernelBuilder& builder, const Tile& tile) {
  const Tile one = builder.constant(tile.type.dtype, tile.type.layout, Expr::constant(1));
  const isa::VarId var = builder.add(isa::Or{{tile.var}, {one.var}});
  builder.add_tile(var);
  return {var, tile.type};
}

template <class Inst>
struct Maker;

template <BinaryOp op>
struct Maker<isa::Binary<op>> {
  static void make(KernelBuilder& builder) {
    const DType dtype =
        type_where(builder, [](const DType& type) { return isa::is_defined(op, type); });
    const OperandLayouts layouts = operand_layouts(builder, 2);
    const Tile a = builder.tile(dtype, layouts.operands[0]);
    Tile b = builder.tile(dtype, layouts.operands[1]);
    if (!a.var.valid() || !b.var.valid()) return;
    if (isa::faults_on_zero(op, dtype)) b = without_zeros(builder, b);
    finish_elementwise(builder, isa::Binary<op>{{a.var}, {b.var}}, layouts,
                       isa::result_type(op, dtype));
  }
};

template <UnaryOp op>
struct Maker<isa::Unary<op>> {
  static void make(KernelBuilder& builder) {
    const DType dtype =
        type_where(builder, [](const DType& type) { return isa::is_defined(op, type); });
    const Tile a = builder.tile(dtype, builder.some_layout());
    if (a.var.valid()) builder.compute(isa::Unary<op>{{a.var}});
  }
};

template <>
struct Maker<isa::Fma> {
  static void make(KernelBuilder& builder) {
    const DType dtype = type_where(builder, isa::has_fma);
    const OperandLayouts layouts = operand_layouts(builder, 3);
    const Tile a = builder.tile(dtype, layouts.operands[0]);
    const Tile b = builder.tile(dtype, layouts.operands[1]);
    const Tile c = builder.tile(dtype, layouts.operands[2]);
    if (!a.var.valid() || !b.var.valid() || !c.var.valid()) return;
    finish_elementwise(builder, isa::Fma{{a.var}, {b.var}, {c.var}}, layouts, dtype);
  }
};

template <>
struct Maker<isa::Where> {
  static void make(KernelBuilder& builder) {
    const DType dtype = builder.some_type();
    const OperandLayouts layouts = operand_layouts(builder, 3);
    const Tile condition = builder.tile(isa::u1, layouts.operands[0]);
    const Tile a = builder.tile(dtype, layouts.operands[1]);
    const Tile b = builder.tile(dtype, layouts.operands[2]);
    if (!condition.var.valid() || !a.var.valid() || !b.var.valid()) return;
    finish_elementwise(builder, isa::Where{{condition.var}, {a.var}, {b.var}}, layouts, dtype);
  }
};

template <>
struct Maker<isa::Cast> {
  static void make(KernelBuilder& builder) {
    const Tile source = builder.draw().chance(50) ? builder.any_tile() : builder.some_tile();
    if (source.var.valid()) builder.compute(isa::Cast{{source.var}, builder.some_type()});
  }
};

template <>
struct Maker<isa::View> {
  static void make(KernelBuilder& builder) {
    Draw& draw = builder.draw();
    const Tile source = builder.any_tile(most_view_bits);
    if (!source.var.valid()) return;
    const std::int64_t bits = source.type.bits_per_thread();
    std::vector<DType> types, equal;
    for (const DType& type : isa::all_dtypes()) {
      if (bits % type.bits == 0 && bits / type.bits <= most_places) types.push_back(type);
      if (type.bits == source.type.dtype.bits) equal.push_back(type);
    }
    if (draw.chance(30)) {
      return builder.compute(isa::View{{source.var}, draw.pick(equal), {}});
    }
    std::optional<DType> dtype;
    if (!types.empty() && draw.chance(75)) dtype = draw.pick(types);
    const std::int64_t places = bits / dtype.value_or(source.type.dtype).bits;
    const RegisterLayout layout = random_view(draw, source.type.layout, places);
    builder.compute(isa::View{{source.var}, dtype, layout});
  }
};

template <>
struct Maker<isa::ConvertLayout> {
  static void make(KernelBuilder& builder) {
    const Tile source = builder.any_tile();
    if (!source.var.valid()) return;
    Draw& draw = builder.draw();
    const RegisterLayout layout = draw.chance(50)
                                      ? with_other_places(draw, source.type.layout)
                                      : random_layout(draw, builder.threads(), source.type.shape());
    builder.compute(isa::ConvertLayout{{source.var}, layout});
  }
};

template <>
struct Maker<isa::Dot> {
  static void make(KernelBuilder& builder) { make_dot(builder); }
};

template <>
struct Maker<isa::DotSparse> {
  static void make(KernelBuilder& builder) { make_dot_sparse(builder); }
};

template <>
struct Maker<isa::DotScaled> {
  static void make(KernelBuilder& builder) { make_dot_scaled(builder); }
};

template <>
struct Maker<isa::DotAsync> {
  static void make(KernelBuilder& builder) { make_dot_async(builder); }
};
/// Products come with their groups and fences.
template <>
struct Maker<isa::DotAsyncCommitGroup> : Maker<isa::DotAsync> {};
template <>
struct Maker<isa::DotAsyncWaitGroup> : Maker<isa::DotAsync> {};

template <>
struct Maker<isa::Reduce> {
  static void make(KernelBuilder& builder) { make_reduce(builder); }
};

template <>
struct Maker<isa::Scan> {
  static void make(KernelBuilder& builder) { make_scan(builder); }
};

template <>
struct Maker<isa::Slice> {
  static void make(KernelBuilder& builder) { make_slice(builder); }
};
template <>
struct Maker<isa::Concat> {
  static void make(KernelBuilder& builder) { make_concat(builder); }
};
template <>
struct Maker<isa::Lookup> {
  static void make(KernelBuilder& builder) { make_lookup(builder); }
};

template <>
struct Maker<isa::Iota> {
  static void make(KernelBuilder& builder) {
    Draw& draw = builder.draw();
    const DType dtype = type_where(builder, [](const DType& type) { return type.is_integer(); });
    const RegisterLayout layout = builder.some_layout();
    if (layout.rank() == 0) return;
    isa::Iota inst{dtype, layout, {}, {}};
    const auto dim = static_cast<int>(draw.below(layout.rank()));
    if (dim > 0 || draw.chance(50)) inst.dim = isa::DimList{{dim}};
    if (draw.chance(60)) inst.start = isa::ScalarOperand{builder.any_integer(2)};
    if (draw.chance(85)) return builder.compute(inst);
    const Tile target = builder.tile(dtype, layout);
    inst.layout.reset();
    if (target.var.valid()) builder.add(inst, target.var);
  }
};

template <>
struct Maker<isa::Philox> {
  static void make(KernelBuilder& builder) {
    const RegisterLayout layout = builder.some_layout();
    if (layout.num_locals() > most_places / 4 || layout.rank() == isa::max_layout_rank) return;
    const Tile counter = builder.tile(isa::u32, layout);
    if (!counter.var.valid()) return;
    isa::Philox inst{{counter.var}, {builder.any_integer(2)}, {}};
    if (builder.draw().chance(50)) inst.stream = isa::ScalarOperand{builder.any_integer(2)};
    builder.compute(inst);
  }
};

template <>
struct Maker<isa::LoadScalar> {
  static void make(KernelBuilder& builder) { make_load_scalar(builder); }
};

template <>
struct Maker<isa::BlockIndices> {
  static void make(KernelBuilder& builder) {
    const isa::VarId index = builder.add(isa::BlockIndices{});
    if (index.valid()) builder.add_scalar({index, isa::ScalarKind::i32, true});
  }
};

template <>
struct Maker<isa::AllocateGlobal> {
  static void make(KernelBuilder& builder) { make_memory(builder, false); }
};
template <>
struct Maker<isa::AllocateShared> {
  static void make(KernelBuilder& builder) { make_memory(builder, true); }
};

template <>
struct Maker<isa::AllocateRegister> {
  static void make(KernelBuilder& builder) {
    Draw& draw = builder.draw();
    const DType dtype = builder.some_type();
    const RegisterLayout layout = builder.some_layout();
    const bool without_layout = builder.threads_are_given() && draw.chance(30);
    isa::AllocateRegister inst{dtype, {}, {}, {}};
    if (!without_layout) inst.layout = layout;
    if (without_layout || draw.chance(20)) inst.shape = isa::TileShape{layout.shape()};
    const std::int64_t values = draw.chance(40) ? draw.between(2, 5) : 1;
    if (draw.chance(75)) {
      inst.init = isa::ElementValues{};
      for (std::int64_t i = 0; i < values; ++i) {
        inst.init->values.push_back(builder.any_scalar(2));
      }
      return builder.compute(inst);
    }
    // Without values it is only a place for results.
    const isa::VarId var = builder.add(inst);
    if (!var.valid() || without_layout) return;
    const InputView view = builder.input_view(dtype, layout.shape());
    std::optional<RegisterLayout> given;
    if (draw.chance(50)) given = layout;
    builder.add(
        isa::LoadGlobal{{view.var}, given, builder.edge_offset(view.extents, layout.shape()), {}},
        var);
    builder.add_tile(var);
  }
};

template <>
struct Maker<isa::ViewGlobal> {
  static void make(KernelBuilder& builder) {
    const DType dtype = builder.some_type();
    builder.load(dtype, builder.some_layout());
  }
};

template <>
struct Maker<isa::LoadGlobal> {
  static void make(KernelBuilder& builder) {
    if (builder.draw().chance(35)) return load_part(builder, false);
    const RegisterLayout layout = builder.some_layout();
    builder.load(builder.some_type(), layout);
  }
};
template <>
struct Maker<isa::LoadShared> {
  static void make(KernelBuilder& builder) { load_part(builder, true); }
};
template <>
struct Maker<isa::StoreGlobal> {
  static void make(KernelBuilder& builder) {
    if (builder.draw().chance(40)) return store_part(builder, false);
    const Tile tile = builder.any_tile();
    if (tile.var.valid()) builder.store(tile);
  }
};
template <>
struct Maker<isa::StoreShared> {
  static void make(KernelBuilder& builder) { store_part(builder, true); }
};

template <>
struct Maker<isa::Gather> {
  static void make(KernelBuilder& builder) { make_gather(builder); }
};
template <>
struct Maker<isa::Scatter> {
  static void make(KernelBuilder& builder) { make_scatter(builder); }
};

void make_copies(KernelBuilder& builder) {
  if (builder.loops() == 0 && builder.draw().chance(50)) return copy_in_stages(builder);
  copy_and_wait(builder);
}
template <>
struct Maker<isa::CopyAsync> {
  static void make(KernelBuilder& builder) { make_copies(builder); }
};
template <>
struct Maker<isa::CopyAsyncCommitGroup> {
  static void make(KernelBuilder& builder) {
    if (builder.draw().chance(70)) return make_copies(builder);
    builder.add(isa::CopyAsyncCommitGroup{});  // an empty group
  }
};
template <>
struct Maker<isa::CopyAsyncWaitGroup> {
  static void make(KernelBuilder& builder) {
    if (builder.draw().chance(70)) return make_copies(builder);
    builder.add(isa::CopyAsyncWaitGroup{{Expr::constant(builder.draw().below(3))}});
  }
};

template <>
struct Maker<isa::Synchronize> {
  static void make(KernelBuilder& builder) { builder.synchronize(); }
};
template <>
struct Maker<isa::LockSemaphore> {
  static void make(KernelBuilder& builder) {
    if (blocks_may_wait(builder)) add_in_turns(builder);
  }
};
template <>
struct Maker<isa::ReleaseSemaphore> {
  static void make(KernelBuilder& builder) {
    if (blocks_may_wait(builder)) add_in_turns(builder);
  }
};
template <>
struct Maker<isa::AtomicAdd> {
  static void make(KernelBuilder& builder) {
    if (blocks_may_wait(builder)) last_block_adds(builder);
  }
};
template <>
struct Maker<isa::AtomicCombine> : Maker<isa::AtomicAdd> {};
template <>
struct Maker<isa::AtomicExchange> {
  static void make(KernelBuilder& builder) {
    if (blocks_may_wait(builder)) exchange_own_elements(builder);
  }
};
template <>
struct Maker<isa::AtomicCompareExchange> : Maker<isa::AtomicExchange> {};

/// Barriers are right only between groups of warps that both use them.
struct GroupsMaker {
  static void make(KernelBuilder& builder) {
    if (can_have_groups(builder)) pass_between_groups(builder);
  }
};
template <>
struct Maker<isa::AllocateBarrier> : GroupsMaker {};
template <>
struct Maker<isa::Arrive> : GroupsMaker {};
template <>
struct Maker<isa::ArriveExpect> : GroupsMaker {};
template <>
struct Maker<isa::WaitBarrier> : GroupsMaker {};
template <>
struct Maker<isa::FenceProxy> : GroupsMaker {};
template <>
struct Maker<isa::SyncNamedBarrier> : GroupsMaker {};
template <>
struct Maker<isa::ArriveNamedBarrier> : GroupsMaker {};

/// Programs of random kernels have no clusters.
template <>
struct Maker<isa::BlockRank> : GroupsMaker {};
template <>
struct Maker<isa::SynchronizeCluster> : GroupsMaker {};
template <>
struct Maker<isa::ArriveCluster> : GroupsMaker {};
template <>
struct Maker<isa::WaitCluster> : GroupsMaker {};

template <>
struct Maker<isa::CopyAsyncTensorGlobalToShared> : GroupsMaker {};
template <>
struct Maker<isa::CopyAsyncTensorSharedToGlobal> : GroupsMaker {};
template <>
struct Maker<isa::CopyAsyncTensorCommitGroup> : GroupsMaker {};
template <>
struct Maker<isa::CopyAsyncTensorWaitGroup> : GroupsMaker {};

template <>
struct Maker<isa::Exit> {
  static void make(KernelBuilder& builder) {
    isa::IfStmt branch;
    const Expr condition = builder.condition();
    builder.open();
    builder.add(isa::Exit{});
    branch.arms.push_back({condition, builder.close()});
    builder.add_statement(std::move(branch));
    builder.may_have_ended = true;
  }
};

template <>
struct Maker<isa::Print> {
  static void make(KernelBuilder& builder) {
    Draw& draw = builder.draw();
    std::optional<isa::Text> label;
    if (draw.chance(30)) label = isa::Text{"a \"label\""};
    if (draw.chance(50)) {
      builder.add(isa::Print{{isa::ScalarOperand{builder.any_scalar(2)}}, label});
      return;
    }
    const Tile tile = builder.any_tile();
    if (tile.var.valid()) builder.add(isa::Print{{isa::RegisterOperand{tile.var}}, label});
  }
};

/// What holds, whatever the values are.
template <>
struct Maker<isa::Assert> {
  static void make(KernelBuilder& builder) {
    Draw& draw = builder.draw();
    std::optional<isa::Text> message;
    if (draw.chance(50)) message = isa::Text{"a \"message\""};
    if (draw.chance(50)) {
      const Expr condition = builder.condition();
      const Expr otherwise = Expr::unary(isa::ScalarUnary::logical_not, condition);
      builder.add(isa::Assert{
          {isa::ScalarOperand{Expr::binary(isa::ScalarBinary::logical_or, condition, otherwise)}},
          message});
      return;
    }
    const DType integer = type_where(builder, [](const DType& type) { return type.is_integer(); });
    const Tile tile = builder.tile(integer, builder.some_layout());
    if (!tile.var.valid()) return;
    const isa::VarId equal = builder.add(isa::Eq{{tile.var}, {tile.var}});
    if (equal.valid()) builder.add(isa::Assert{{isa::RegisterOperand{equal}}, message});
  }
};

template <>
struct Maker<isa::Prefetch> {
  static void make(KernelBuilder& builder) {
    Draw& draw = builder.draw();
    const isa::Shape shape = builder.some_layout().shape();
    const InputView view = builder.input_view(builder.some_type(), shape);
    if (!view.var.valid()) return;
    isa::Prefetch inst{{view.var}, {}, {}};
    if (builder.has_constant_extents(view.var) && draw.chance(25)) {
      builder.add(inst);
      return;
    }
    inst.shape = isa::TileShape{shape};
    if (shape.size() > view.extents.size() || draw.chance(80)) {
      inst.offset = builder.edge_offset(view.extents, shape);
    }
    builder.add(inst);
  }
};

using MakeFunction = void (*)(KernelBuilder&);

const std::array<MakeFunction, isa::instruction_count>& makers() {
  static const auto table = [] {
    std::array<MakeFunction, isa::instruction_count> functions{};
    std::size_t next = 0;
    isa::for_each_instruction([&]<class Inst>() { functions[next++] = &Maker<Inst>::make; });
    return functions;
  }();
  return table;
}

/// How often an instruction of each category is drawn, by its schema.
std::int64_t weight(const isa::Description& description) {
  switch (description.category) {
    case isa::Category::indexing:
      return 20;
    case isa::Category::creation:
      return 45;
    case isa::Category::transfer:
      return 60;
    case isa::Category::compute:
      // There are many element-wise operations and few others, of which Dot has the most forms.
      return !description.elementwise || description.mnemonic == "Cast" ? 110 : 14;
    case isa::Category::control:
      return 14;
    case isa::Category::debug:
      return 45;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Each instruction's index, as often as its weight.
const std::vector<std::size_t>& lots() {
  static const auto list = [] {
    std::vector<std::size_t> result;
    std::size_t next = 0;
    isa::for_each_instruction([&]<class Inst>() {
      result.insert(result.end(), static_cast<std::size_t>(weight(Inst::schema.description)),
                    next++);
    });
    return result;
  }();
  return list;
}

}  // namespace

void make_instruction(KernelBuilder& builder, std::size_t instruction) {
  makers()[instruction](builder);
}

std::size_t draw_instruction(Draw& draw) { return draw.pick(lots()); }

}  // namespace tilevm::vm::fuzz
