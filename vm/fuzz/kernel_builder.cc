// More than 400 lines: one class, whose parts all work on what exists at the current statement.
#include "vm/fuzz/kernel_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/base/enumerators.h"
#include "isa/dot/mma_shapes.h"
#include "isa/inst/limits.h"
#include "isa/rules/rules.h"
#include "vm/fuzz/random_layout.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::Expr;
using isa::Scalar;
using isa::ScalarBinary;
using isa::ScalarKind;
using isa::ScalarUnary;
using isa::Shape;
using isa::VarId;

constexpr int most_inputs = 5, most_outputs = 6, most_scalar_parameters = 3;
constexpr std::int64_t most_tile_elements = 256;

const std::vector<ScalarKind> integer_kinds = {ScalarKind::i32, ScalarKind::i32, ScalarKind::i32,
                                               ScalarKind::u32, ScalarKind::i64, ScalarKind::u64};
const std::vector<ScalarKind> scalar_kinds = {ScalarKind::boolean, ScalarKind::i32, ScalarKind::i32,
                                              ScalarKind::u32,     ScalarKind::i64, ScalarKind::u64,
                                              ScalarKind::f32};
const std::vector<ScalarBinary> binary_operators = {
    ScalarBinary::add,     ScalarBinary::sub,         ScalarBinary::mul,
    ScalarBinary::div,     ScalarBinary::mod,         ScalarBinary::shl,
    ScalarBinary::shr,     ScalarBinary::bit_and,     ScalarBinary::bit_or,
    ScalarBinary::bit_xor, ScalarBinary::eq,          ScalarBinary::ne,
    ScalarBinary::lt,      ScalarBinary::le,          ScalarBinary::gt,
    ScalarBinary::ge,      ScalarBinary::logical_and, ScalarBinary::logical_or,
    ScalarBinary::minimum, ScalarBinary::maximum};

/// Text has no NaN and no Inf.
Expr writable(Expr value) {
  const auto constant = value.constant_value();
  if (constant && constant->kind == ScalarKind::f32 && !std::isfinite(constant->as_float())) {
    return Expr::constant(Scalar::f32(1.5F));
  }
  return value;
}

Expr as_kind(std::int64_t value, ScalarKind kind) {
  return Expr::constant(isa::convert(Scalar::i64(value), kind));
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

KernelBuilder::KernelBuilder(Draw& draw, const isa::Target& target, std::string name,
                             bool whole_warps)
    : draw_(draw), target_(target), prefix_(name) {
  static const std::vector<std::int64_t> thread_counts = {
      32, 32, 32, 32, 32, 64, 64, 64, 128, 1, 2, 4, 8, 16, 96, 3, 7, 33, 48, 160, 256};
  threads_ = draw.pick(thread_counts);
  if (whole_warps && threads_ % isa::warp_size != 0) threads_ = isa::warp_size;
  kernel_.name = std::move(name);
  if (draw.chance(60)) kernel_.threads = threads_;
  if (draw.chance(10)) kernel_.resident = 2;
  kernel_.split_barriers = draw.chance(10);
  blocks_.emplace_back();
  const std::int64_t rank = draw.chance(60) ? 1 : draw.between(2, 3);
  for (std::int64_t d = 0; d < rank; ++d) {
    grid_.push_back(draw.between(1, 3));
    kernel_.grid.push_back(known(grid_.back()));
  }
  block_indices_ = append(first_, isa::BlockIndices{}, {});
  for (const VarId index : block_indices_) scalars_.push_back({index, ScalarKind::i32, true});
  // Their values select the block's part of memory, so nothing assigns to them.
  for (ScalarVariable& scalar : scalars_) scalar.assignable = false;
}

std::int64_t KernelBuilder::blocks() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : grid_) count *= extent;
  return count;
}

// --- Statements ----------------------------------------------------------------------------------

VarId KernelBuilder::new_variable(char prefix, isa::Type type) {
  const VarId id{static_cast<std::int32_t>(kernel_.variables.size())};
  kernel_.variables.push_back({fmt::format("{}{}", prefix, id.index), std::move(type), {}});
  return id;
}

std::vector<VarId> KernelBuilder::append(isa::Block& block, isa::Instruction inst,
                                         std::optional<VarId> into) {
  Diagnostics diagnostics;
  static const std::vector<Span> no_spans;
  isa::RuleContext context(kernel_, target_, diagnostics, {}, no_spans);
  if (into) context.expected = std::get_if<isa::RegisterType>(&kernel_.variable(*into).type);
  const auto types = isa::infer(inst, context);
  const bool fits =
      types && (!into || (types->size() == 1 && types->front() == kernel_.variable(*into).type));
  if (!fits) {
    if (!defect_.empty()) return {};
    defect_ = fmt::format(
        "{}: {}", isa::mnemonic(inst),
        types ? "the result does not fit its variable" : diagnostics.sorted().front().message);
    return {};
  }
  isa::InstStmt stmt{std::move(inst), {}, !into, {}};
  if (into) stmt.results.push_back(*into);
  for (std::size_t i = 0; i < types->size() && !into; ++i) {
    const isa::Type& type = (*types)[i];
    constexpr char prefixes[] = {'n', 'p', 't', 's', 'g', 'b'};
    stmt.results.push_back(new_variable(prefixes[type.index()], type));
  }
  std::vector<VarId> results = stmt.results;
  block.push_back({std::move(stmt), {}});
  return results;
}

VarId KernelBuilder::add(isa::Instruction inst, std::optional<VarId> into) {
  const std::vector<VarId> results = append(blocks_.back(), std::move(inst), into);
  return results.empty() ? VarId{} : results.front();
}

std::vector<VarId> KernelBuilder::add_all(isa::Instruction inst) {
  return append(blocks_.back(), std::move(inst), {});
}

VarId KernelBuilder::add_first(isa::Instruction inst) {
  const std::vector<VarId> results = append(first_, std::move(inst), {});
  return results.empty() ? VarId{} : results.front();
}

void KernelBuilder::add_statement(decltype(isa::Stmt::node) node) {
  blocks_.back().push_back({std::move(node), {}});
}

void KernelBuilder::compute(const isa::Instruction& inst) {
  const VarId result = add(inst);
  if (!result.valid()) return;
  const isa::Type type = kernel_.variable(result).type;
  std::vector<Tile> same;
  for (const Tile& tile : tiles_) {
    if (isa::Type{tile.type} == type) same.push_back(tile);
  }
  if (!same.empty() && draw_.chance(25)) {
    auto* stmt = std::get_if<isa::InstStmt>(&blocks_.back().back().node);
    stmt->results = {draw_.pick(same).var};
    stmt->declares = false;
    kernel_.variables.pop_back();
    return;
  }
  add_tile(result);
}

void KernelBuilder::open() {
  scopes_.push_back({tiles_.size(), scalars_.size(), views_.size()});
  blocks_.emplace_back();
}

isa::Block KernelBuilder::close() {
  const Scope scope = scopes_.back();
  scopes_.pop_back();
  tiles_.resize(std::min(tiles_.size(), scope.tiles));
  scalars_.resize(scope.scalars);
  views_.resize(std::min(views_.size(), scope.views));
  isa::Block block = std::move(blocks_.back());
  blocks_.pop_back();
  return block;
}

// --- Scalars -------------------------------------------------------------------------------------

VarId KernelBuilder::declare_scalar(Expr value, bool assignable) {
  const ScalarKind kind = value.kind();
  const VarId var = new_variable('n', isa::ScalarType{kind});
  const bool constant = value.constant_value().has_value();
  add_statement(isa::ScalarStmt{var, std::move(value), true});
  // What is assigned once is a constant of the program: a branch on it would not be in the kernel.
  if (constant)
    add_statement(
        isa::ScalarStmt{var, Expr::variable(var, kernel_.variable(var).name, kind), false});
  scalars_.push_back({var, kind, assignable});
  return var;
}

Expr KernelBuilder::use(const ScalarVariable& scalar) const {
  return Expr::variable(scalar.var, kernel_.variable(scalar.var).name, scalar.kind);
}

Expr KernelBuilder::block_index(std::size_t dim) const {
  return use({block_indices_[dim], ScalarKind::i32});
}

Expr KernelBuilder::block_number() const {
  Expr number = Expr::constant(0);
  for (std::size_t d = grid_.size(); d-- > 0;) {
    number = Expr::binary(ScalarBinary::add,
                          Expr::binary(ScalarBinary::mul, number, Expr::constant(grid_[d])),
                          block_index(d));
  }
  return number;
}

Expr KernelBuilder::leaf() {
  static const std::vector<std::int64_t> corners = {
      0, 1, 1, 2, 3, 5, 7, 31, 32, 33, 64, 255, -1, -2, -32, 1000, 2147483647, -2147483648LL};
  if (!scalars_.empty() && draw_.chance(70)) return use(draw_.pick(scalars_));
  const ScalarKind kind = draw_.pick(scalar_kinds);
  if (kind == ScalarKind::f32) {
    static const std::vector<float> values = {0.0F, 1.0F, -1.0F, 0.5F, 3.25F, 1e-40F, 1e30F, -7.0F};
    return Expr::constant(Scalar::f32(draw_.pick(values)));
  }
  return as_kind(draw_.pick(corners), kind);
}

Expr KernelBuilder::any_scalar(int depth) {
  if (depth == 0 || draw_.chance(30)) return leaf();
  const Expr a = any_scalar(depth - 1);
  switch (draw_.below(7)) {
    case 2: {
      const Expr otherwise = any_scalar(depth - 1);
      const Expr condition = any_scalar(depth - 1);
      return writable(Expr::select(condition, a, otherwise));
    }
    case 0:
      return writable(Expr::convert(a, draw_.pick(scalar_kinds)));
    case 1: {
      const auto op = static_cast<ScalarUnary>(draw_.below(3));
      return isa::supports(op, a.kind()) ? writable(Expr::unary(op, a)) : a;
    }
    default: {
      const ScalarBinary op = draw_.pick(binary_operators);
      Expr b = any_scalar(depth - 1);
      if (!isa::supports(op, a.kind(), b.kind())) return a;
      const bool divides = op == ScalarBinary::div || op == ScalarBinary::mod;
      const bool integers = a.kind() != ScalarKind::f32 && b.kind() != ScalarKind::f32;
      if (divides && integers) b = Expr::binary(ScalarBinary::bit_or, b, Expr::constant(1));
      return writable(Expr::binary(op, a, b));
    }
  }
}

Expr KernelBuilder::any_integer(int depth) {
  const Expr value = any_scalar(depth);
  const bool integer = value.kind() != ScalarKind::f32 && value.kind() != ScalarKind::boolean;
  return integer ? value : Expr::convert(value, ScalarKind::i32);
}

Expr KernelBuilder::condition() {
  static const std::vector<ScalarBinary> comparisons = {ScalarBinary::eq, ScalarBinary::ne,
                                                        ScalarBinary::lt, ScalarBinary::le,
                                                        ScalarBinary::gt, ScalarBinary::ge};
  for (int i = 0; i < 4; ++i) {
    Expr value = any_scalar(2);
    if (value.kind() != ScalarKind::boolean) {
      const Expr other = any_scalar(1);
      value = Expr::binary(draw_.pick(comparisons), value, other);
    }
    if (!value.is_constant()) return value;
  }
  const std::size_t dim =
      static_cast<std::size_t>(draw_.below(static_cast<std::int64_t>(grid_.size())));
  return Expr::binary(ScalarBinary::lt, block_index(dim), Expr::constant(draw_.below(3)));
}

VarId KernelBuilder::parameter(std::string name, isa::Type type, LaunchArgument argument) {
  const VarId id{static_cast<std::int32_t>(kernel_.variables.size())};
  kernel_.variables.push_back({std::move(name), std::move(type), {}});
  kernel_.parameters.push_back(id);
  arguments_.push_back(std::move(argument));
  return id;
}

Expr KernelBuilder::known(std::int64_t value) {
  if (parameters_with_value_ >= most_scalar_parameters || !draw_.chance(12)) {
    return Expr::constant(value);
  }
  static const std::vector<ScalarKind> kinds = {ScalarKind::i32, ScalarKind::i32, ScalarKind::i64,
                                                ScalarKind::u32};
  // A negative number would be a huge one of an unsigned kind, and so would a loop's trip count.
  const ScalarKind kind = value < 0 ? ScalarKind::i32 : draw_.pick(kinds);
  const std::string name = fmt::format("x{}", parameters_with_value_++);
  const Scalar scalar = isa::convert(Scalar::i64(value), kind);
  const VarId id = parameter(name, isa::ScalarType{kind}, scalar);
  return Expr::variable(id, name, kind);
}

Expr KernelBuilder::within(std::int64_t first, std::int64_t last) {
  if (first == last || draw_.chance(50)) return known(draw_.between(first, last));
  const ScalarKind wide = draw_.chance(80) ? ScalarKind::u32 : ScalarKind::u64;
  const Expr turn = Expr::binary(ScalarBinary::mod, Expr::convert(any_integer(1), wide),
                                 as_kind(last - first + 1, wide));
  const ScalarKind kind = draw_.chance(80) ? ScalarKind::i32 : ScalarKind::i64;
  const Expr step = Expr::convert(turn, kind);
  return first == 0 ? step : Expr::binary(ScalarBinary::add, step, as_kind(first, kind));
}

// --- Tiles ---------------------------------------------------------------------------------------

void KernelBuilder::add_tile(VarId var) {
  if (!var.valid()) return;
  tiles_.push_back({var, *std::get_if<isa::RegisterType>(&kernel_.variable(var).type)});
}

isa::DType KernelBuilder::some_type() {
  static const std::vector<isa::DType> common = {isa::f16, isa::f32,  isa::i32,
                                                 isa::u8,  isa::bf16, isa::i8};
  return draw_.chance(40) ? draw_.pick(common) : draw_.pick(isa::all_dtypes());
}

isa::RegisterLayout KernelBuilder::some_layout() {
  if (!tiles_.empty() && draw_.chance(70)) {
    const Tile& tile = draw_.pick(tiles_);
    if (tile.type.layout.num_locals() <= most_tile_elements) return tile.type.layout;
  }
  const int rank = draw_.chance(3) ? 0 : draw_.chance(75) ? 2 : draw_.chance(60) ? 1 : 3;
  return random_layout(draw_, threads_, random_shape(draw_, rank, most_tile_elements));
}

Tile KernelBuilder::constant(const isa::DType& dtype, const isa::RegisterLayout& layout,
                             Expr value) {
  const isa::ElementValues init{{std::move(value)}};
  const VarId var = add(isa::AllocateRegister{dtype, {}, layout, init});
  add_tile(var);
  return {var, {dtype, layout}};
}

Tile KernelBuilder::load(const isa::DType& dtype, const isa::RegisterLayout& layout) {
  const InputView view = input_view(dtype, layout.shape());
  std::optional<isa::TileShape> shape;
  if (draw_.chance(10)) shape = isa::TileShape{layout.shape()};
  std::optional<isa::OffsetList> offset;
  const bool fits = layout.shape().size() <= view.extents.size();
  if (!fits || draw_.chance(85)) offset = edge_offset(view.extents, layout.shape());
  const VarId var = add(isa::LoadGlobal{{view.var}, layout, offset, shape, some_cache_hint()});
  add_tile(var);
  return {var, {dtype, layout}};
}

Tile KernelBuilder::some_tile() {
  const isa::RegisterLayout layout = some_layout();
  return tile(some_type(), layout);
}

Tile KernelBuilder::tile(const isa::DType& dtype, const isa::RegisterLayout& layout) {
  const isa::RegisterType wanted{dtype, layout};
  std::vector<Tile> same, others;
  for (const Tile& tile : tiles_) {
    if (tile.type == wanted) same.push_back(tile);
    if (tile.type.layout == layout && tile.type.dtype != dtype) others.push_back(tile);
  }
  if (!same.empty() && draw_.chance(65)) return draw_.pick(same);
  if (!others.empty() && draw_.chance(25)) {
    const VarId var = add(isa::Cast{{draw_.pick(others).var}, dtype});
    add_tile(var);
    return {var, wanted};
  }
  if (draw_.chance(10)) return constant(dtype, layout, any_scalar(2));
  return load(dtype, layout);
}

Tile KernelBuilder::any_tile(std::int64_t bits_per_thread) {
  std::vector<Tile> fitting;
  for (const Tile& tile : tiles_) {
    if (tile.type.bits_per_thread() <= bits_per_thread) fitting.push_back(tile);
  }
  if (!fitting.empty() && draw_.chance(80)) return draw_.pick(fitting);
  isa::DType dtype = some_type();
  isa::RegisterLayout layout = some_layout();
  if (layout.num_locals() * dtype.bits > bits_per_thread) {
    layout = random_layout(draw_, threads_, random_shape(draw_, 2, 16));
  }
  return load(dtype, layout);
}

// --- Memory --------------------------------------------------------------------------------------

VarId KernelBuilder::pointer(const isa::DType& dtype, std::int64_t elements,
                             isa::PipelineTensor::Role role) {
  const bool input = role == isa::PipelineTensor::Role::input;
  const std::string name =
      fmt::format("{}{}{}", prefix_, input ? "_in" : "_out", kernel_.parameters.size());
  return parameter(name, isa::PointerType{dtype},
                   isa::PipelineTensor{name, role, dtype, isa::constant_extents({elements}), {}});
}

std::pair<std::optional<isa::ViewLayout>, std::int64_t> KernelBuilder::written_layout(
    const Shape& shape) {
  using Form = isa::ViewLayout::Form;
  const std::int64_t count = isa::element_count(shape);
  switch (draw_.below(6)) {
    case 0:
      return {isa::ViewLayout{Form::row_major, {}, {}}, count};
    case 1:
      return {isa::ViewLayout{Form::column_major, {}, {}}, count};
    case 2: {  // rows with gaps
      std::vector<std::int64_t> strides(shape.size(), 1);
      std::int64_t step = 1;
      for (std::size_t d = shape.size(); d-- > 0;) {
        strides[d] = step;
        step = step * shape[d] + (draw_.chance(30) ? draw_.between(1, 8) : 0);
      }
      isa::ViewLayout layout{Form::strides, {}, {}};
      for (const std::int64_t stride : strides) layout.strides.push_back(Expr::constant(stride));
      return {layout, step};
    }
    case 3: {
      const isa::MemoryLayout memory = random_memory(draw_, shape);
      return {isa::ViewLayout{Form::memory, {}, memory}, memory.storage_size()};
    }
    default:
      return {std::nullopt, count};
  }
}

InputView KernelBuilder::input_view(const isa::DType& dtype, const Shape& tile) {
  std::vector<InputView> fitting;
  for (const InputView& view : views_) {
    if (view.dtype == dtype && view.extents.size() >= tile.size()) fitting.push_back(view);
  }
  if (!fitting.empty() && draw_.chance(50)) return draw_.pick(fitting);
  static const std::vector<std::int64_t> margins = {0, 0, 0, 0, 1, -1, 3, 8};
  Shape extents;
  if (draw_.chance(25) || tile.empty()) extents.push_back(draw_.between(1, 3));
  for (const std::int64_t extent : tile) {
    const std::int64_t scale = draw_.chance(25) ? 2 : 1;
    extents.push_back(std::max<std::int64_t>(1, scale * extent + draw_.pick(margins)));
  }
  auto [layout, elements] = written_layout(extents);
  isa::ExtentList list;
  const bool fixed = layout && layout->form == isa::ViewLayout::Form::memory;
  for (const std::int64_t extent : extents) {
    list.extents.push_back(fixed ? Expr::constant(extent) : known(extent));
  }
  if (layout && layout->form == isa::ViewLayout::Form::strides && draw_.chance(20)) {
    layout->strides[0] = Expr::constant(0);  // every row is the first
  }
  const std::int64_t bits = std::max(elements, isa::element_count(extents)) * dtype.bits;
  VarId pointer_var;
  isa::DType stored = dtype;
  for (const InputTensor& tensor : inputs_) {
    const bool enough = tensor.bits >= bits;
    if (enough && (draw_.chance(40) || static_cast<int>(inputs_.size()) >= most_inputs)) {
      pointer_var = tensor.pointer;
      stored = tensor.dtype;
    }
  }
  if (!pointer_var.valid()) {
    if (draw_.chance(15)) stored = some_type();
    const std::int64_t count = ceil_divide(bits, stored.bits) + draw_.below(3);
    pointer_var = pointer(stored, count, isa::PipelineTensor::Role::input);
    inputs_.push_back({pointer_var, count * stored.bits, stored});
  }
  std::optional<isa::DType> given;
  if (stored != dtype || draw_.chance(60)) given = dtype;
  const isa::ViewGlobal view{{pointer_var}, given, std::move(list), std::move(layout)};
  const VarId var = draw_.chance(75) ? add_first(view) : add(view);
  const InputView result{var, dtype, extents};
  views_.push_back(result);
  return result;
}

isa::OffsetList KernelBuilder::edge_offset(const Shape& extents, const Shape& tile) {
  isa::OffsetList list;
  const std::size_t fixed = extents.size() - tile.size();
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::int64_t extent = extents[d];
    if (d < fixed) {
      list.entries.push_back(
          {draw_.chance(85) ? within(0, extent - 1) : within(-1, extent), false});
      continue;
    }
    const std::int64_t size = tile[d - fixed];
    Expr begin = Expr::constant(0);
    const std::int64_t choice = draw_.below(100);
    if (choice < 45) {
      begin = Expr::constant(0);
    } else if (choice < 60) {
      begin = within(0, std::max<std::int64_t>(0, extent - size));
    } else if (choice < 75) {
      begin = within(-size, extent);
    } else if (choice < 80) {
      begin = known(extent - 1);
    } else if (choice < 84) {
      begin = known(-size + 1);
    } else if (choice < 86) {
      begin = draw_.chance(50) ? Expr::constant(std::numeric_limits<std::int32_t>::max())
                               : Expr::constant(Scalar::i64(std::int64_t{1} << 40));
    } else {
      const std::size_t dim =
          static_cast<std::size_t>(draw_.below(static_cast<std::int64_t>(grid_.size())));
      begin = Expr::binary(ScalarBinary::mul, block_index(dim), Expr::constant(size));
    }
    list.entries.push_back({begin, true});
  }
  return list;
}

isa::OffsetList KernelBuilder::inner_offset(const Shape& extents, const Shape& tile) {
  isa::OffsetList list;
  const std::size_t fixed = extents.size() - tile.size();
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const bool in_tile = d >= fixed;
    const std::int64_t last = extents[d] - (in_tile ? tile[d - fixed] : 1);
    list.entries.push_back({within(0, last), in_tile});
  }
  return list;
}

std::vector<isa::OffsetList::Entry> KernelBuilder::own_part() const {
  std::vector<isa::OffsetList::Entry> entries;
  for (std::size_t d = 0; d < grid_.size(); ++d) entries.push_back({block_index(d), false});
  return entries;
}

VarId KernelBuilder::plain_output(const isa::DType& dtype, const Shape& extents) {
  auto [layout, elements] = written_layout(extents);
  const std::int64_t count = std::max(elements, isa::element_count(extents));
  const VarId pointer_var = pointer(dtype, count, isa::PipelineTensor::Role::output);
  isa::ExtentList list;
  for (const std::int64_t extent : extents) list.extents.push_back(Expr::constant(extent));
  return add_first(isa::ViewGlobal{{pointer_var}, dtype, std::move(list), std::move(layout)});
}

VarId KernelBuilder::output_view(const isa::DType& dtype, const Shape& extents) {
  Shape all = grid_;
  all.insert(all.end(), extents.begin(), extents.end());
  return plain_output(dtype, all);
}

void KernelBuilder::store(const Tile& tile) {
  const Shape& shape = tile.type.shape();
  if (shape.size() + grid_.size() > static_cast<std::size_t>(isa::max_layout_rank)) return;
  std::vector<OutputPart> fitting;
  for (const OutputPart& part : outputs_) {
    if (part.dtype == tile.type.dtype && part.extents.size() == shape.size()) {
      fitting.push_back(part);
    }
  }
  OutputPart part;
  const bool full = static_cast<int>(outputs_.size()) >= most_outputs;
  if (!fitting.empty() && (full || draw_.chance(15))) {
    part = draw_.pick(fitting);
    synchronize();  // other threads may have stored there
  } else {
    if (full) return;
    static const std::vector<std::int64_t> margins = {0, 0, 0, 0, 1, 2, -1};
    for (const std::int64_t extent : shape) {
      part.extents.push_back(std::max<std::int64_t>(1, extent + draw_.pick(margins)));
    }
    part.dtype = tile.type.dtype;
    part.view = output_view(part.dtype, part.extents);
    outputs_.push_back(part);
    if (loops_ > 0) synchronize();
  }
  isa::OffsetList offset{own_part()};
  if (draw_.chance(70)) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      offset.entries.push_back({Expr::constant(0), true});
    }
  } else {
    const isa::OffsetList inner = edge_offset(part.extents, shape);
    offset.entries.insert(offset.entries.end(), inner.entries.begin(), inner.entries.end());
  }
  add(isa::StoreGlobal{{tile.var}, {part.view}, offset, some_cache_hint()});
}

std::optional<isa::CacheHint> KernelBuilder::some_cache_hint() {
  if (!draw_.chance(15)) return std::nullopt;
  return static_cast<isa::CacheHint>(
      draw_.below(static_cast<std::int64_t>(enumerator_count<isa::CacheHint>())));
}

void KernelBuilder::synchronize() {
  add(isa::Synchronize{});
  note_barrier();
}

void KernelBuilder::note_barrier() {
  for (OwnMemory& memory : memories_) memory.read = memory.written = false;
}

void KernelBuilder::before_read(OwnMemory& memory) {
  if (memory.written) synchronize();
  memory.read = true;
}

void KernelBuilder::before_write(OwnMemory& memory) {
  if (memory.written || memory.read) synchronize();
  memory.written = true;
}

void KernelBuilder::set_memory_state(const std::vector<OwnMemory>& state) {
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    const bool known_before = i < state.size();
    memories_[i].defined = known_before && state[i].defined;
    memories_[i].read = known_before && state[i].read;
    memories_[i].written = known_before && state[i].written;
  }
}

void KernelBuilder::join_memory_state(const std::vector<OwnMemory>& other) {
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    const bool known_there = i < other.size();
    memories_[i].defined = memories_[i].defined && known_there && other[i].defined;
    memories_[i].read = memories_[i].read || (known_there && other[i].read);
    memories_[i].written = memories_[i].written || (known_there && other[i].written);
  }
}

void KernelBuilder::assume_memory_touched() {
  for (OwnMemory& memory : memories_) memory.read = memory.written = true;
}

FinishedKernel KernelBuilder::finish() {
  TILEVM_CHECK(blocks_.size() == 1, "every block is closed");
  isa::Block body = std::move(first_);
  for (isa::Stmt& stmt : blocks_.front()) body.push_back(std::move(stmt));
  kernel_.body = std::move(body);
  return {std::move(kernel_), std::move(arguments_), std::move(defect_)};
}

}  // namespace tilevm::vm::fuzz
