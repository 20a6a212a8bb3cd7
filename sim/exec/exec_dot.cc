// Dot: tiles become matrices of codes, tensor-core instructions run on them, the sums go back.
//
// The plan (isa/dot/dot.h) says which instruction runs and that k ascends. The rule
// (isa/numeric/mma_rules.h) says how the instruction adds. Warps need not be simulated one by one:
// each output element is a chain over k, whichever thread owns the element. This file has the
// instructions that work in blocks; exec_dot_integer.cc and exec_dot_chain.cc have the others.
#include <optional>
#include <utility>

#include "isa/base/check.h"
#include "isa/dot/dot_tiling.h"
#include "sim/exec/dot_actions.h"

namespace tilevm::sim {
namespace {

/// Products of m x k by k x n, in tiles of the instruction.
struct BlockDot {
  BlockDot(const isa::MmaShape& mma_shape, const isa::MmaRule& rule, const DotOperands& all)
      : shape(mma_shape),
        unit(rule, mma_shape.a, mma_shape.b, static_cast<int>(mma_shape.k), best_simd_level(),
             mma_shape.sparse),
        operands(all) {}

  const isa::MmaShape& shape;
  MmaTile unit;
  DotOperands operands;
  std::size_t m_tiles = 0, n_tiles = 0, k_tiles = 0;
  SharedTables::Table a_owners;        ///< [batch][k tile][m tile][k][m], of stored elements
  std::optional<SparsePlaces> places;  ///< metadata of a sparse product, in the same order
  SharedTables::Table b_owners;        ///< [batch][k tile][n tile][n][k]
  SharedTables::Table c_owners;        ///< [batch][m tile][n tile][n][m]
  SharedTables::Table c_positions;

  [[nodiscard]] bool run(Context& context) const;
};

/// c += a * b for one step of k of one product, over all tiles of m and n.
void multiply_step(const BlockDot& dot, std::size_t product, std::size_t k_tile, Scratch& scratch) {
  const auto m = static_cast<std::size_t>(dot.shape.m), n = static_cast<std::size_t>(dot.shape.n),
             k = static_cast<std::size_t>(dot.shape.k),
             stored = static_cast<std::size_t>(dot.shape.stored_k());
  const std::size_t step = product * dot.k_tiles + k_tile, first = step * dot.m_tiles * m * stored;
  const std::uint32_t* b = scratch.codes_b.data() + step * dot.n_tiles * n * k;
  scratch.operands_a.resize(1);
  scratch.operands_b.resize(dot.n_tiles);
  for (std::size_t j = 0; j < dot.n_tiles; ++j) {
    dot.unit.load_b(b + j * n * k, static_cast<int>(n), scratch.operands_b[j]);
  }
  std::uint32_t* c = scratch.codes_c.data() + product * dot.operands.m * dot.operands.n;
  for (std::size_t i = 0; i < dot.m_tiles; ++i) {
    const std::uint32_t* a = scratch.codes_a.data() + first + i * m * stored;
    if (dot.places) {
      dot.unit.load_sparse_a(a, scratch.codes_places.data() + first + i * m * stored,
                             scratch.operands_a[0]);
    } else {
      dot.unit.load_a(a, scratch.operands_a[0]);
    }
    for (std::size_t j = 0; j < dot.n_tiles; ++j, c += m * n) {
      dot.unit.multiply(scratch.operands_a[0], scratch.operands_b[j], c, c);
    }
  }
}

void gather_codes(const SharedTables::Table& owners, const Tile& tile,
                  const RegisterSlab& registers, std::vector<std::uint32_t>& out) {
  out.resize(owners->size());
  gather(*owners, tile.bits, registers.at(tile.offset), out.data());
}

bool BlockDot::run(Context& context) const {
  if (places && !places->gather(context)) return false;
  RegisterSlab& registers = context.state.registers;
  Scratch& scratch = context.scratch;
  gather_codes(a_owners, operands.a, registers, scratch.codes_a);
  gather_codes(b_owners, operands.b, registers, scratch.codes_b);
  gather_codes(c_owners, operands.c, registers, scratch.codes_c);
  for (std::size_t product = 0; product < operands.batch; ++product) {
    for (std::size_t k_tile = 0; k_tile < k_tiles; ++k_tile) {
      multiply_step(*this, product, k_tile, scratch);
    }
  }
  std::uint8_t* to = registers.at(operands.result.offset);
  if (operands.c.bits == 16) {
    scatter<std::uint16_t>(*c_positions, scratch.codes_c.data(), to);
  } else {
    scatter<std::uint32_t>(*c_positions, scratch.codes_c.data(), to);
  }
  return true;
}

/// What the instruction multiplies: the Dot's operands, or their transposes.
struct InstructionOperands {
  DotOperands tiles;
  isa::RegisterType a, b, c;
};

InstructionOperands instruction_operands(const isa::ProductOperands& product,
                                         const isa::DotPlan& plan, const Preparation& preparation) {
  InstructionOperands result{
      DotOperands(product, preparation), preparation.register_type(product.left),
      preparation.register_type(product.right), preparation.register_type(product.addend)};
  if (!plan.transposed) return result;
  std::swap(result.tiles.a, result.tiles.b);
  std::swap(result.tiles.m, result.tiles.n);
  std::swap(result.a, result.b);
  for (isa::RegisterType* type : {&result.a, &result.b, &result.c}) {
    *type = isa::transposed_batch(*type);
  }
  return result;
}

/// The order in which the elements of a are gathered.
MatrixOrder order_of_a(const isa::MmaShape& shape, const BlockDot& dot) {
  const auto m = static_cast<std::size_t>(shape.m),
             stored = static_cast<std::size_t>(shape.stored_k());
  const std::size_t row_of_tiles = dot.m_tiles * m * stored;
  return {row_of_tiles * dot.k_tiles, m, stored, m * stored, 1, row_of_tiles, m};
}

std::shared_ptr<BlockDot> make_block_dot(const isa::MmaShape& shape, const isa::MmaRule& rule,
                                         const InstructionOperands& operands,
                                         SharedTables& tables) {
  TILEVM_CHECK(MmaTile::supports(rule, static_cast<int>(shape.k), shape.sparse) &&
                   shape.m == mma_rows && shape.n <= mma_max_columns,
               "a Dot plan uses an instruction that the kernel does not know");
  auto dot = std::make_shared<BlockDot>(shape, rule, operands.tiles);
  const auto m = static_cast<std::size_t>(shape.m), n = static_cast<std::size_t>(shape.n),
             k = static_cast<std::size_t>(shape.k);
  dot->m_tiles = dot->operands.m / m;
  dot->n_tiles = dot->operands.n / n;
  dot->k_tiles = dot->operands.k / k;
  const DotOperands& all = dot->operands;
  const MatrixOrder b_order{all.k * all.n, k, n, dot->n_tiles * n * k, 1, n * k, k};
  const MatrixOrder c_order{all.m * all.n, m, n, dot->n_tiles * m * n, 1, m * n, m};
  dot->a_owners = tables.owners(operands.a, order_of_a(shape, *dot));
  dot->b_owners = tables.owners(operands.b, b_order);
  dot->c_owners = tables.owners(operands.c, c_order);
  dot->c_positions = tables.positions(operands.c, c_order);
  return dot;
}

}  // namespace

DotOperands::DotOperands(const isa::ProductOperands& product, const Preparation& preparation)
    : a(preparation.tile(product.left)),
      b(preparation.tile(product.right)),
      c(preparation.tile(product.addend)),
      result(preparation.result_tile()) {
  const isa::Shape right = isa::as_batch(preparation.register_type(product.right).layout).shape();
  batch = static_cast<std::size_t>(right[0]);
  m = static_cast<std::size_t>(
      isa::as_batch(preparation.register_type(product.addend).layout).shape()[1]);
  k = static_cast<std::size_t>(right[1]);
  n = static_cast<std::size_t>(right[2]);
}

Action prepare_block_dot(const isa::ProductOperands& product, const isa::DotPlan& plan,
                         const isa::MmaRule& rule, const Preparation& preparation) {
  const std::shared_ptr<BlockDot> dot = make_block_dot(
      *plan.shape, rule, instruction_operands(product, plan, preparation), preparation.tables);
  if (product.is_sparse()) {
    dot->places.emplace(product.metadata, order_of_a(*plan.shape, *dot), preparation);
  }
  return
      [dot = std::shared_ptr<const BlockDot>(dot)](Context& context) { return dot->run(context); };
}

template <>
Action prepare(const isa::Dot& inst, const Preparation& preparation) {
  const isa::DotPlan& plan = preparation.info.dot_plan(preparation.stmt);
  switch (plan.method) {
    case isa::DotMethod::chain:
      return prepare_chain_dot(inst, preparation);
    case isa::DotMethod::mma:
    case isa::DotMethod::bipolar:  // on the integers that the operands encode
      break;
  }
  const isa::MmaShape& shape = *plan.shape;
  const auto rule = isa::mma_rule(preparation.program.target(), shape);
  TILEVM_CHECK(rule.has_value(), "a Dot plan uses an instruction without a rule");
  switch (rule->method) {
    case isa::MmaMethod::integer:
      return prepare_integer_dot(isa::product_operands(inst), preparation);
    case isa::MmaMethod::f64_chain:
      return prepare_chain_dot(inst, preparation);
    case isa::MmaMethod::blocks:
    case isa::MmaMethod::fp8_split:
      return prepare_block_dot(isa::product_operands(inst), plan, *rule, preparation);
  }
  TILEVM_NO_ENUMERATOR();
}

template <>
UndefinedTransfer undefined_transfer(const isa::Dot& inst, const Preparation& preparation) {
  return product_transfer(isa::product_operands(inst), preparation);
}

template <>
ShadowFlow shadow_flow(const isa::Dot& inst, const Preparation& preparation) {
  return multiplied(isa::product_operands(inst), preparation);
}

template <>
DataFlow data_flow(const isa::Dot& inst, const Preparation& preparation) {
  return product_flow(isa::product_operands(inst), preparation);
}

}  // namespace tilevm::sim
