// What is emitted for Dots.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "backend/emit/emit.h"
#include "isa/dot/dot.h"
#include "isa/layout/layout_ops.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

std::size_t count(const std::string& text, const std::string& words) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++found;
  return found;
}

std::string emit_dot(const isa::DType& a, const isa::DType& b, const isa::DType& c,
                     const std::string& a_layout, const std::string& b_layout,
                     const std::string& c_layout) {
  const auto program = make_program(
      fmt::format("def f<1>():\n"
                  "    a = AllocateRegister({}, layout={}, init=1)\n"
                  "    b = AllocateRegister({}, layout={}, init=1)\n"
                  "    c = AllocateRegister({}, layout={}, init=1)\n"
                  "    Dot(a, b, c, out=c)\n",
                  to_string(a), a_layout, to_string(b), b_layout, to_string(c), c_layout));
  const CudaSource source = emit_cuda(program);
  return source.text.substr(source.prelude_size);
}

TEST_CASE("every instruction is called as often as its plan counts") {
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    if (shape.min_sm > 90) continue;
    const bool bits = shape.a == isa::u1, bytes = shape.a == isa::i8 && shape.b == isa::i8;
    std::vector<std::pair<isa::DType, isa::DType>> types{{shape.a, shape.b}};
    if (bits || bytes) {
      types.emplace_back(isa::bipolar(2), isa::bipolar(3));
      types.emplace_back(isa::bipolar(1), isa::bipolar(8));
      types.emplace_back(isa::bipolar(8), isa::bipolar(7));
    }
    for (const auto& [a, b] : types) {
      CAPTURE(shape.name);
      CAPTURE(to_string(a));
      CAPTURE(to_string(b));
      const std::string text = emit_dot(
          a, b, shape.accumulator, "local(3, 3)." + to_string(shape.a_layout),
          "local(3, 2)." + to_string(shape.b_layout), "local(3, 2)." + to_string(shape.c_layout));
      const auto tile = [](std::int64_t rows, std::int64_t columns,
                           const isa::RegisterLayout& fragment) {
        return *isa::compose(*isa::local({rows, columns}), fragment);
      };
      const auto plan =
          isa::plan_dot({a, tile(3, 3, shape.a_layout)}, {b, tile(3, 2, shape.b_layout)},
                        {shape.accumulator, tile(3, 2, shape.c_layout)}, {}, nullptr);
      REQUIRE(plan);
      CHECK(plan->shape == &shape);
      CHECK(count(text, "mma_" + shape.name + "_") ==
            1 + isa::count_instructions(*plan));  // and the definition
    }
  }
}

TEST_CASE("a Dot without tensor cores calls none; small ones are unrolled") {
  const std::string small =
      emit_dot(isa::f32, isa::f16, isa::f32, "local(4, 8)", "local(8, 2)", "local(4, 2)");
  CHECK(count(small, "mma_") == 0);
  CHECK(count(small, "tv::multiply_add<") == 1);
  CHECK(count(small, "TV_UNROLL for") == 2);
  const std::string large =
      emit_dot(isa::f32, isa::f32, isa::f32, "local(20, 20)", "local(20, 20)", "local(20, 20)");
  CHECK(count(large, "TV_UNROLL for") == 0);
}

}  // namespace
}  // namespace tilevm::backend
