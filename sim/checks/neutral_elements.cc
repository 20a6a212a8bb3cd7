#include "sim/checks/neutral_elements.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "isa/dot/dot_tiling.h"
#include "isa/type/bits.h"

namespace tilevm::sim {
namespace {

/// A register tile with the type of its elements.
struct TypedTile {
  Tile tile;
  isa::DType type;
};

TypedTile typed_tile(isa::VarId var, const Preparation& preparation) {
  return {preparation.tile(var), preparation.register_type(var).dtype};
}

std::uint64_t code_of(const Tile& tile, std::size_t t, std::size_t i, const Context& context) {
  const std::uint8_t* const thread =
      context.state.registers.at(tile.offset + t * tile.thread_bytes);
  return isa::get_bits(thread, i * tile.bits, tile.bits);
}

bool is_zero(const TypedTile& operand, std::size_t t, std::size_t i, const Context& context) {
  return is_neutral(code_of(operand.tile, t, i, context), isa::ReduceOp::add, operand.type);
}

/// Clears the marks of the elements of a tile for which `ignored(thread, place)` holds.
template <class F>
void clear_marks(const Tile& tile, Context& context, F&& ignored) {
  UndefinedRegisters& undefined = context.state.undefined;
  if (!undefined.marked(tile)) return;
  for (std::size_t t = 0; t < tile.threads; ++t) {
    for (std::size_t i = 0; i < tile.locals; ++i) {
      if (!undefined.element(tile, t, i) || !ignored(t, i)) continue;
      isa::put_bits(undefined.at(tile.offset) + t * tile.thread_bytes, i * tile.bits, tile.bits, 0);
    }
  }
  undefined.update(tile, Origin(undefined.origin(tile)));
}

/// The neutral elements of one operand that `op` combines.
NeutralElements neutral_for(isa::ReduceOp op, isa::VarId var, const Preparation& preparation) {
  const TypedTile operand = typed_tile(var, preparation);
  return {{operand.tile}, [operand, op](Context& context) {
            clear_marks(operand.tile, context, [&](std::size_t t, std::size_t i) {
              return is_neutral(code_of(operand.tile, t, i, context), op, operand.type);
            });
          }};
}

/// An operand of a product: a batch of matrices.
struct Factor {
  Factor(isa::VarId var, const Preparation& preparation)
      : operand(typed_tile(var, preparation)),
        shape(isa::as_batch(preparation.register_type(var).layout).shape()),
        parts(isa::as_batch(preparation.register_type(var).layout)) {}

  TypedTile operand;
  isa::Shape shape;
  LayoutParts parts;
};

/// By batch and by step along k: whether all elements of the step are zero. `dim` is that of k.
std::vector<bool> zero_steps(const Factor& matrices, std::size_t dim, const Context& context) {
  const std::int64_t steps = matrices.shape[dim];
  std::vector<bool> zero(static_cast<std::size_t>(matrices.shape[0] * steps), true);
  for (std::size_t t = 0; t < matrices.operand.tile.threads; ++t) {
    for (std::size_t i = 0; i < matrices.operand.tile.locals; ++i) {
      if (is_zero(matrices.operand, t, i, context)) continue;
      const isa::Index index = matrices.parts.index(t, i);
      zero[static_cast<std::size_t>(index[0] * steps + index[dim])] = false;
    }
  }
  return zero;
}

/// Whether the other operand is zero at the steps along k of an element; `step` scales its index.
bool meets_zeros(const std::vector<bool>& zero, std::int64_t batch, std::int64_t step,
                 std::int64_t steps, std::int64_t of_element) {
  for (std::int64_t k = step * of_element; k < (step + 1) * of_element; ++k) {
    if (!zero[static_cast<std::size_t>(batch * steps + k)]) return false;
  }
  return true;
}

/// The products of a matrix product: those with a zero change nothing.
struct Products {
  Factor a, b;
  std::optional<Factor> a_scales, b_scales;

  void operator()(Context& context) const {
    const std::vector<bool> zero_a = zero_steps(a, 2, context), zero_b = zero_steps(b, 1, context);
    clear(a, 2, zero_b, b.shape[1], true, context);
    clear(b, 1, zero_a, a.shape[2], true, context);
    if (a_scales) clear_scales(*a_scales, 2, zero_a, zero_b, context);
    if (b_scales) clear_scales(*b_scales, 1, zero_a, zero_b, context);
  }

 private:
  static void clear(const Factor& matrices, std::size_t dim, const std::vector<bool>& zero,
                    std::int64_t steps, bool values, Context& context) {
    const std::int64_t of_element = std::max<std::int64_t>(steps / matrices.shape[dim], 1);
    const bool is_alike = of_element * matrices.shape[dim] == steps;
    clear_marks(matrices.operand.tile, context, [&](std::size_t t, std::size_t i) {
      if (values && is_zero(matrices.operand, t, i, context)) return true;
      const isa::Index index = matrices.parts.index(t, i);
      return is_alike && meets_zeros(zero, index[0], index[dim], steps, of_element);
    });
  }
  void clear_scales(const Factor& scales, std::size_t dim, const std::vector<bool>& zero_a,
                    const std::vector<bool>& zero_b, Context& context) const {
    clear(scales, dim, zero_a, a.shape[2], false, context);
    clear(scales, dim, zero_b, b.shape[1], false, context);
  }
};

NeutralElements products(Products&& operands, std::vector<Tile> tiles) {
  return {std::move(tiles), [shared = std::make_shared<const Products>(std::move(operands))](
                                Context& context) { (*shared)(context); }};
}

/// The operation of an element-wise instruction as that of a Reduce; nothing if it is none.
std::optional<isa::ReduceOp> accumulation(isa::BinaryOp op) {
  if (op == isa::BinaryOp::sub) return isa::ReduceOp::add;  // 0 is neutral as what is subtracted
  for (const isa::ReduceOp each :
       {isa::ReduceOp::add, isa::ReduceOp::mul, isa::ReduceOp::max, isa::ReduceOp::min,
        isa::ReduceOp::bit_and, isa::ReduceOp::bit_or, isa::ReduceOp::bit_xor}) {
    if (isa::combination(each) == op) return each;
  }
  return std::nullopt;
}

/// Zeros of both matrices of a sparse product, wherever they meet.
NeutralElements zeros_of_sparse(isa::VarId left, isa::VarId right, const Preparation& preparation) {
  const TypedTile a = typed_tile(left, preparation), b = typed_tile(right, preparation);
  return {{a.tile, b.tile}, [a, b](Context& context) {
            for (const TypedTile& operand : {a, b}) {
              clear_marks(operand.tile, context, [&](std::size_t t, std::size_t i) {
                return is_zero(operand, t, i, context);
              });
            }
          }};
}

}  // namespace

bool is_neutral(std::uint64_t code, isa::ReduceOp op, const isa::DType& type) {
  if (code == isa::identity(op, type)) return true;
  const bool is_sum = op == isa::ReduceOp::add && type.is_float() && type.has_sign();
  return is_sum && code == std::uint64_t{1} << (type.bits - 1U);  // -0
}

NeutralElements neutral_elements(const isa::Reduce& inst, const Preparation& preparation) {
  return neutral_for(inst.op, inst.src.var, preparation);
}

NeutralElements neutral_elements(const isa::Scan& inst, const Preparation& preparation) {
  return neutral_for(inst.op, inst.src.var, preparation);
}

NeutralElements neutral_in_place(isa::BinaryOp op, isa::VarId a, isa::VarId b,
                                 const Preparation& preparation) {
  const auto combines = accumulation(op);
  if (!combines || a == b) return {};
  if (preparation.result() == a) return neutral_for(*combines, b, preparation);
  const bool either = op != isa::BinaryOp::sub && preparation.result() == b;
  return either ? neutral_for(*combines, a, preparation) : NeutralElements{};
}

NeutralElements neutral_elements(const isa::Fma& inst, const Preparation& preparation) {
  if (preparation.result() != inst.c.var) return {};
  const TypedTile a = typed_tile(inst.a.var, preparation), b = typed_tile(inst.b.var, preparation);
  const bool is_alike =
      preparation.register_type(inst.a.var).layout == preparation.register_type(inst.b.var).layout;
  return {{a.tile, b.tile}, [a, b, is_alike](Context& context) {
            const auto clear = [&](const TypedTile& one, const TypedTile& other) {
              clear_marks(one.tile, context, [&](std::size_t t, std::size_t i) {
                return is_zero(one, t, i, context) || (is_alike && is_zero(other, t, i, context));
              });
            };
            clear(a, b);
            clear(b, a);
          }};
}

NeutralElements neutral_in_product(const isa::ProductOperands& operands,
                                   const Preparation& preparation) {
  const auto factor = [&](isa::VarId var) { return Factor(var, preparation); };
  const isa::VarId left = operands.left, right = operands.right;
  if (operands.is_sparse()) return zeros_of_sparse(left, right, preparation);
  if (!operands.is_scaled()) {
    return products({factor(left), factor(right), {}, {}},
                    {preparation.tile(left), preparation.tile(right)});
  }
  const isa::VarId left_scales = operands.left_scales, right_scales = operands.right_scales;
  return products({factor(left), factor(right), factor(left_scales), factor(right_scales)},
                  {preparation.tile(left), preparation.tile(right), preparation.tile(left_scales),
                   preparation.tile(right_scales)});
}

UndefinedTransfer ignore_neutral(NeutralElements neutral, UndefinedTransfer transfer,
                                 const Preparation& preparation) {
  if (neutral.tiles.empty()) return transfer;
  const auto shared = std::make_shared<const NeutralElements>(std::move(neutral));
  std::vector<std::size_t> results;
  for (const isa::VarId result : preparation.stmt.results) {
    results.push_back(preparation.tile(result).offset);
  }
  const auto before = [shared, inner = transfer.before](Context& context) {
    std::vector<KeptMask>& kept = context.scratch.kept_masks;
    kept.clear();
    const UndefinedRegisters& undefined = context.state.undefined;
    for (const Tile& tile : shared->tiles) {
      if (!undefined.marked(tile)) continue;
      const std::uint8_t* const bits = undefined.at(tile.offset);
      kept.push_back({tile, undefined.origin(tile), {bits, bits + tile.bytes()}});
    }
    if (!kept.empty()) shared->clear_marks(context);
    return !inner || inner(context);
  };
  const auto after = [results = std::move(results), inner = transfer.after](Context& context) {
    if (inner) inner(context);
    UndefinedRegisters& undefined = context.state.undefined;
    for (const KeptMask& kept : context.scratch.kept_masks) {
      const bool is_result =
          std::find(results.begin(), results.end(), kept.tile.offset) != results.end();
      if (is_result) continue;
      std::memcpy(undefined.at(kept.tile.offset), kept.bits.data(), kept.bits.size());
      undefined.update(kept.tile, kept.origin);
    }
  };
  return {before, after};
}

}  // namespace tilevm::sim
