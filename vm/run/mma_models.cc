#include "vm/run/mma_models.h"

#include <array>
#include <vector>

#include "isa/base/check.h"
#include "isa/numeric/mma_rules.h"
#include "sim/mma/mma_model.h"
#include "sim/mma/mma_tile.h"

namespace tilevm::vm {
namespace {

using Codes = std::span<const std::uint64_t>;

/// Operands of the vector kernel, as it wants them: a [k][16], b [n][k], c [n][16].
struct TileCodes {
  std::array<std::uint32_t, sim::mma_max_codes_a> a;
  std::array<std::uint32_t, sim::mma_max_codes_b> b;
  std::array<std::uint32_t, std::size_t{sim::mma_max_columns} * sim::mma_rows> c;
};

void multiply_tile(const isa::MmaRule& rule, const isa::MmaShape& shape, Codes a, Codes b,
                   std::span<std::uint64_t> c) {
  const auto rows = static_cast<std::size_t>(shape.m), columns = static_cast<std::size_t>(shape.n);
  const auto depth = static_cast<std::size_t>(shape.k);
  TileCodes codes;
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t k = 0; k < depth; ++k) {
      codes.a[k * rows + m] = static_cast<std::uint32_t>(a[m * depth + k]);
    }
  }
  for (std::size_t n = 0; n < columns; ++n) {
    for (std::size_t k = 0; k < depth; ++k) {
      codes.b[n * depth + k] = static_cast<std::uint32_t>(b[k * columns + n]);
    }
    for (std::size_t m = 0; m < rows; ++m) {
      codes.c[n * rows + m] = static_cast<std::uint32_t>(c[m * columns + n]);
    }
  }
  sim::mma_tile(rule, shape.a, shape.b, static_cast<int>(columns), static_cast<int>(depth),
                codes.a.data(), codes.b.data(), codes.c.data(), codes.c.data());
  for (std::size_t n = 0; n < columns; ++n) {
    for (std::size_t m = 0; m < rows; ++m) c[m * columns + n] = codes.c[n * rows + m];
  }
}

/// The value of an integer's code; a product of single bits is their AND.
std::int32_t integer_value(const isa::DType& type, std::uint64_t code) {
  const unsigned unused = 64U - static_cast<unsigned>(type.bits);
  const auto shifted = static_cast<std::int64_t>(code << unused);
  const bool is_signed = type.kind == isa::TypeKind::signed_int;
  return static_cast<std::int32_t>(is_signed ? shifted >> unused : static_cast<std::int64_t>(code));
}

/// Exact sums, which wrap modulo 2^32; of bits, also of their XORs.
void multiply_integers(const isa::MmaShape& shape, Codes a, Codes b, std::span<std::uint64_t> c) {
  const auto rows = static_cast<std::size_t>(shape.m), columns = static_cast<std::size_t>(shape.n);
  const auto depth = static_cast<std::size_t>(shape.k);
  std::vector<std::int32_t> row(depth), b_values(depth * columns);  // [n][k]
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t n = 0; n < columns; ++n) {
      b_values[n * depth + k] = integer_value(shape.b, b[k * columns + n]);
    }
  }
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t k = 0; k < depth; ++k) row[k] = integer_value(shape.a, a[m * depth + k]);
    for (std::size_t n = 0; n < columns; ++n) {
      auto sum = static_cast<std::uint32_t>(c[m * columns + n]);
      const std::int32_t* const column = &b_values[n * depth];
      for (std::size_t k = 0; k < depth; ++k) {
        const std::int32_t product = shape.exclusive_or ? row[k] ^ column[k] : row[k] * column[k];
        sum += static_cast<std::uint32_t>(product);
      }
      c[m * columns + n] = sum;
    }
  }
}

void multiply_elements(const isa::MmaRule& rule, const isa::MmaShape& shape, Codes a, Codes b,
                       std::span<std::uint64_t> c) {
  const auto rows = static_cast<std::size_t>(shape.m), columns = static_cast<std::size_t>(shape.n);
  const auto depth = static_cast<std::size_t>(shape.k);
  std::vector<std::uint64_t> column(depth);
  for (std::size_t n = 0; n < columns; ++n) {
    for (std::size_t k = 0; k < depth; ++k) column[k] = b[k * columns + n];
    for (std::size_t m = 0; m < rows; ++m) {
      std::uint64_t& element = c[m * columns + n];
      element =
          sim::mma_reference(rule, shape.a, shape.b, a.subspan(m * depth, depth), column, element);
    }
  }
}

/// Each element by the exact model, from the elements of b at the places of a's stored ones.
void multiply_sparse(const isa::MmaRule& rule, const isa::MmaShape& shape, Codes a, Codes places,
                     Codes b, std::span<std::uint64_t> c) {
  const auto rows = static_cast<std::size_t>(shape.m), columns = static_cast<std::size_t>(shape.n);
  const auto stored = static_cast<std::size_t>(shape.stored_k());
  std::vector<std::uint64_t> column(stored);
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t n = 0; n < columns; ++n) {
      for (std::size_t p = 0; p < stored; ++p) {
        const auto k = p / 2 * 4 + static_cast<std::size_t>(places[m * stored + p]);
        column[p] = b[k * columns + n];
      }
      std::uint64_t& element = c[m * columns + n];
      element = sim::mma_reference(rule, shape.a, shape.b, a.subspan(m * stored, stored), column,
                                   element);
    }
  }
}

/// Each element by the exact model, with the scales of its row and its column.
void multiply_scaled(const isa::MmaRule& rule, const isa::MmaShape& shape, Codes a, Codes b,
                     std::span<std::uint64_t> c, const backend::MmaExtras& extras) {
  const auto rows = static_cast<std::size_t>(shape.m), columns = static_cast<std::size_t>(shape.n);
  const auto depth = static_cast<std::size_t>(shape.k),
             scales = static_cast<std::size_t>(shape.scales());
  std::vector<std::uint64_t> column(depth);
  std::vector<std::uint8_t> row_scales(scales), column_scales(scales);
  for (std::size_t n = 0; n < columns; ++n) {
    for (std::size_t k = 0; k < depth; ++k) column[k] = b[k * columns + n];
    for (std::size_t s = 0; s < scales; ++s) {
      column_scales[s] = static_cast<std::uint8_t>(extras.b_scales[s * columns + n]);
    }
    for (std::size_t m = 0; m < rows; ++m) {
      for (std::size_t s = 0; s < scales; ++s) {
        row_scales[s] = static_cast<std::uint8_t>(extras.a_scales[m * scales + s]);
      }
      std::uint64_t& element = c[m * columns + n];
      element = sim::mma_reference(rule, shape.a, shape.b, a.subspan(m * depth, depth), column,
                                   element, {row_scales, column_scales});
    }
  }
}

}  // namespace

backend::MmaModel mma_model_of(const isa::Target& target) {
  return [target](const isa::MmaShape& shape, Codes a, Codes b, std::span<std::uint64_t> c,
                  const backend::MmaExtras& extras) {
    const std::optional<isa::MmaRule> rule = isa::mma_rule(target, shape);
    TILEVM_CHECK(rule, "a tensor-core instruction that the target does not have");
    if (shape.sparse) return multiply_sparse(*rule, shape, a, extras.places, b, c);
    if (shape.scaling != isa::MmaScaling::none) {
      return multiply_scaled(*rule, shape, a, b, c, extras);
    }
    const bool fits = shape.m == sim::mma_rows && shape.n <= sim::mma_max_columns &&
                      sim::MmaTile::supports(*rule, static_cast<int>(shape.k));
    if (rule->method == isa::MmaMethod::integer) return multiply_integers(shape, a, b, c);
    fits ? multiply_tile(*rule, shape, a, b, c) : multiply_elements(*rule, shape, a, b, c);
  };
}

}  // namespace tilevm::vm
