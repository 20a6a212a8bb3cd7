// Dot of integers: gathered as 16-bit numbers, multiplied exactly.
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "isa/base/check.h"
#include "isa/type/number.h"
#include "sim/exec/dot_actions.h"
#include "sim/mma/integer_kernel.h"

namespace tilevm::sim {
namespace {

/// The value of every code of a type of at most 8 bits.
using Values = std::array<std::int16_t, 256>;

Values values_of(const isa::DType& type) {
  TILEVM_CHECK(type.bits <= 8 && !type.is_float(), "an operand of the integer kernel");
  Values values{};
  for (std::uint64_t code = 0; code >> type.bits == 0; ++code) {
    values[code] = static_cast<std::int16_t>(isa::cast(type, isa::i16, code));
  }
  return values;
}

struct IntegerDot {
  IntegerDot(const isa::ProductOperands& product, const Preparation& preparation)
      : operands(product, preparation),
        a_values(values_of(preparation.register_type(product.left).dtype)),
        b_values(values_of(preparation.register_type(product.right).dtype)) {
    const auto [m, n, k] = std::tuple(operands.m, operands.n, operands.k);
    SharedTables& tables = preparation.tables;
    const auto& [left, right, addend] =
        std::tie(preparation.register_type(product.left), preparation.register_type(product.right),
                 preparation.register_type(product.addend));
    const MatrixOrder c_order{m * n, m, n, 0, n, 0, 1};
    const std::size_t stored = product.is_sparse() ? k / 2 : k;
    const MatrixOrder a_order{m * stored, m, stored, 0, stored, 0, 1};
    a_owners = tables.owners(left, a_order);
    if (product.is_sparse()) places.emplace(product.metadata, a_order, preparation);
    b_owners = tables.owners(right, {k * n, 2, n, 2 * n, 1, 0, 2});
    c_owners = tables.owners(addend, c_order);
    c_positions = tables.positions(addend, c_order);
  }

  [[nodiscard]] bool run(Context& context) const;

  DotOperands operands;
  std::optional<SparsePlaces> places;
  Values a_values, b_values;
  SharedTables::Table a_owners, b_owners, c_owners, c_positions;
};

void gather_values(const CodeOffsets& owners, const Tile& tile, const Values& values,
                   const std::uint8_t* from, std::vector<std::int16_t>& out) {
  out.resize(owners.size());
  gather(owners, tile.bits, from, out.data(),
         [&](auto code) { return values[static_cast<std::uint8_t>(code)]; });
}

/// Stored values at their places, zeros elsewhere: they are neighbours in a row.
void expand(const std::vector<std::uint32_t>& places, std::vector<std::int16_t>& values) {
  std::vector<std::int16_t> dense(values.size() * 2, 0);
  for (std::size_t p = 0; p < values.size(); ++p) dense[p / 2 * 4 + places[p]] = values[p];
  values.swap(dense);
}

bool IntegerDot::run(Context& context) const {
  if (places && !places->gather(context)) return false;
  RegisterSlab& registers = context.state.registers;
  DotBuffers& buffers = context.scratch.dot;
  std::vector<std::uint32_t>& c = context.scratch.codes_c;
  gather_values(*a_owners, operands.a, a_values, registers.at(operands.a.offset),
                buffers.integers_a);
  if (places) expand(context.scratch.codes_places, buffers.integers_a);
  gather_values(*b_owners, operands.b, b_values, registers.at(operands.b.offset),
                buffers.integers_b);
  c.resize(c_owners->size());
  gather(*c_owners, 32, registers.at(operands.c.offset), c.data());
  const auto [m, n, k] = std::tuple(operands.m, operands.n, operands.k);
  for (std::size_t i = 0; i < operands.batch; ++i) {
    multiply(IntegerProduct{m, n, k, buffers.integers_a.data() + i * m * k,
                            buffers.integers_b.data() + i * k * n, c.data() + i * m * n},
             best_simd_level());
  }
  scatter<std::uint32_t>(*c_positions, c.data(), registers.at(operands.result.offset));
  return true;
}

}  // namespace

Action prepare_integer_dot(const isa::ProductOperands& product, const Preparation& preparation) {
  auto dot = std::make_shared<const IntegerDot>(product, preparation);
  return [dot = std::move(dot)](Context& context) { return dot->run(context); };
}

}  // namespace tilevm::sim
