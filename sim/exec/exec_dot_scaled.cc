// DotScaled: tiles become matrices of codes and of scales, block-scaled instructions run on them
// (sim/mma/scaled_tile.h), the sums go back.
#include <utility>
#include <vector>

#include "isa/base/check.h"
#include "sim/exec/dot_actions.h"
#include "sim/mma/scaled_tile.h"

namespace tilevm::sim {
namespace {

/// The codes of a tile in the order in which instructions take them.
struct ScaledMatrix {
  Tile tile;
  SharedTables::Table owners;

  ScaledMatrix(isa::VarId var, const MatrixOrder& order, const Preparation& preparation)
      : tile(preparation.tile(var)),
        owners(preparation.tables.owners(preparation.register_type(var), order)) {}

  void gather(const RegisterSlab& registers, std::vector<std::uint32_t>& codes) const {
    codes.resize(owners->size());
    sim::gather(*owners, tile.bits, registers.at(tile.offset), codes.data());
  }
};

/// The extents of an instruction, and how many of them make a product.
struct ScaledExtents {
  std::size_t m, n, k, scales;
  std::size_t m_tiles, n_tiles, k_tiles;

  ScaledExtents(const isa::MmaShape& shape, const DotOperands& all)
      : m(static_cast<std::size_t>(shape.m)),
        n(static_cast<std::size_t>(shape.n)),
        k(static_cast<std::size_t>(shape.k)),
        scales(static_cast<std::size_t>(shape.scales())),
        m_tiles(all.m / m),
        n_tiles(all.n / n),
        k_tiles(all.k / k) {}

  /// [batch][k tile][m tile][k][m], for `columns` of an instruction: its k, or its scales.
  [[nodiscard]] MatrixOrder rows(std::size_t columns) const {
    const std::size_t all = m_tiles * m * columns;
    return {all * k_tiles, m, columns, m * columns, 1, all, m};
  }
  /// [batch][k tile][n tile][n][k], for `rows` of an instruction.
  [[nodiscard]] MatrixOrder columns(std::size_t rows) const {
    const std::size_t all = n_tiles * n * rows;
    return {all * k_tiles, rows, n, all, 1, n * rows, rows};
  }
  /// [batch][m tile][n tile][n][m]
  [[nodiscard]] MatrixOrder sums() const {
    return {m_tiles * m * n_tiles * n, m, n, n_tiles * m * n, 1, m * n, m};
  }
};

struct ScaledDot {
  ScaledDot(const isa::DotScaled& inst, const isa::MmaShape& shape, const isa::MmaRule& rule,
            const Preparation& preparation);
  void run(Context& context) const;

 private:
  /// The codes of one execution, and the operands of instructions.
  struct Matrices {
    std::vector<std::uint32_t> a, a_scales, b, b_scales;
    ScaledOperandA left;
    std::vector<ScaledOperandB> right;
  };
  void multiply_step(std::size_t product, std::size_t k_tile, Matrices& matrices,
                     std::vector<std::uint32_t>& sums) const;

  ScaledTile unit;
  DotOperands operands;
  ScaledExtents extents;
  ScaledMatrix a, a_scales, b, b_scales, c;
  SharedTables::Table c_positions;
};

ScaledDot::ScaledDot(const isa::DotScaled& inst, const isa::MmaShape& shape,
                     const isa::MmaRule& rule, const Preparation& preparation)
    : unit(rule, shape),
      operands(isa::product_operands(inst), preparation),
      extents(shape, operands),
      a(inst.a.var, extents.rows(extents.k), preparation),
      a_scales(inst.a_scales.var, extents.rows(extents.scales), preparation),
      b(inst.b.var, extents.columns(extents.k), preparation),
      b_scales(inst.b_scales.var, extents.columns(extents.scales), preparation),
      c(inst.c.var, extents.sums(), preparation),
      c_positions(
          preparation.tables.positions(preparation.register_type(inst.c.var), extents.sums())) {
  TILEVM_CHECK(shape.m == mma_rows && shape.n <= mma_max_columns,
               "a DotScaled plan uses an instruction that the kernel does not know");
}

/// c += a * b for one step of k of one product, over all tiles of m and n.
void ScaledDot::multiply_step(std::size_t product, std::size_t k_tile, Matrices& matrices,
                              std::vector<std::uint32_t>& sums) const {
  const auto& [m, n, k, scales, m_tiles, n_tiles, k_tiles] = extents;
  const std::size_t step = product * k_tiles + k_tile;
  for (std::size_t j = 0; j < n_tiles; ++j) {
    const std::size_t first = (step * n_tiles + j) * n;
    unit.load_b(matrices.b.data() + first * k, matrices.b_scales.data() + first * scales,
                static_cast<int>(n), matrices.right[j]);
  }
  std::uint32_t* d = sums.data() + product * operands.m * operands.n;
  for (std::size_t i = 0; i < m_tiles; ++i) {
    const std::size_t first = (step * m_tiles + i) * m;
    unit.load_a(matrices.a.data() + first * k, matrices.a_scales.data() + first * scales,
                matrices.left);
    for (std::size_t j = 0; j < n_tiles; ++j, d += m * n) {
      unit.multiply(matrices.left, matrices.right[j], d, d);
    }
  }
}

void ScaledDot::run(Context& context) const {
  RegisterSlab& registers = context.state.registers;
  std::vector<std::uint32_t>& sums = context.scratch.codes_c;
  Matrices matrices;
  a.gather(registers, matrices.a);
  a_scales.gather(registers, matrices.a_scales);
  b.gather(registers, matrices.b);
  b_scales.gather(registers, matrices.b_scales);
  c.gather(registers, sums);
  matrices.right.resize(extents.n_tiles);
  for (std::size_t product = 0; product < operands.batch; ++product) {
    for (std::size_t k_tile = 0; k_tile < extents.k_tiles; ++k_tile) {
      multiply_step(product, k_tile, matrices, sums);
    }
  }
  scatter<std::uint32_t>(*c_positions, sums.data(), registers.at(operands.result.offset));
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
  return product_transfer(isa::product_operands(inst), preparation);
}

template <>
ShadowFlow shadow_flow(const isa::DotScaled& inst, const Preparation& preparation) {
  return multiplied(isa::product_operands(inst), preparation);
}

template <>
DataFlow data_flow(const isa::DotScaled& inst, const Preparation& preparation) {
  return product_flow(isa::product_operands(inst), preparation);
}

}  // namespace tilevm::sim
