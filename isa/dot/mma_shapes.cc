#include "isa/dot/mma_shapes.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

struct Extents {
  std::int64_t m, k;  // n is 8 in all
  int min_sm;
};

/// Instructions that differ in their extents and in which of the types each operand has.
struct ShapeClass {
  std::string_view words;  // for messages
  std::vector<DType> operands;
  std::vector<DType> accumulators;
  std::vector<Extents> extents;
};

/// PTX ISA, "mma": shapes and types; "Target ISA Notes".
std::vector<ShapeClass> make_classes() {
  const DType i4 = signed_int(4), u4 = unsigned_int(4);
  return {
      {"f16 x f16 + f32 or f16", {f16}, {f32, f16}, {{16, 16, 80}, {16, 8, 80}}},
      {"bf16 x bf16 + f32", {bf16}, {f32}, {{16, 16, 80}, {16, 8, 80}}},
      {"tf32 x tf32 + f32", {tf32}, {f32}, {{16, 8, 80}, {16, 4, 80}}},
      {"f8e4m3 and f8e5m2 in any mix + f32 or f16",
       {f8e4m3, f8e5m2},
       {f32, f16},
       {{16, 32, 89}, {16, 16, 89}}},
      {"i8 and u8 in any mix + i32", {i8, u8}, {i32}, {{16, 32, 80}, {16, 16, 80}, {8, 16, 80}}},
      {"i4 and u4 in any mix + i32", {i4, u4}, {i32}, {{16, 64, 80}, {16, 32, 80}, {8, 32, 80}}},
      {"u1 x u1 + i32", {u1}, {i32}, {{16, 256, 80}, {16, 128, 80}, {8, 128, 80}}},
      {"f64 x f64 + f64", {f64}, {f64}, {{16, 16, 90}, {16, 8, 90}, {16, 4, 90}, {8, 4, 80}}},
  };
}

const std::vector<ShapeClass>& mma_classes() {
  static const std::vector<ShapeClass> classes = make_classes();
  return classes;
}

RegisterLayout product(std::initializer_list<Result<RegisterLayout>> factors) {
  RegisterLayout layout;
  for (const auto& factor : factors) {
    TILEVM_CHECK(factor.ok(), "fragment factor");
    layout = *compose(layout, *factor);
  }
  return layout;
}

std::int64_t in_register(const DType& type) { return type.bits >= 32 ? 1 : 32 / type.bits; }

RegisterLayout a_fragment(std::int64_t m, std::int64_t k, std::int64_t e) {
  return product({column_local({m / 8, k / (4 * e)}), spatial({8, 4}), local({1, e})});
}

RegisterLayout b_fragment(std::int64_t k, std::int64_t e) {
  return product({local({k / (4 * e), 1}), column_spatial({4, 8}), local({e, 1})});
}

RegisterLayout c_fragment(std::int64_t m) {
  return product({local({m / 8, 1}), spatial({8, 4}), local({1, 2})});
}

MmaShape make_shape(const Extents& extents, const DType& a, const DType& b,
                    const DType& accumulator) {
  const auto& [m, k, min_sm] = extents;
  return {fmt::format("m{}n8k{}", m, k),
          m,
          8,
          k,
          a,
          b,
          accumulator,
          a_fragment(m, k, in_register(a)),
          b_fragment(k, in_register(b)),
          c_fragment(m),
          min_sm};
}

std::vector<MmaShape> make_shapes() {
  std::vector<MmaShape> shapes;
  for (const ShapeClass& row : mma_classes()) {
    for (const DType& accumulator : row.accumulators) {
      for (const DType& a : row.operands) {
        for (const DType& b : row.operands) {
          for (const Extents& extents : row.extents) {
            shapes.push_back(make_shape(extents, a, b, accumulator));
          }
        }
      }
    }
  }
  return shapes;
}

}  // namespace

const std::vector<MmaShape>& mma_shapes() {
  static const std::vector<MmaShape> shapes = make_shapes();
  return shapes;
}

std::vector<const MmaShape*> mma_shapes(const Target& target, const DType& a, const DType& b,
                                        const DType& accumulator) {
  std::vector<const MmaShape*> found;
  for (const MmaShape& shape : mma_shapes()) {
    if (shape.a == a && shape.b == b && shape.accumulator == accumulator &&
        shape.min_sm <= target.sm) {
      found.push_back(&shape);
    }
  }
  return found;
}

std::string list_mma_types(const Target& target) {
  std::string list;
  for (const ShapeClass& row : mma_classes()) {
    const bool here = std::any_of(row.extents.begin(), row.extents.end(),
                                  [&](const Extents& e) { return e.min_sm <= target.sm; });
    if (here) list += (list.empty() ? "" : ", ") + std::string(row.words);
  }
  return list;
}

std::vector<const MmaShape*> dot_shapes(const Target& target, const DType& a, const DType& b,
                                        const DType& accumulator) {
  if (!a.is_bipolar() || !b.is_bipolar()) return mma_shapes(target, a, b, accumulator);
  auto shapes = mma_shapes(target, u1, u1, accumulator);
  const auto of_bytes = mma_shapes(target, i8, i8, accumulator);
  shapes.insert(shapes.end(), of_bytes.begin(), of_bytes.end());
  return shapes;
}

}  // namespace tilevm::isa
