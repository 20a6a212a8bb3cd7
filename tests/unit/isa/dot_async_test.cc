// Asynchronous products: which matrix descriptors name a memory layout, and what the message
// proposes for one that none names.
#include <doctest/doctest.h>

#include <string>

#include "isa/dot/dot_async.h"
#include "isa/dot/wgmma_shapes.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

const Target hopper{90, true};

RegisterLayout accumulator(std::int64_t rows, std::int64_t columns) {
  RegisterLayout layout = *spatial({4, 1});
  for (const auto& factor :
       {*local({rows / 64, columns / 8}), *local({2, 1}), *spatial({8, 4}), *local({1, 2})}) {
    layout = *compose(layout, factor);
  }
  return layout;
}

MemoryLayout modes(const Shape& shape, const std::vector<std::int64_t>& sizes,
                   const std::vector<std::int64_t>& strides, std::optional<Swizzle> swizzle = {}) {
  const auto layout = MemoryLayout::make(shape, sizes, strides, swizzle);
  REQUIRE(layout.ok());
  return *layout;
}

struct Planned {
  std::optional<DotPlan> plan;
  DotMismatch mismatch;
};

/// A product of 64 x n x 64 on f16, b in a layout of [64, n].
Planned plan_b(const MemoryLayout& b, std::int64_t n) {
  const MemoryLayout a = modes({64, 64}, {64, 64}, {64, 1}, Swizzle{3, 3, 3});
  const AsyncOperands operands{SharedPart{{f16, a}, {}}, {{f16, b}, {}}, {f32, accumulator(64, n)}};
  Planned planned;
  planned.plan = plan_dot_async(operands, hopper, &planned.mismatch);
  return planned;
}

TEST_CASE("a layout with rows of 128 bytes along k is K-major") {
  const Planned planned = plan_b(modes({64, 32}, {64, 32}, {1, 64}, Swizzle{3, 3, 3}), 32);
  REQUIRE(planned.plan);
  const SharedMatrix& b = *planned.plan->b_shared;
  CHECK(planned.plan->shape->name == "m64n32k16");
  CHECK(!b.mn_major);
  CHECK(b.swizzle == 128);
  CHECK(b.stride_bytes == 1024);
  CHECK(b.starts == std::vector<std::int64_t>{0, 32, 64, 96});  // steps along k
  CHECK(b.alignment() == 1024);
  // The stride in units of 16 bytes, and the code of the swizzle (PTX ISA, "Matrix Descriptor").
  CHECK(b.descriptor() == (std::uint64_t{1} << 62 | std::uint64_t{64} << 32));
}

TEST_CASE("a layout with rows of 128 bytes along n is MN-major") {
  const Planned planned =
      plan_b(modes({64, 128}, {64, 2, 64}, {64, 4096, 1}, Swizzle{3, 3, 3}), 128);
  REQUIRE(planned.plan);
  const SharedMatrix& b = *planned.plan->b_shared;
  CHECK(b.mn_major);
  CHECK(b.leading_bytes == 8192);  // between blocks of 64 columns
  CHECK(b.stride_bytes == 1024);   // between eight rows
  CHECK(b.starts == std::vector<std::int64_t>{0, 2048, 4096, 6144});
}

TEST_CASE("units of 16 bytes need no swizzle") {
  const Planned planned = plan_b(modes({64, 16}, {8, 8, 2, 8}, {64, 1, 512, 8}), 16);
  REQUIRE(planned.plan);
  const SharedMatrix& b = *planned.plan->b_shared;
  CHECK(b.swizzle == 0);
  CHECK(b.leading_bytes == 128);
  CHECK(b.stride_bytes == 1024);
  CHECK(b.alignment() == 16);
}

TEST_CASE("the message for a layout that no descriptor names proposes one that does") {
  const Planned planned = plan_b(*row_major({64, 32}), 32);
  REQUIRE(!planned.plan);
  CHECK(planned.mismatch.reason.find("no matrix descriptor names b") != std::string::npos);
  REQUIRE(!planned.mismatch.suggestions.empty());
  CHECK(planned.mismatch.suggestions.back() ==
        "b would fit as column_major(64, 32).swizzle(3, 3, 3)");
  CHECK(plan_b(modes({64, 32}, {64, 32}, {1, 64}, Swizzle{3, 3, 3}), 32).plan);
}

TEST_CASE("the widest instruction that the accumulator is made of is used") {
  const auto shape_of = [](std::int64_t n) {
    return plan_b(modes({64, n}, {64, n}, {1, 64}, Swizzle{3, 3, 3}), n).plan->shape->name;
  };
  CHECK(shape_of(256) == "m64n256k16");
  CHECK(shape_of(264) == "m64n88k16");  // 3 x 88
  CHECK(shape_of(512) == "m64n256k16");
}

TEST_CASE("every class has all numbers of columns, and only sm_90a has them") {
  CHECK(wgmma_shapes(hopper, f16, f16, f32).size() == 32);
  CHECK(wgmma_shapes(hopper, f8e4m3, f8e5m2, f16).size() == 32);
  CHECK(wgmma_shapes(hopper, i8, u8, i32).size() == 32);
  CHECK(wgmma_shapes({80, false}, f16, f16, f32).empty());
  CHECK(wgmma_shapes({100, true}, f16, f16, f32).empty());
}

}  // namespace
}  // namespace tilevm::isa
