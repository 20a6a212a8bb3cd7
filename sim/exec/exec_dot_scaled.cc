// DotScaled: each element of the result is a chain of block-scaled instructions over k, computed by
// the exact model (sim/mma/mma_model.h).
#include <span>
#include <utility>
#include <vector>

#include "isa/base/check.h"
#include "sim/exec/dot_actions.h"
#include "sim/mma/mma_model.h"

namespace tilevm::sim {
namespace {

/// The codes of a tile in another order, as the model takes them.
struct ScaledOperand {
  Tile tile;
  SharedTables::Table owners;

  template <class Code>
  void gather(const RegisterSlab& registers, std::vector<std::uint32_t>& codes,
              std::vector<Code>& out) const {
    codes.resize(owners->size());
    sim::gather(*owners, tile.bits, registers.at(tile.offset), codes.data());
    out.resize(codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) out[i] = static_cast<Code>(codes[i]);
  }
};

struct ScaledDot {
  ScaledDot(const isa::DotScaled& inst, const isa::MmaShape& mma_shape,
            const isa::MmaRule& mma_rule, const Preparation& preparation);
  void run(Context& context) const;

  const isa::MmaShape& shape;
  isa::MmaRule rule;
  DotOperands operands;
  std::size_t scales;         ///< of a row of a
  ScaledOperand a, a_scales;  ///< [batch][m][k]
  ScaledOperand b, b_scales;  ///< [batch][n][k]
  SharedTables::Table c_owners, c_positions;
};

ScaledOperand rows_of(isa::VarId var, std::size_t rows, std::size_t columns,
                      const Preparation& preparation) {
  return {preparation.tile(var),
          preparation.tables.owners(preparation.register_type(var),
                                    {rows * columns, rows, columns, 0, columns, 0, 1})};
}

ScaledOperand columns_of(isa::VarId var, std::size_t rows, std::size_t columns,
                         const Preparation& preparation) {
  return {preparation.tile(var),
          preparation.tables.owners(preparation.register_type(var),
                                    {rows * columns, rows, columns, 0, 1, 0, rows})};
}

ScaledDot::ScaledDot(const isa::DotScaled& inst, const isa::MmaShape& mma_shape,
                     const isa::MmaRule& mma_rule, const Preparation& preparation)
    : shape(mma_shape),
      rule(mma_rule),
      operands(inst.a.var, inst.b.var, inst.c.var, preparation),
      scales(operands.k / static_cast<std::size_t>(shape.k / shape.scales())),
      a(rows_of(inst.a.var, operands.m, operands.k, preparation)),
      a_scales(rows_of(inst.a_scales.var, operands.m, scales, preparation)),
      b(columns_of(inst.b.var, operands.k, operands.n, preparation)),
      b_scales(columns_of(inst.b_scales.var, scales, operands.n, preparation)) {
  const auto [m, n] = std::pair(operands.m, operands.n);
  const MatrixOrder c_order{m * n, m, n, 0, n, 0, 1};
  c_owners = preparation.tables.owners(preparation.register_type(inst.c.var), c_order);
  c_positions = preparation.tables.positions(preparation.register_type(inst.c.var), c_order);
}

void ScaledDot::run(Context& context) const {
  RegisterSlab& registers = context.state.registers;
  Scratch& scratch = context.scratch;
  std::vector<std::uint64_t> left, right;
  std::vector<std::uint8_t> left_scales, right_scales;
  a.gather(registers, scratch.codes_a, left);
  a_scales.gather(registers, scratch.codes_a, left_scales);
  b.gather(registers, scratch.codes_b, right);
  b_scales.gather(registers, scratch.codes_b, right_scales);
  scratch.codes_c.resize(c_owners->size());
  sim::gather(*c_owners, operands.c.bits, registers.at(operands.c.offset), scratch.codes_c.data());
  const std::size_t m = operands.m, n = operands.n, k = operands.k;
  const auto step = static_cast<std::size_t>(shape.k),
             step_scales = static_cast<std::size_t>(shape.scales());
  for (std::size_t e = 0; e < scratch.codes_c.size(); ++e) {
    const std::size_t row = e / n, column = row / m * n + e % n;
    std::uint64_t sum = scratch.codes_c[e];
    for (std::size_t i = 0; i < k / step; ++i) {
      const auto codes = [&](const std::vector<std::uint64_t>& all, std::size_t line) {
        return std::span(all).subspan(line * k + i * step, step);
      };
      const auto scales_of = [&](const std::vector<std::uint8_t>& all, std::size_t line) {
        return std::span(all).subspan(line * scales + i * step_scales, step_scales);
      };
      sum = mma_reference(rule, shape.a, shape.b, codes(left, row), codes(right, column), sum,
                          {scales_of(left_scales, row), scales_of(right_scales, column)});
    }
    scratch.codes_c[e] = static_cast<std::uint32_t>(sum);
  }
  scatter<std::uint32_t>(*c_positions, scratch.codes_c.data(),
                         registers.at(operands.result.offset));
}

}  // namespace

template <>
Action prepare(const isa::DotScaled& inst, const Preparation& preparation) {
  const isa::MmaShape& shape = *preparation.info.dot_plan(preparation.stmt).shape;
  const auto rule = isa::mma_rule(preparation.program.target(), shape);
  TILEVM_CHECK(rule.has_value(), "a plan uses an instruction without a rule");
  auto dot = std::make_shared<const ScaledDot>(inst, shape, *rule, preparation);
  return [dot = std::move(dot)](Context& context) {
    dot->run(context);
    return true;
  };
}

template <>
UndefinedTransfer undefined_transfer(const isa::DotScaled& inst, const Preparation& preparation) {
  return product_transfer({inst.a.var, inst.a_scales.var}, {inst.b.var, inst.b_scales.var},
                          inst.c.var, preparation);
}

template <>
ShadowFlow shadow_flow(const isa::DotScaled& inst, const Preparation& preparation) {
  return multiplied_scaled(inst, preparation);
}

template <>
DataFlow data_flow(const isa::DotScaled& inst, const Preparation& preparation) {
  return scaled_product_flow(inst, preparation);
}

}  // namespace tilevm::sim
