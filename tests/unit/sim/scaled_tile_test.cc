// Block-scaled instructions on whole tiles against the exact model, over random codes and scales.
#include <cstdint>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "isa/dot/mma_shapes.h"
#include "sim/mma/mma_model.h"
#include "sim/mma/scaled_tile.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::sim {
namespace {

using isa::MmaShape;
using vm::fidelity::Random;
using Codes = std::vector<std::uint32_t>;

constexpr std::size_t rows = 16, columns = 8;

struct ScaledCase {
  Codes a, a_scales;  ///< [row][k], [row][scale]
  Codes b, b_scales;  ///< [column][k], [column][scale]
  Codes c;            ///< [column][row]
};

/// How far scales are from one another: little, so that alignment cuts sums, or any bits.
enum class Scales { near, any };

Codes random_scales(Random& random, std::size_t count, const isa::DType& type, Scales scales) {
  Codes codes(count);
  for (std::uint32_t& code : codes) {
    code = static_cast<std::uint32_t>(random.next() & isa::low_mask(type.bits));
    if (scales == Scales::near) {
      const std::uint32_t one = type == isa::f8e8m0 ? 127 : 0x38;
      code = one - 6 + code % 13;
      if (random.one_in(24)) code = 0;
    }
    if (random.one_in(200)) code = type == isa::f8e8m0 ? 0xff : 0x7f;
  }
  return codes;
}

Codes random_codes(Random& random, std::size_t count, const isa::DType& type) {
  Codes codes(count);
  const bool few = random.one_in(3);
  for (std::uint32_t& code : codes) {
    code = static_cast<std::uint32_t>(random.next() & isa::low_mask(type.bits));
    if (few && !random.one_in(6)) code = 0;
  }
  return codes;
}

/// Accumulators of the size of the products, of any size, zero, or any bits.
Codes random_accumulators(Random& random) {
  Codes codes(rows * columns);
  const int kind = random.below(4);
  for (std::uint32_t& code : codes) {
    code = static_cast<std::uint32_t>(random.next());
    if (kind < 2)
      code = (code & 0x807fffff) | static_cast<std::uint32_t>(115 + random.below(30)) << 23;
    if (kind == 2) code &= 0x80000000;
  }
  return codes;
}

ScaledCase random_case(Random& random, const MmaShape& shape, const isa::MmaRule& rule) {
  const auto k = static_cast<std::size_t>(shape.k),
             scales = static_cast<std::size_t>(shape.scales());
  const isa::DType type =
      rule.scaling == isa::MmaScaling::mxf4nvf4_ue4m3 ? isa::f7e4m3u : isa::f8e8m0;
  const Scales far = random.one_in(3) ? Scales::any : Scales::near;
  ScaledCase each;
  each.a = random_codes(random, rows * k, shape.a);
  each.b = random_codes(random, columns * k, shape.b);
  each.a_scales = random_scales(random, rows * scales, type, far);
  each.b_scales = random_scales(random, columns * scales, type, far);
  each.c = random_accumulators(random);
  return each;
}

/// [row][k] as [k][row].
Codes transposed(const Codes& codes) {
  Codes result(codes.size());
  const std::size_t length = codes.size() / rows;
  for (std::size_t i = 0; i < codes.size(); ++i) result[i % length * rows + i / length] = codes[i];
  return result;
}

Codes by_tile(const ScaledTile& tile, const ScaledCase& each) {
  ScaledOperandA a;
  ScaledOperandB b;
  tile.load_a(transposed(each.a).data(), transposed(each.a_scales).data(), a);
  tile.load_b(each.b.data(), each.b_scales.data(), columns, b);
  Codes d = each.c;
  tile.multiply(a, b, d.data(), d.data());
  return d;
}

Codes by_model(const isa::MmaRule& rule, const MmaShape& shape, const ScaledCase& each) {
  const auto line = [](const Codes& codes, std::size_t lines, std::size_t i) {
    const std::size_t length = codes.size() / lines;
    const auto part = std::span(codes).subspan(i * length, length);
    return std::vector<std::uint64_t>(part.begin(), part.end());
  };
  const auto scales = [&](const Codes& codes, std::size_t lines, std::size_t i) {
    const auto wide = line(codes, lines, i);
    return std::vector<std::uint8_t>(wide.begin(), wide.end());
  };
  Codes d;
  for (std::size_t n = 0; n < columns; ++n) {
    for (std::size_t m = 0; m < rows; ++m) {
      const auto a_scales = scales(each.a_scales, rows, m),
                 b_scales = scales(each.b_scales, columns, n);
      d.push_back(static_cast<std::uint32_t>(
          mma_reference(rule, shape.a, shape.b, line(each.a, rows, m), line(each.b, columns, n),
                        each.c[n * rows + m], {a_scales, b_scales})));
    }
  }
  return d;
}

/// The shapes that DotScaled uses, and mxf4nvf4 with scales of ue8m0.
std::vector<MmaShape> shapes_with_scales() {
  std::vector<MmaShape> shapes = isa::scaled_mma_shapes();
  for (const MmaShape& shape : isa::scaled_mma_shapes()) {
    if (shape.scaling != isa::MmaScaling::mxf4) continue;
    shapes.push_back(shape);
    shapes.back().scaling = isa::MmaScaling::mxf4nvf4_ue8m0;
  }
  return shapes;
}

TEST_CASE("block-scaled tiles are what the model says, for all types, scales and vector levels") {
  Random random(11);
  int nan = 0, inf = 0, zero = 0, subnormal = 0, normal = 0;
  for (const MmaShape& shape : shapes_with_scales()) {
    const auto rule = isa::mma_rule({120, true}, shape);
    REQUIRE(rule.has_value());
    for (int i = 0; i < 24; ++i) {
      const ScaledCase each = random_case(random, shape, *rule);
      const Codes expected = by_model(*rule, shape, each);
      for (const SimdLevel level : simd_levels()) {
        CHECK_MESSAGE(by_tile(ScaledTile(*rule, shape, level), each) == expected,
                      isa::to_string(shape.a), " x ", isa::to_string(shape.b), ", ",
                      isa::kind_name(shape.scaling), ", case ", i);
      }
      for (const std::uint32_t code : expected) {
        const std::uint32_t magnitude = code & 0x7fffffff;
        nan += magnitude > 0x7f800000;
        inf += magnitude == 0x7f800000;
        zero += magnitude == 0;
        subnormal += magnitude > 0 && magnitude < 0x00800000;
        normal += magnitude >= 0x00800000 && magnitude < 0x7f800000;
      }
    }
  }
  // The cases meet every kind of result.
  CHECK(nan > 1000);
  CHECK(inf > 1000);
  CHECK(zero > 100);
  CHECK(subnormal > 100);
  CHECK(normal > 20000);
}

}  // namespace
}  // namespace tilevm::sim
