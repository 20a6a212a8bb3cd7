// Asynchronous products of warp groups.
#include <algorithm>
#include <optional>
#include <utility>

#include "isa/base/check.h"
#include "isa/dot/shared_matrix.h"
#include "isa/type/bits.h"
#include "sim/checks/product_checks.h"
#include "sim/exec/dot_actions.h"
#include "sim/exec/semantics.h"
#include "sim/flight/async_product.h"
#include "sim/shadow/shadow_access.h"
#include "sim/shadow/shadow_tile.h"

namespace tilevm::sim {
namespace {

bool flag_of(const std::optional<isa::ScalarOperand>& flag) {
  return flag && flag->value.constant_value()->as_bool();
}

/// An operand in shared memory: the access, and the tile that one thread holds. The access goes
/// through the tensor's dimensions in row-major order, which is column-major in the matrix if it is
/// transposed.
struct SharedMatrixTile {
  SharedAccess access;
  isa::RegisterType type;
};

SharedMatrixTile shared_tile(isa::VarId var, const std::optional<isa::OffsetList>& offset,
                             bool transposed, const Preparation& preparation) {
  const isa::SharedType& tensor = preparation.shared_type(var);
  const isa::Shape shape = *isa::matrix_shape({tensor, offset, transposed});
  const isa::Shape stored = transposed ? isa::Shape{shape[1], shape[0]} : shape;
  const isa::RegisterType type{tensor.dtype,
                               transposed ? *isa::column_local(shape) : *isa::local(shape)};
  const Tile tile = make_tile(type, 0);
  SharedMatrixTile result{
      make_shared_access(var, stored, offset, tile, preparation.tables.parts(stored), preparation),
      type};
  result.access.by_warps = true;
  return result;
}

/// The undefined elements of an operand, as rows of a or columns of b that have one.
class UndefinedLines {
 public:
  UndefinedLines(std::size_t lines, bool are_rows) : marks_(lines, false), are_rows_(are_rows) {}

  void add(std::size_t row, std::size_t column) {
    marks_[are_rows_ ? row : column] = true;
    any_ = true;
  }
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] bool operator[](std::size_t line) const { return marks_[line]; }

 private:
  std::vector<bool> marks_;
  bool are_rows_, any_ = false;
};

/// Undefined elements and padding in the operands, and what they make of the result. Padding that
/// is zero changes nothing.
class UndefinedProduct {
 public:
  UndefinedProduct(const ProductPlan& plan, const AsyncTiles& types, bool follows_padding)
      : plan_(plan), tiles_(types), follows_padding_(follows_padding) {}

  void mark(const PendingProduct& product, Context& context) const {
    const Checks& checks = context.settings.checks;
    if (!checks.uninitialized && !checks.padding) return;  // registers have no masks then
    UndefinedRegisters& undefined = context.state.undefined;
    const SharedMemory& shared = context.state.shared;
    const bool may_be = undefined.any() || may_be_undefined(plan_.b, shared) ||
                        (plan_.a_shared && may_be_undefined(*plan_.a_shared, shared));
    if (!may_be) return;
    UndefinedLines rows(extent(tiles_.c_type, 0), true), columns(extent(tiles_.c_type, 1), false);
    std::optional<Origin> origin;
    if (plan_.a_shared) {
      mark_shared(*plan_.a_shared, product.a_origin, rows, origin, context);
    } else if (undefined.marked(plan_.a)) {
      mark_registers(rows, context);
      origin = undefined.origin(plan_.a);
    }
    mark_shared(plan_.b, product.b_origin, columns, origin, context);
    const bool adds = product.accumulate && undefined.marked(plan_.c);
    if (adds && !origin) origin = undefined.origin(plan_.c);
    if (!origin) return undefined.clear(plan_.result);
    mark_result(rows, columns, adds, *origin, context);
  }

 private:
  static std::size_t extent(const isa::RegisterType& type, std::size_t dim) {
    return static_cast<std::size_t>(type.shape()[dim]);
  }

  void mark_shared(const SharedAccess& access, const TileOrigin& at, UndefinedLines& lines,
                   std::optional<Origin>& origin, Context& context) const {
    const SharedMemory& shared = context.state.shared;
    if (!may_be_undefined(access, shared)) return;
    const ResolvedAccess resolved = resolve_at(access, at, context);
    const isa::RegisterLayout& layout = layout_of(access);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const std::uint64_t bit = resolved.bit_of(0, i);
      if (isa::get_bits(shared.undefined.data(), bit, access.tile.bits) == 0) continue;
      const bool is_neutral =
          follows_padding_ && isa::get_bits(shared.bytes.data(), bit, access.tile.bits) == 0;
      if (is_neutral) continue;
      const isa::Index element = layout.element(0, static_cast<std::int64_t>(i));
      lines.add(static_cast<std::size_t>(element[0]), static_cast<std::size_t>(element[1]));
      origin = follows_padding_ ? context.state.padding[access.tensor_number]
                                : Origin{access.mnemonic, access.span};
    }
  }
  [[nodiscard]] const isa::RegisterLayout& layout_of(const SharedAccess& access) const {
    return &access == &plan_.b ? tiles_.b_type.layout : tiles_.a_type.layout;
  }

  void mark_registers(UndefinedLines& rows, Context& context) const {
    const isa::RegisterLayout& layout = tiles_.a_type.layout;
    for (std::size_t t = 0; t < plan_.a.threads; ++t) {
      for (std::size_t i = 0; i < plan_.a.locals; ++i) {
        if (!context.state.undefined.element(plan_.a, t, i)) continue;
        const isa::Index at =
            layout.element(static_cast<std::int64_t>(t), static_cast<std::int64_t>(i));
        rows.add(static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1]));
      }
    }
  }

  void mark_result(const UndefinedLines& rows, const UndefinedLines& columns, bool adds,
                   const Origin& origin, Context& context) const {
    UndefinedRegisters& undefined = context.state.undefined;
    const isa::RegisterLayout& layout = tiles_.c_type.layout;
    std::vector<std::uint8_t> bits(plan_.result.bytes(), 0);
    for (std::size_t t = 0; t < plan_.result.threads; ++t) {
      for (std::size_t i = 0; i < plan_.result.locals; ++i) {
        const isa::Index at =
            layout.element(static_cast<std::int64_t>(t), static_cast<std::int64_t>(i));
        const bool is_undefined = rows[static_cast<std::size_t>(at[0])] ||
                                  columns[static_cast<std::size_t>(at[1])] ||
                                  (adds && undefined.element(plan_.c, t, i));
        if (!is_undefined) continue;
        isa::put_bits(bits.data() + t * plan_.result.thread_bytes, i * plan_.result.bits,
                      plan_.result.bits, ~std::uint64_t{0});
      }
    }
    std::copy(bits.begin(), bits.end(), undefined.at(plan_.result.offset));
    undefined.update(plan_.result, origin);
  }

  const ProductPlan& plan_;
  AsyncTiles tiles_;
  bool follows_padding_;
};

/// A DotAsync, prepared, with the types that undefined elements are followed by.
struct AsyncDot {
  ProductPlan plan;
  AsyncTiles tiles;
};

std::shared_ptr<const AsyncDot> make_async_dot(const isa::DotAsync& inst,
                                               const Preparation& preparation) {
  auto dot = std::make_shared<AsyncDot>();
  ProductPlan& plan = dot->plan;
  AsyncTiles& tiles = dot->tiles;
  plan.mnemonic = preparation.mnemonic();
  plan.span = preparation.span;
  plan.shape = preparation.info.dot_plan(preparation.stmt).shape;
  if (const auto* shared = std::get_if<isa::SharedOperand>(&inst.a.value)) {
    SharedMatrixTile tile =
        shared_tile(shared->var, inst.a_offset, flag_of(inst.transpose_a), preparation);
    tiles.a_type = std::move(tile.type);
    tiles.a = tile.access.tile;
    plan.a_shared = std::move(tile.access);
  } else {
    const isa::VarId a = std::get<isa::RegisterOperand>(inst.a.value).var;
    tiles.a_type = preparation.register_type(a);
    tiles.a = preparation.tile(a);
    plan.a_name = preparation.name(a);
  }
  SharedMatrixTile b =
      shared_tile(inst.b.var, inst.b_offset, flag_of(inst.transpose_b), preparation);
  tiles.b_type = std::move(b.type);
  tiles.b = b.access.tile;
  plan.b = std::move(b.access);
  tiles.c_type = preparation.register_type(inst.c.var);
  tiles.c = preparation.tile(inst.c.var);
  tiles.result = preparation.result_tile();
  plan.a = tiles.a;
  plan.b_tile = tiles.b;
  plan.c = tiles.c;
  plan.result = tiles.result;
  plan.c_name = preparation.name(inst.c.var);
  plan.result_name = preparation.name(preparation.result());
  plan.always_adds = !inst.accumulate.has_value();
  if (inst.accumulate) plan.accumulate = ScalarCode(inst.accumulate->value);
  const auto rule = isa::mma_rule(preparation.program.target(), *plan.shape);
  TILEVM_CHECK(rule.has_value(), "a product by an instruction without a rule");
  plan.multiply =
      rule->method == isa::MmaMethod::integer
          ? async_integer_dot(tiles, preparation.tables)
          : async_block_dot(tiles, *plan.shape, *rule,
                            {flag_of(inst.negate_a), flag_of(inst.negate_b)}, preparation.tables);
  return dot;
}

/// The values of a matrix in row-major order, from those in the order of its layout.
void reorder(const isa::RegisterLayout& layout, std::vector<double>& values) {
  const std::vector<double> stored = values;
  const auto columns = static_cast<std::size_t>(layout.shape()[1]);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const isa::Index at = layout.element(0, static_cast<std::int64_t>(i));
    values[static_cast<std::size_t>(at[0]) * columns + static_cast<std::size_t>(at[1])] = stored[i];
  }
}

/// Values of an operand in shared memory in row-major order, negated or not.
void read_values(const ResolvedAccess& operand, const isa::RegisterLayout& layout, bool transposed,
                 bool negate, ShadowPairs& values, Context& context) {
  read_shadow(operand, values, context);
  if (transposed) {
    reorder(layout, values.own);
    reorder(layout, values.shadow);
  }
  if (!negate) return;
  for (double& value : values.own) value = -value;
  for (double& value : values.shadow) value = -value;
}

}  // namespace

template <>
Action prepare(const isa::DotAsync& inst, const Preparation& preparation) {
  auto dot = make_async_dot(inst, preparation);
  return [dot = std::move(dot), follows_padding = preparation.follows_padding](Context& context) {
    if (!issue_product(dot->plan, context)) return false;
    const UndefinedProduct undefined(dot->plan, dot->tiles, follows_padding);
    if (!context.state.products.pending.empty()) {
      undefined.mark(context.state.products.pending.back(), context);
    }
    return true;
  };
}

template <>
Action prepare(const isa::DotAsyncCommitGroup&, const Preparation& preparation) {
  return [mnemonic = preparation.mnemonic(), span = preparation.span](Context& context) {
    return commit_products(mnemonic, span, context);
  };
}

template <>
Action prepare(const isa::DotAsyncWaitGroup& inst, const Preparation& preparation) {
  const auto pending = static_cast<std::uint64_t>(inst.pending.value.constant_int().value_or(0));
  return [pending, site = ProductWaitSite{preparation.mnemonic(), preparation.span,
                                          preparation.new_barrier()}](Context& context) {
    return wait_for_products(pending, site, context);
  };
}

/// The action marks the result itself, since it alone knows the operands in shared memory.
template <>
UndefinedTransfer undefined_transfer(const isa::DotAsync&, const Preparation&) {
  return {};
}

template <>
ShadowFlow shadow_flow(const isa::DotAsync& inst, const Preparation& preparation) {
  auto dot = make_async_dot(inst, preparation);
  std::optional<ShadowTile> left;
  if (!dot->plan.a_shared) {
    left.emplace(std::get<isa::RegisterOperand>(inst.a.value).var, preparation);
  }
  return multiplied_from_shared(
      [dot = std::move(dot), left = std::move(left), added = ShadowTile(inst.c.var, preparation),
       negate_a = flag_of(inst.negate_a), negate_b = flag_of(inst.negate_b),
       transpose_a = flag_of(inst.transpose_a),
       transpose_b = flag_of(inst.transpose_b)](Context& context) -> isa::Shape {
        const ProductPlan& plan = dot->plan;
        Scratch& scratch = context.scratch;
        ResolvedAccess operand;
        if (left) {
          left->read(context.state, scratch.shadow_a);
          for (double& value : scratch.shadow_a.own) value = negate_a ? -value : value;
          for (double& value : scratch.shadow_a.shadow) value = negate_a ? -value : value;
        } else if (resolve(*plan.a_shared, context, operand)) {
          read_values(operand, dot->tiles.a_type.layout, transpose_a, negate_a, scratch.shadow_a,
                      context);
        }
        if (resolve(plan.b, context, operand)) {
          read_values(operand, dot->tiles.b_type.layout, transpose_b, negate_b, scratch.shadow_b,
                      context);
        }
        added.read(context.state, scratch.shadow);
        std::uint64_t accumulate = 1;
        if (!plan.always_adds && context.evaluate(plan.accumulate, accumulate) && accumulate == 0) {
          std::ranges::fill(scratch.shadow.own, 0.0);
          std::ranges::fill(scratch.shadow.shadow, 0.0);
        }
        return dot->tiles.a_type.shape();
      },
      static_cast<std::size_t>(preparation.register_type(inst.c.var).shape()[1]), preparation);
}

/// Elements of registers alone: the addend's, and the row of a where a is in registers.
template <>
DataFlow data_flow(const isa::DotAsync& inst, const Preparation& preparation) {
  const auto* left = std::get_if<isa::RegisterOperand>(&inst.a.value);
  std::vector<std::vector<ElementSource>> rows;
  if (left != nullptr) {
    const isa::RegisterLayout& layout = preparation.register_type(left->var).layout;
    rows.resize(static_cast<std::size_t>(layout.shape()[0]));
    for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
      for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
        rows[static_cast<std::size_t>(layout.element(t, i)[0])].push_back(
            {left->var, static_cast<std::size_t>(t), static_cast<std::size_t>(i)});
      }
    }
  }
  return {DataFlow::Kind::computed,
          {},
          [rows = std::move(rows), c = inst.c.var,
           layout = preparation.register_type(inst.c.var).layout](std::size_t thread,
                                                                  std::size_t place) {
            std::vector<ElementSource> sources{{c, thread, place}};
            if (rows.empty()) return sources;
            const isa::Index at =
                layout.element(static_cast<std::int64_t>(thread), static_cast<std::int64_t>(place));
            const auto& row = rows[static_cast<std::size_t>(at[0])];
            sources.insert(sources.end(), row.begin(), row.end());
            return sources;
          }};
}

}  // namespace tilevm::sim
