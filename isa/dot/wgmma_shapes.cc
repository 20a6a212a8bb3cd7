#include "isa/dot/wgmma_shapes.h"

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

/// Instructions that differ in their columns and in which of the types each operand has.
struct TypeClass {
  std::string_view words;  // for messages
  std::vector<DType> operands;
  std::vector<DType> accumulators;
};

const std::vector<TypeClass>& type_classes() {
  static const std::vector<TypeClass> classes = {
      {"f16 x f16 + f32 or f16", {f16}, {f32, f16}},
      {"bf16 x bf16 + f32", {bf16}, {f32}},
      {"tf32 x tf32 + f32", {tf32}, {f32}},
      {"f8e4m3 and f8e5m2 in any mix + f32 or f16", {f8e4m3, f8e5m2}, {f32, f16}},
      {"i8 and u8 in any mix + i32", {i8, u8}, {i32}},
  };
  return classes;
}

RegisterLayout fragment_of(std::initializer_list<Result<RegisterLayout>> factors) {
  RegisterLayout layout;
  for (const auto& factor : factors) {
    TILEVM_CHECK(factor.ok(), "fragment factor");
    layout = *compose(layout, *factor);
  }
  return layout;
}

MmaShape make_wgmma_shape(std::int64_t n, const DType& a, const DType& b,
                          const DType& accumulator) {
  constexpr std::int64_t m = 64, most_bytes_of_k = 32, warps = 4;
  const std::int64_t k = most_bytes_of_k * 8 / a.bits, e = 32 / a.bits;
  MmaShape shape{
      fmt::format("m{}n{}k{}", m, n, k),
      m,
      n,
      k,
      a,
      b,
      accumulator,
      fragment_of({spatial({warps, 1}), column_local({2, 2}), spatial({8, 4}), local({1, e})}),
      {},
      fragment_of(
          {spatial({warps, 1}), local({1, n / 8}), local({2, 1}), spatial({8, 4}), local({1, 2})}),
      90};
  shape.family = MmaFamily::wgmma;
  return shape;
}

std::vector<MmaShape> make_wgmma_shapes() {
  constexpr std::int64_t most_columns = 256, columns_step = 8;
  std::vector<MmaShape> shapes;
  for (const TypeClass& each : type_classes()) {
    for (const DType& accumulator : each.accumulators) {
      for (const DType& a : each.operands) {
        for (const DType& b : each.operands) {
          for (std::int64_t n = most_columns; n > 0; n -= columns_step) {
            shapes.push_back(make_wgmma_shape(n, a, b, accumulator));
          }
        }
      }
    }
  }
  return shapes;
}

}  // namespace

const std::vector<MmaShape>& wgmma_shapes() {
  static const std::vector<MmaShape> shapes = make_wgmma_shapes();
  return shapes;
}

std::vector<const MmaShape*> wgmma_shapes(const Target& target, const DType& a, const DType& b,
                                          const DType& accumulator) {
  std::vector<const MmaShape*> found;
  for (const MmaShape& shape : wgmma_shapes()) {
    if (shape.a == a && shape.b == b && shape.accumulator == accumulator &&
        mma_rule(target, shape)) {
      found.push_back(&shape);
    }
  }
  return found;
}

bool may_be_mn_major(const DType& type) { return type == f16 || type == bf16; }

std::string list_wgmma_types() {
  std::string list;
  for (const TypeClass& each : type_classes()) {
    list += (list.empty() ? "" : ", ") + std::string(each.words);
  }
  return list;
}

}  // namespace tilevm::isa
