// Dot: tiles become matrices of codes, tensor-core instructions run on them, the sums go back.
//
// Which instruction runs, and that k ascends, is the plan's (isa/dot.h); how it adds is the rule's
// (isa/numeric/mma_rules.h). Warps need not be simulated one by one: each output element is a chain
// over k, whoever owns it.
#include <cstring>
#include <utility>

#include "isa/base/check.h"
#include "isa/dot.h"
#include "isa/numeric/mma_rules.h"
#include "isa/type/bits.h"
#include "sim/semantics.h"

namespace tilevm::sim {
namespace {

using Table = std::vector<std::uint32_t>;

template <class Stored>
void gather_whole(const Table& owners, const std::uint8_t* tile, std::uint32_t* out) {
  for (std::size_t p = 0; p < owners.size(); ++p) {
    Stored code = 0;
    std::memcpy(&code, tile + owners[p] / 8, sizeof code);
    out[p] = code;
  }
}

/// Reads the codes of a matrix.
void gather(const Table& owners, unsigned bits, const std::uint8_t* tile, Table& out) {
  out.resize(owners.size());
  switch (bits) {
    case 8:
      return gather_whole<std::uint8_t>(owners, tile, out.data());
    case 16:
      return gather_whole<std::uint16_t>(owners, tile, out.data());
    case 32:
      return gather_whole<std::uint32_t>(owners, tile, out.data());
    default:
      for (std::size_t p = 0; p < owners.size(); ++p) {
        out[p] = static_cast<std::uint32_t>(isa::get_bits(tile, owners[p], bits));
      }
  }
}

template <class Stored>
void scatter_whole(const Table& positions, const std::uint32_t* codes, std::uint8_t* tile) {
  for (std::size_t x = 0; x < positions.size(); ++x) {
    const auto code = static_cast<Stored>(codes[positions[x]]);
    std::memcpy(tile + x * sizeof code, &code, sizeof code);
  }
}

/// A product of m x k by k x n, in tiles of the instruction.
struct DotCode {
  DotCode(const isa::MmaShape& mma_shape, const isa::MmaRule& mma_rule)
      : shape(mma_shape),
        rule(mma_rule),
        unit(mma_rule, mma_shape.a, mma_shape.b, static_cast<int>(mma_shape.k)) {}

  const isa::MmaShape& shape;
  isa::MmaRule rule;
  MmaTile unit;
  Tile a, b, c, result;
  std::size_t m_tiles = 0, n_tiles = 0, k_tiles = 0;
  SharedTables::Table a_owners;  ///< [k tile][m tile][k][m]
  SharedTables::Table b_owners;  ///< [k tile][n tile][n][k]
  SharedTables::Table c_owners;  ///< [m tile][n tile][n][m]
  SharedTables::Table c_positions;

  void run(Context& context) const;
};

/// c += a * b for one step of k, over all tiles of m and n.
void multiply_step(const DotCode& dot, std::size_t k_tile, Scratch& scratch) {
  const auto m = static_cast<std::size_t>(dot.shape.m), n = static_cast<std::size_t>(dot.shape.n),
             k = static_cast<std::size_t>(dot.shape.k);
  const std::uint32_t* a = scratch.codes_a.data() + k_tile * dot.m_tiles * m * k;
  const std::uint32_t* b = scratch.codes_b.data() + k_tile * dot.n_tiles * n * k;
  scratch.operands_a.resize(1);
  scratch.operands_b.resize(dot.n_tiles);
  for (std::size_t j = 0; j < dot.n_tiles; ++j) {
    dot.unit.load_b(b + j * n * k, static_cast<int>(n), scratch.operands_b[j]);
  }
  std::uint32_t* c = scratch.codes_c.data();
  for (std::size_t i = 0; i < dot.m_tiles; ++i) {
    dot.unit.load_a(a + i * m * k, scratch.operands_a[0]);
    for (std::size_t j = 0; j < dot.n_tiles; ++j, c += m * n) {
      dot.unit.multiply(scratch.operands_a[0], scratch.operands_b[j], c, c);
    }
  }
}

void DotCode::run(Context& context) const {
  RegisterSlab& registers = context.state.registers;
  Scratch& scratch = context.scratch;
  gather(*a_owners, a.bits, registers.at(a.offset), scratch.codes_a);
  gather(*b_owners, b.bits, registers.at(b.offset), scratch.codes_b);
  gather(*c_owners, c.bits, registers.at(c.offset), scratch.codes_c);
  for (std::size_t k_tile = 0; k_tile < k_tiles; ++k_tile) multiply_step(*this, k_tile, scratch);
  std::uint8_t* to = registers.at(result.offset);
  if (c.bits == 16) {
    scatter_whole<std::uint16_t>(*c_positions, scratch.codes_c.data(), to);
  } else {
    scatter_whole<std::uint32_t>(*c_positions, scratch.codes_c.data(), to);
  }
}

}  // namespace

Action prepare(const isa::Dot& inst, const Preparation& preparation) {
  const isa::MmaShape& shape = *preparation.program.dot_plan(preparation.stmt).shape;
  const auto rule =
      isa::mma_rule(preparation.program.target(), shape.a, shape.b, shape.accumulator);
  TILEVM_CHECK(rule && MmaTile::supports(*rule, static_cast<int>(shape.k)) && shape.m == mma_rows &&
                   shape.n <= mma_max_columns,
               "a Dot plan uses an instruction that the model does not know");
  auto dot = std::make_shared<DotCode>(shape, *rule);
  const auto m = static_cast<std::size_t>(shape.m), n = static_cast<std::size_t>(shape.n),
             k = static_cast<std::size_t>(shape.k);
  const isa::Shape& a_shape = preparation.register_type(inst.a.var).shape();
  const isa::Shape& b_shape = preparation.register_type(inst.b.var).shape();
  dot->m_tiles = static_cast<std::size_t>(a_shape[0]) / m;
  dot->k_tiles = static_cast<std::size_t>(a_shape[1]) / k;
  dot->n_tiles = static_cast<std::size_t>(b_shape[1]) / n;
  dot->a = preparation.tile(inst.a.var);
  dot->b = preparation.tile(inst.b.var);
  dot->c = preparation.tile(inst.c.var);
  dot->result = preparation.result_tile();
  SharedTables& tables = preparation.tables;
  const MatrixOrder a_order{m, k, m * k, 1, dot->m_tiles * m * k, m};
  const MatrixOrder b_order{k, n, dot->n_tiles * n * k, 1, n * k, k};
  const MatrixOrder c_order{m, n, dot->n_tiles * m * n, 1, m * n, m};
  dot->a_owners = tables.owners(preparation.register_type(inst.a.var), a_order);
  dot->b_owners = tables.owners(preparation.register_type(inst.b.var), b_order);
  dot->c_owners = tables.owners(preparation.register_type(inst.c.var), c_order);
  dot->c_positions = tables.positions(preparation.register_type(inst.c.var), c_order);
  return [dot = std::shared_ptr<const DotCode>(std::move(dot))](Context& context) {
    dot->run(context);
    return true;
  };
}

}  // namespace tilevm::sim
