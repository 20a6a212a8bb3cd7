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

const std::vector<ShapeClass>& dense_classes() {
  static const std::vector<ShapeClass> classes = make_classes();
  return classes;
}

/// PTX ISA, "mma.sp": those whose groups of four elements are stored by twos.
std::vector<ShapeClass> make_sparse_classes() {
  return {
      {"f16 x f16 + f32 or f16", {f16}, {f32, f16}, {{16, 32, 80}}},
      {"bf16 x bf16 + f32", {bf16}, {f32}, {{16, 32, 80}}},
      {"f8e4m3 and f8e5m2 in any mix + f32", {f8e4m3, f8e5m2}, {f32}, {{16, 64, 89}}},
      {"f8e4m3 and f8e5m2 in any mix + f16", {f8e4m3, f8e5m2}, {f16}, {{16, 64, 120}}},
      {"i8 and u8 in any mix + i32", {i8, u8}, {i32}, {{16, 64, 80}}},
  };
}

const std::vector<ShapeClass>& sparse_classes() {
  static const std::vector<ShapeClass> classes = make_sparse_classes();
  return classes;
}

/// A block-scaled kind: the types of its operands, in any mix.
struct ScaledClass {
  MmaScaling scaling;
  std::vector<DType> operands;
  std::int64_t k;
  DType scale;
};

/// PTX ISA, "mma.sync with block scaling".
const std::vector<ScaledClass>& scaled_classes() {
  static const DType e3m2 = small_float(3, 2), e2m3 = small_float(2, 3), e2m1 = small_float(2, 1);
  static const std::vector<ScaledClass> classes = {
      {MmaScaling::mxf4, {e2m1}, 64, f8e8m0},
      {MmaScaling::mxf4nvf4_ue4m3, {e2m1}, 64, f7e4m3u},
      {MmaScaling::mxf8f6f4, {f8e4m3, f8e5m2, e3m2, e2m3, e2m1}, 32, f8e8m0},
  };
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

/// Lane 4 g + 2 s + j, of selector s, has four pairs of row g and four of row g + 8, from column
/// 8 j on (PTX ISA, "Sparse MMA, Matrix Fragments for mma.sp", m16n8k32 of 16-bit types).
RegisterLayout wide_places() { return product({local({2, 1}), spatial({8, 4}), local({1, 8})}); }

/// Lane 4 g + j has eight pairs of row g + 8 (j % 2), from column 16 (j / 2) on (m16n8k64 of 8-bit
/// types).
RegisterLayout byte_places() {
  const auto layout = RegisterLayout::make({16, 32}, {2, 8, 2, 16}, {1, 2, 0}, {3});
  TILEVM_CHECK(layout.ok(), "places of 8-bit types");
  return *layout;
}

MmaShape make_sparse_shape(const Extents& extents, const DType& a, const DType& b,
                           const DType& accumulator) {
  MmaShape shape = make_shape(extents, a, b, accumulator);
  shape.sparse = true;
  shape.a_layout = a_fragment(extents.m, extents.k / 2, in_register(a));
  shape.selectors = a.bits == 16 ? 2 : 1;
  shape.places_layout = a.bits == 16 ? wide_places() : byte_places();
  return shape;
}

/// [16, scales]: row t/4 + 8 * (t%2) in lanes t and t + 2, its scales side by side.
RegisterLayout a_scales(std::int64_t scales) {
  const auto rows = RegisterLayout::make({16, 1}, {2, 8}, {1, -2, 0}, {});
  return product({rows, local({1, scales})});
}

/// [scales, 8]: column t/4 in the lanes of a quad, its scales side by side.
RegisterLayout b_scales(std::int64_t scales) {
  return product({local({scales, 1}), spatial({1, 8}), replicated(4)});
}

MmaShape make_scaled_shape(const ScaledClass& kind, const DType& a, const DType& b) {
  MmaShape shape = make_shape({16, kind.k, 120}, a, b, f32);
  shape.scaling = kind.scaling;
  shape.scale = kind.scale;
  const auto in_word = [&](const DType& type) {
    return std::int64_t{32} / register_element(shape, type).bits;
  };
  shape.a_layout = a_fragment(16, kind.k, in_word(a));
  shape.b_layout = b_fragment(kind.k, in_word(b));
  shape.a_scales_layout = a_scales(shape.scales());
  shape.b_scales_layout = b_scales(shape.scales());
  return shape;
}

std::vector<MmaShape> make_scaled_shapes() {
  std::vector<MmaShape> shapes;
  for (const ScaledClass& kind : scaled_classes()) {
    for (const DType& a : kind.operands) {
      for (const DType& b : kind.operands) shapes.push_back(make_scaled_shape(kind, a, b));
    }
  }
  return shapes;
}

using ShapeMaker = MmaShape (*)(const Extents&, const DType&, const DType&, const DType&);

std::vector<MmaShape> make_shapes(const std::vector<ShapeClass>& classes, ShapeMaker make) {
  std::vector<MmaShape> shapes;
  for (const ShapeClass& row : classes) {
    for (const DType& accumulator : row.accumulators) {
      for (const DType& a : row.operands) {
        for (const DType& b : row.operands) {
          for (const Extents& extents : row.extents) {
            shapes.push_back(make(extents, a, b, accumulator));
          }
        }
      }
    }
  }
  return shapes;
}

std::vector<const MmaShape*> matching(const std::vector<MmaShape>& shapes, const Target& target,
                                      const DType& a, const DType& b, const DType& accumulator) {
  std::vector<const MmaShape*> found;
  for (const MmaShape& shape : shapes) {
    if (shape.a == a && shape.b == b && shape.accumulator == accumulator &&
        shape.min_sm <= target.sm && mma_rule(target, shape)) {
      found.push_back(&shape);
    }
  }
  return found;
}

std::string list_types(const std::vector<ShapeClass>& classes, const Target& target, bool sparse) {
  std::string list;
  for (const ShapeClass& row : classes) {
    const bool here = std::any_of(row.extents.begin(), row.extents.end(),
                                  [&](const Extents& e) { return e.min_sm <= target.sm; });
    const MmaClass first{.target = target,
                         .a = row.operands.front(),
                         .b = row.operands.front(),
                         .accumulator = row.accumulators.front(),
                         .sparse = sparse};
    if (here && mma_rule(first)) list += (list.empty() ? "" : ", ") + std::string(row.words);
  }
  return list;
}

}  // namespace

const std::vector<MmaShape>& mma_shapes() {
  static const std::vector<MmaShape> shapes = make_shapes(dense_classes(), make_shape);
  return shapes;
}

const std::vector<MmaShape>& sparse_mma_shapes() {
  static const std::vector<MmaShape> shapes = make_shapes(sparse_classes(), make_sparse_shape);
  return shapes;
}

std::vector<const MmaShape*> mma_shapes(const Target& target, const DType& a, const DType& b,
                                        const DType& accumulator) {
  return matching(mma_shapes(), target, a, b, accumulator);
}

std::vector<const MmaShape*> sparse_mma_shapes(const Target& target, const DType& a, const DType& b,
                                               const DType& accumulator) {
  return matching(sparse_mma_shapes(), target, a, b, accumulator);
}

const std::vector<MmaShape>& scaled_mma_shapes() {
  static const std::vector<MmaShape> shapes = make_scaled_shapes();
  return shapes;
}

std::vector<const MmaShape*> scaled_mma_shapes(const Target& target, const DType& a, const DType& b,
                                               const DType& scale, const DType& accumulator) {
  std::vector<const MmaShape*> found;
  for (const MmaShape& shape : scaled_mma_shapes()) {
    if (shape.a == a && shape.b == b && shape.scale == scale && shape.accumulator == accumulator &&
        mma_rule(target, shape)) {
      found.push_back(&shape);
    }
  }
  return found;
}

const std::vector<MmaShape>& xor_mma_shapes() {
  static const std::vector<MmaShape> shapes = [] {
    std::vector<MmaShape> of_bits;
    for (MmaShape shape : mma_shapes()) {
      if (shape.a != u1) continue;
      shape.exclusive_or = true;
      of_bits.push_back(std::move(shape));
    }
    return of_bits;
  }();
  return shapes;
}

std::string list_scaled_mma_types() {
  return "f4e2m1 x f4e2m1 + f32 with scales of f8e8m0 or f7e4m3u, and f8e4m3, f8e5m2, f6e3m2, "
         "f6e2m3 and f4e2m1 in any mix + f32 with scales of f8e8m0";
}

int products_per_scale(const DType& scale) {
  if (scale == f8e8m0) return 32;
  return scale == f7e4m3u ? 16 : 0;
}

std::string list_mma_types(const Target& target) {
  return list_types(dense_classes(), target, false);
}

std::string list_sparse_mma_types(const Target& target) {
  return list_types(sparse_classes(), target, true);
}

RegisterLayout single_places_layout(const MmaShape& shape) {
  if (shape.selectors == 1) return shape.places_layout;
  return product({local({2, 1}), spatial({8, 1}), replicated(2), spatial({1, 2}), local({1, 8})});
}

std::optional<MmaRule> mma_rule(const Target& target, const MmaShape& shape) {
  return mma_rule(MmaClass{.target = target,
                           .a = shape.a,
                           .b = shape.b,
                           .accumulator = shape.accumulator,
                           .family = shape.family,
                           .sparse = shape.sparse,
                           .scaling = shape.scaling});
}

std::string MmaShape::label() const {
  if (family == MmaFamily::wgmma) return "wgmma." + name;
  if (scaling != MmaScaling::none) return fmt::format("{}.{}", kind_name(scaling), name);
  if (exclusive_or) return "xor." + name;
  return sparse ? "sp." + name : name;
}

RegisterElement register_element(const MmaShape& shape, const DType& operand) {
  if (shape.scaling != MmaScaling::mxf8f6f4) return {operand.bits};
  return {8, operand.bits == 4 ? 2 : 0};
}

std::string_view kind_name(MmaScaling scaling) {
  switch (scaling) {
    case MmaScaling::none:
      break;
    case MmaScaling::mxf8f6f4:
      return "mxf8f6f4";
    case MmaScaling::mxf4:
      return "mxf4";
    case MmaScaling::mxf4nvf4_ue8m0:
    case MmaScaling::mxf4nvf4_ue4m3:
      return "mxf4nvf4";
  }
  return "";
}

std::vector<const MmaShape*> dot_shapes(const Target& target, const DType& a, const DType& b,
                                        const DType& accumulator) {
  if (!a.is_bipolar() || !b.is_bipolar()) return mma_shapes(target, a, b, accumulator);
  constexpr int first_without_xor = 90;
  auto shapes = target.sm < first_without_xor
                    ? matching(xor_mma_shapes(), target, u1, u1, accumulator)
                    : mma_shapes(target, u1, u1, accumulator);
  const auto of_bytes = mma_shapes(target, i8, i8, accumulator);
  shapes.insert(shapes.end(), of_bytes.begin(), of_bytes.end());
  return shapes;
}

}  // namespace tilevm::isa
