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
      : operands(product, preparation) {
    fill({preparation.register_type(product.left), preparation.register_type(product.right),
          preparation.register_type(product.addend)},
         product.is_sparse(), preparation.tables);
    const std::size_t stored = product.is_sparse() ? operands.k / 2 : operands.k;
    const MatrixOrder a_order{operands.m * stored, operands.m, stored, 0, stored, 0, 1};
    if (product.is_sparse()) places.emplace(product.metadata, a_order, preparation);
  }
  IntegerDot(const AsyncTiles& tiles, SharedTables& tables) : operands(tiles) {
    fill({tiles.a_type, tiles.b_type, tiles.c_type}, false, tables);
  }

  struct Types {
    const isa::RegisterType &left, &right, &addend;
  };
  void fill(const Types& types, bool is_sparse, SharedTables& tables) {
    const auto& [left, right, addend] = types;
    const auto [m, n, k] = std::tuple(operands.m, operands.n, operands.k);
    a_values = values_of(left.dtype);
    b_values = values_of(right.dtype);
    const MatrixOrder c_order{m * n, m, n, 0, n, 0, 1};
    const std::size_t stored = is_sparse ? k / 2 : k;
    a_owners = tables.owners(left, {m * stored, m, stored, 0, stored, 0, 1});
    b_owners = tables.owners(right, {k * n, 2, n, 2 * n, 1, 0, 2});
    c_owners = tables.owners(addend, c_order);
    c_positions = tables.positions(addend, c_order);
  }

  [[nodiscard]] bool run(Context& context) const;
  void run(Context& context, const std::uint8_t* a, const std::uint8_t* b, bool accumulate) const;

  DotOperands operands;
  std::optional<SparsePlaces> places;
  Values a_values{}, b_values{};
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
  const RegisterSlab& registers = context.state.registers;
  run(context, registers.at(operands.a.offset), registers.at(operands.b.offset), true);
  return true;
}

void IntegerDot::run(Context& context, const std::uint8_t* a, const std::uint8_t* b,
                     bool accumulate) const {
  RegisterSlab& registers = context.state.registers;
  DotBuffers& buffers = context.scratch.dot;
  std::vector<std::uint32_t>& c = context.scratch.codes_c;
  gather_values(*a_owners, operands.a, a_values, a, buffers.integers_a);
  if (places) expand(context.scratch.codes_places, buffers.integers_a);
  gather_values(*b_owners, operands.b, b_values, b, buffers.integers_b);
  c.assign(c_owners->size(), 0);
  if (accumulate) gather(*c_owners, 32, registers.at(operands.c.offset), c.data());
  const auto [m, n, k] = std::tuple(operands.m, operands.n, operands.k);
  for (std::size_t i = 0; i < operands.batch; ++i) {
    multiply(IntegerProduct{m, n, k, buffers.integers_a.data() + i * m * k,
                            buffers.integers_b.data() + i * k * n, c.data() + i * m * n},
             best_simd_level());
  }
  scatter<std::uint32_t>(*c_positions, c.data(), registers.at(operands.result.offset));
}

}  // namespace

Action prepare_integer_dot(const isa::ProductOperands& product, const Preparation& preparation) {
  auto dot = std::make_shared<const IntegerDot>(product, preparation);
  return [dot = std::move(dot)](Context& context) { return dot->run(context); };
}

ProductAction async_integer_dot(const AsyncTiles& tiles, SharedTables& tables) {
  auto dot = std::make_shared<const IntegerDot>(tiles, tables);
  return [dot = std::move(dot)](Context& context, const std::uint8_t* a, const std::uint8_t* b,
                                bool accumulate) { dot->run(context, a, b, accumulate); };
}

}  // namespace tilevm::sim
