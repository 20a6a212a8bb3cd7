#include "vm/run/mma_models.h"

#include <algorithm>
#include <array>
#include <vector>

#include "isa/base/check.h"
#include "isa/numeric/mma_rules.h"
#include "sim/mma/mma_model.h"
#include "sim/mma/mma_tile.h"

namespace tilevm::vm {
namespace {

using Codes = std::span<const std::uint64_t>;

/// Codes of at most 32 bits, as the vector kernel takes them.
struct TileCodes {
  std::array<std::uint32_t, sim::mma_max_codes_a> a;
  std::array<std::uint32_t, sim::mma_max_codes_b> b;
  std::array<std::uint32_t, std::size_t{sim::mma_max_columns} * sim::mma_rows> c;
};

void narrow(Codes from, std::uint32_t* to) {
  std::transform(from.begin(), from.end(), to,
                 [](std::uint64_t code) { return static_cast<std::uint32_t>(code); });
}

void multiply_tile(const isa::MmaRule& rule, const isa::MmaShape& shape, Codes a, Codes b,
                   std::span<std::uint64_t> c) {
  TileCodes codes;
  narrow(a, codes.a.data());
  narrow(b, codes.b.data());
  narrow(c, codes.c.data());
  sim::mma_tile(rule, shape.a, shape.b, static_cast<int>(shape.n), static_cast<int>(shape.k),
                codes.a.data(), codes.b.data(), codes.c.data(), codes.c.data());
  std::copy_n(codes.c.data(), c.size(), c.data());
}

/// A row of a matrix.
void copy_row(Codes matrix, std::size_t rows, std::size_t row, std::span<std::uint64_t> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = matrix[i * rows + row];
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
  std::vector<std::int32_t> a_values(a.size());  // [k][m]
  for (std::size_t i = 0; i < a.size(); ++i) a_values[i] = integer_value(shape.a, a[i]);
  std::vector<std::uint32_t> sums(rows);
  for (std::size_t n = 0; n < columns; ++n) {
    const std::span<std::uint64_t> column = c.subspan(n * rows, rows);
    narrow(column, sums.data());
    for (std::size_t k = 0; k < depth; ++k) {
      const std::int32_t value = integer_value(shape.b, b[n * depth + k]);
      const std::int32_t* const values = &a_values[k * rows];
      for (std::size_t m = 0; m < rows; ++m) {
        const std::int32_t product = shape.exclusive_or ? values[m] ^ value : values[m] * value;
        sums[m] += static_cast<std::uint32_t>(product);
      }
    }
    std::copy(sums.begin(), sums.end(), column.begin());
  }
}

void multiply_elements(const isa::MmaRule& rule, const isa::MmaShape& shape, Codes a, Codes b,
                       std::span<std::uint64_t> c) {
  const auto rows = static_cast<std::size_t>(shape.m), columns = static_cast<std::size_t>(shape.n);
  const auto depth = static_cast<std::size_t>(shape.k);
  std::vector<std::uint64_t> row(depth);
  for (std::size_t m = 0; m < rows; ++m) {
    copy_row(a, rows, m, row);
    for (std::size_t n = 0; n < columns; ++n) {
      std::uint64_t& element = c[n * rows + m];
      element =
          sim::mma_reference(rule, shape.a, shape.b, row, b.subspan(n * depth, depth), element);
    }
  }
}

/// Each element by the exact model, from the elements of b at the places of a's stored ones.
void multiply_sparse(const isa::MmaRule& rule, const isa::MmaShape& shape, Codes a, Codes places,
                     Codes b, std::span<std::uint64_t> c) {
  const auto rows = static_cast<std::size_t>(shape.m), columns = static_cast<std::size_t>(shape.n);
  const auto stored = static_cast<std::size_t>(shape.stored_k()),
             depth = static_cast<std::size_t>(shape.k);
  std::vector<std::uint64_t> row(stored), row_places(stored), column(stored);
  for (std::size_t m = 0; m < rows; ++m) {
    copy_row(a, rows, m, row);
    copy_row(places, rows, m, row_places);
    for (std::size_t n = 0; n < columns; ++n) {
      for (std::size_t p = 0; p < stored; ++p) {
        column[p] = b[n * depth + p / 2 * 4 + static_cast<std::size_t>(row_places[p])];
      }
      std::uint64_t& element = c[n * rows + m];
      element = sim::mma_reference(rule, shape.a, shape.b, row, column, element);
    }
  }
}

/// Each element by the exact model, with the scales of its row and its column.
void multiply_scaled(const isa::MmaRule& rule, const isa::MmaShape& shape, Codes a, Codes b,
                     std::span<std::uint64_t> c, const backend::MmaExtras& extras) {
  const auto rows = static_cast<std::size_t>(shape.m), columns = static_cast<std::size_t>(shape.n);
  const auto depth = static_cast<std::size_t>(shape.k),
             scales = static_cast<std::size_t>(shape.scales());
  std::vector<std::uint64_t> row(depth);
  std::vector<std::uint8_t> row_scales(scales), column_scales(scales);
  for (std::size_t m = 0; m < rows; ++m) {
    copy_row(a, rows, m, row);
    for (std::size_t s = 0; s < scales; ++s) {
      row_scales[s] = static_cast<std::uint8_t>(extras.a_scales[s * rows + m]);
    }
    for (std::size_t n = 0; n < columns; ++n) {
      for (std::size_t s = 0; s < scales; ++s) {
        column_scales[s] = static_cast<std::uint8_t>(extras.b_scales[n * scales + s]);
      }
      std::uint64_t& element = c[n * rows + m];
      element = sim::mma_reference(rule, shape.a, shape.b, row, b.subspan(n * depth, depth),
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
