// Plans of Dot: which instruction, which registers, in which order.
#include "isa/dot/dot.h"

#include <map>
#include <set>

#include <doctest/doctest.h>

#include "isa/dot/dot_chain.h"
#include "isa/dot/dot_tiling.h"
#include "isa/layout/layout_ops.h"

namespace {

using namespace tilevm;
using namespace tilevm::isa;

RegisterLayout product(std::initializer_list<Result<RegisterLayout>> factors) {
  RegisterLayout layout;
  for (const auto& factor : factors) layout = *compose(layout, *factor);
  return layout;
}

const MmaShape& shape_named(std::string_view name, const DType& type) {
  for (const MmaShape& shape : mma_shapes()) {
    if (shape.name == name && shape.a == type) return shape;
  }
  FAIL("no such shape");
  return mma_shapes()[0];
}

/// Replays a plan on every warp: each product a[m, k] b[k, n] must reach its element of c exactly
/// once, and k must ascend by fragments.
void check_plan(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                const DotPlan& plan) {
  const MmaShape& shape = *plan.shape;
  const std::int64_t k_extent = a.shape()[1];
  for (std::int64_t warp = 0; warp < c.layout.num_threads() / 32; ++warp) {
    std::map<Index, std::set<std::int64_t>> seen;
    std::map<std::int32_t, std::int64_t> last_k;
    for (const DotPlan::Step& step : plan.steps) {
      const auto origin = [&](const RegisterType& type, const Fragment& fragment) {
        return type.layout.element(warp * 32, fragment[0]);
      };
      const Index a0 = origin(a, plan.a[static_cast<std::size_t>(step.a)]);
      const Index b0 = origin(b, plan.b[static_cast<std::size_t>(step.b)]);
      const Index c0 = origin(c, plan.c[static_cast<std::size_t>(step.c)]);
      CHECK(a0[0] == c0[0]);
      CHECK(b0[1] == c0[1]);
      CHECK(a0[1] == b0[0]);
      CHECK(a0[1] == (last_k.contains(step.c) ? last_k[step.c] + shape.k : 0));
      last_k[step.c] = a0[1];
      CHECK(seen[c0].insert(a0[1]).second);
    }
    for (const auto& [tile, ks] : seen) {
      CHECK(static_cast<std::int64_t>(ks.size()) == k_extent / shape.k);
    }
    CHECK(seen.size() == plan.c.size());
  }
  // Every fragment names the elements of the instruction's fragment, thread by thread.
  const auto check_fragments = [&](const RegisterType& type, const RegisterLayout& fragment,
                                   const std::vector<Fragment>& fragments) {
    for (const Fragment& places : fragments) {
      for (std::int64_t t = 0; t < type.layout.num_threads(); ++t) {
        const Index origin = type.layout.element(t / 32 * 32, places[0]);
        for (std::size_t e = 0; e < places.size(); ++e) {
          const Index wanted = fragment.element(t % 32, static_cast<std::int64_t>(e));
          const Index here = type.layout.element(t, places[e]);
          REQUIRE(here[0] - origin[0] == wanted[0]);
          REQUIRE(here[1] - origin[1] == wanted[1]);
        }
      }
    }
  };
  check_fragments(a, shape.a_layout, plan.a);
  check_fragments(b, shape.b_layout, plan.b);
  check_fragments(c, shape.c_layout, plan.c);
}

}  // namespace

TEST_CASE("one fragment of each operand is one instruction") {
  const MmaShape& mma = shape_named("m16n8k16", f16);
  const RegisterType a{f16, mma.a_layout}, b{f16, mma.b_layout}, c{f32, mma.c_layout};
  const auto plan = plan_dot(a, b, c, Target{90, true}, nullptr);
  REQUIRE(plan);
  CHECK(plan->shape->name == "m16n8k16");
  CHECK(plan->steps.size() == 1);
  CHECK(plan->a[0] == Fragment{0, 1, 2, 3, 4, 5, 6, 7});
  check_plan(a, b, c, *plan);
}

TEST_CASE("a product of k = 8 takes the instruction with k = 8") {
  const MmaShape& mma = shape_named("m16n8k8", bf16);
  const RegisterType a{bf16, mma.a_layout}, b{bf16, mma.b_layout}, c{f32, mma.c_layout};
  const auto plan = plan_dot(a, b, c, Target{80, false}, nullptr);
  REQUIRE(plan);
  CHECK(plan->shape->name == "m16n8k8");
  check_plan(a, b, c, *plan);
}

TEST_CASE("four warps, several tiles in each, and three steps of k") {
  const MmaShape& mma = shape_named("m16n8k16", f16);
  const RegisterType a{f16, product({spatial({2, 1}), replicated(2), local({2, 3}), mma.a_layout})};
  const RegisterType b{f16, product({replicated(2), spatial({1, 2}), local({3, 4}), mma.b_layout})};
  const RegisterType c{f32, product({spatial({2, 2}), local({2, 4}), mma.c_layout})};
  const auto plan = plan_dot(a, b, c, Target{90, true}, nullptr);
  REQUIRE(plan);
  CHECK(plan->steps.size() == 2 * 4 * 3);
  check_plan(a, b, c, *plan);
}

TEST_CASE("places may stand in any order within a thread") {
  const MmaShape& mma = shape_named("m16n8k16", f16);
  const RegisterType a{f16, product({local({1, 2}), mma.a_layout})};
  const RegisterType b{f16, product({column_local({2, 3}), mma.b_layout})};
  // c's fragments interleaved: the pair of neighbours outermost.
  const RegisterType c{f32, product({local({2, 1}), spatial({8, 1}), local({1, 3}), spatial({1, 4}),
                                     local({1, 2})})};
  REQUIRE(c.layout.shape() == Shape{16, 24});
  const auto plan = plan_dot(a, b, c, Target{90, true}, nullptr);
  REQUIRE(plan);
  check_plan(a, b, c, *plan);
}

/// The tile whose transpose has this layout.
RegisterType of_transpose(const DType& type, const RegisterLayout& layout) {
  return {type, *permute(layout, {1, 0})};
}

TEST_CASE("transposed fragments are the plan of the transposed product") {
  for (const MmaShape& shape : mma_shapes()) {
    const auto a = product({spatial({2, 1}), replicated(2), local({1, 2}), shape.a_layout});
    const auto b = product({replicated(2), spatial({1, 2}), local({2, 3}), shape.b_layout});
    const auto c = product({spatial({2, 2}), local({1, 3}), shape.c_layout});
    const Target target{120, true};
    const auto straight =
        plan_dot({shape.a, a}, {shape.b, b}, {shape.accumulator, c}, target, nullptr);
    const auto plan = plan_dot(of_transpose(shape.b, b), of_transpose(shape.a, a),
                               of_transpose(shape.accumulator, c), target, nullptr);
    REQUIRE(straight);
    REQUIRE(plan);
    CHECK_FALSE(straight->transposed);
    CHECK(plan->transposed);
    CHECK(plan->shape == straight->shape);
    check_plan({shape.a, a}, {shape.b, b}, {shape.accumulator, c}, *plan);
  }
}

TEST_CASE("a mismatch says why and shows layouts that fit") {
  const MmaShape& mma = shape_named("m16n8k16", f16);
  const RegisterType c{f32, product({spatial({2, 2}), mma.c_layout})};
  const RegisterType b{f16, product({replicated(2), spatial({1, 2}), mma.b_layout})};
  const RegisterType wrong{f16, product({replicated(2), spatial({2, 1}), mma.a_layout})};
  DotMismatch mismatch;
  CHECK_FALSE(plan_dot(wrong, b, c, Target{90, true}, &mismatch));
  CHECK(mismatch.reason.find("warps' shares") != std::string::npos);
  REQUIRE(mismatch.suggestions.size() == 1);
  CHECK(mismatch.suggestions[0] ==
        "a would fit as spatial(2, 1).replicated(2).column_local(2, 2).spatial(8, 4).local(1, 2)");
}

TEST_CASE("every fragment follows the formulas of the PTX manual") {
  for (const MmaShape& shape : mma_shapes()) {
    CAPTURE(shape.name);
    CAPTURE(to_string(shape.a));
    const std::int64_t e = shape.a.bits >= 32 ? 1 : 32 / shape.a.bits, halves = shape.m / 8;
    REQUIRE(shape.a_layout.shape() == Shape{shape.m, shape.k});
    REQUIRE(shape.b_layout.shape() == Shape{shape.k, shape.n});
    REQUIRE(shape.c_layout.shape() == Shape{shape.m, shape.n});
    bool equal = true;
    for (std::int64_t t = 0; t < 32; ++t) {
      for (std::int64_t i = 0; i < shape.a_layout.num_locals(); ++i) {
        const std::int64_t r = i / e, j = i % e;
        const Index a{t / 4 + 8 * (r % halves), 4 * e * (r / halves) + e * (t % 4) + j};
        equal = equal && shape.a_layout.element(t, i) == a;
      }
      for (std::int64_t i = 0; i < shape.b_layout.num_locals(); ++i) {
        const Index b{4 * e * (i / e) + e * (t % 4) + i % e, t / 4};
        equal = equal && shape.b_layout.element(t, i) == b;
      }
      for (std::int64_t i = 0; i < shape.c_layout.num_locals(); ++i) {
        const Index c{t / 4 + 8 * (i / 2), 2 * (t % 4) + i % 2};
        equal = equal && shape.c_layout.element(t, i) == c;
      }
    }
    CHECK(equal);
  }
}

TEST_CASE("an instruction with its own layouts is one step of itself, checked by replay") {
  for (const MmaShape& shape : mma_shapes()) {
    CAPTURE(shape.name);
    CAPTURE(to_string(shape.a));
    const RegisterType a{shape.a, product({spatial({2, 1}), local({1, 3}), shape.a_layout})};
    const RegisterType b{shape.b, product({replicated(2), local({3, 2}), shape.b_layout})};
    const RegisterType c{shape.accumulator,
                         product({spatial({2, 1}), local({1, 2}), shape.c_layout})};
    const auto plan = plan_dot(a, b, c, Target{120, true}, nullptr);
    REQUIRE(plan);
    CHECK(plan->method == DotMethod::mma);
    CHECK(plan->shape == &shape);
    check_plan(a, b, c, *plan);
  }
}

TEST_CASE("bipolar operands use the bits or the values, as their layouts have it") {
  const MmaShape& bits = shape_named("m16n8k256", u1);
  const MmaShape& values = shape_named("m16n8k32", i8);
  const auto plan_of = [](const MmaShape& shape, int a_bits, int b_bits) {
    return plan_dot({bipolar(a_bits), shape.a_layout}, {bipolar(b_bits), shape.b_layout},
                    {i32, shape.c_layout}, {}, nullptr);
  };
  const auto planes = plan_of(bits, 2, 5);
  REQUIRE(planes);
  CHECK(planes->method == DotMethod::bipolar);
  CHECK(planes->shape == &bits);
  CHECK(planes->a_form.planes == 2);
  CHECK(planes->a_form.scale == 2);
  CHECK(planes->a_form.offset == -3);
  CHECK(planes->b_form.planes == 5);
  CHECK(planes->b_form.offset == -31);
  const auto bytes = plan_of(values, 7, 8);
  REQUIRE(bytes);
  CHECK(bytes->shape == &values);
  CHECK(bytes->a_form.scale == 1);
  CHECK(bytes->a_form.offset == 0);
  CHECK(bytes->b_form.scale == 2);
  CHECK(bytes->b_form.offset == 1);
}

TEST_CASE("threads with all of k for their elements need no tensor core") {
  const RegisterType a{f32, product({spatial({4, 1}), replicated(2), column_local({3, 5})})};
  const RegisterType b{f16, product({replicated(4), local({5, 2}), spatial({1, 2})})};
  const RegisterType c{f32, product({spatial({4, 1}), local({3, 2}), spatial({1, 2})})};
  const auto plan = plan_dot(a, b, c, {}, nullptr);
  REQUIRE(plan);
  CHECK(plan->method == DotMethod::chain);
  const ChainPlaces& at = plan->chain;
  for (std::int64_t t = 0; t < 8; ++t) {
    for (std::size_t i = 0; i < 6; ++i) {
      const Index out = c.layout.element(t, static_cast<std::int64_t>(i));
      for (std::size_t k = 0; k < 5; ++k) {
        const auto depth = static_cast<std::int64_t>(k);
        CHECK(a.layout.element(t, at.a_row[i] + at.a_depth[k]) == Index{out[0], depth});
        CHECK(b.layout.element(t, at.b_depth[k] + at.b_column[i]) == Index{depth, out[1]});
      }
    }
  }
}

TEST_CASE("a chain takes what its accumulator holds exactly") {
  CHECK(chain_takes(f16, i16, f32));
  CHECK(chain_takes(tf32, bipolar(8), f32));
  CHECK(chain_takes(i32, u32, f64));
  CHECK(chain_takes(f8e5m2, f8e4m3, f16));
  CHECK(chain_takes(u8, i8, bf16));
  CHECK(chain_takes(i64, bipolar(2), u64));
  CHECK_FALSE(chain_takes(i32, f32, f32));
  CHECK_FALSE(chain_takes(i64, f64, f64));
  CHECK_FALSE(chain_takes(bf16, bf16, f16));
  CHECK_FALSE(chain_takes(f16, f16, bf16));
  CHECK_FALSE(chain_takes(i16, i16, f16));
  CHECK_FALSE(chain_takes(small_float(6, 1), f16, f16));
  CHECK_FALSE(chain_takes(f32, f32, tf32));
  CHECK_FALSE(chain_takes(i8, i8, i16));
  CHECK_FALSE(chain_takes(i64, i8, i32));
  CHECK_FALSE(chain_takes(f16, f16, i32));
}

TEST_CASE("a target without an instruction for the types says what it has, and who has it") {
  const MmaShape& mma = shape_named("m16n8k32", f8e4m3);
  const RegisterType a{f8e4m3, mma.a_layout}, b{f8e4m3, mma.b_layout}, c{f32, mma.c_layout};
  DotMismatch mismatch;
  CHECK_FALSE(plan_dot(a, b, c, Target{86, false}, &mismatch));
  CHECK(mismatch.reason ==
        "no tensor-core instruction of sm_86 computes f8e4m3 x f8e4m3 + f32 (sm_89 and later do)");
  REQUIRE(mismatch.suggestions.size() == 2);
  CHECK(mismatch.suggestions[0].find("sm_86 computes f16 x f16 + f32 or f16") == 0);
  CHECK(mismatch.suggestions[0].find("f8e4m3") == std::string::npos);
  CHECK(mismatch.suggestions[1].find("without tensor cores") == 0);
}

TEST_CASE("types without an instruction are named") {
  const MmaShape& mma = shape_named("m16n8k16", f16);
  const RegisterType a{f16, mma.a_layout}, b{bf16, mma.b_layout}, c{f32, mma.c_layout};
  DotMismatch mismatch;
  CHECK_FALSE(plan_dot(a, b, c, Target{90, true}, &mismatch));
  CHECK(mismatch.reason == "no tensor-core instruction of sm_90a computes f16 x bf16 + f32");
}

TEST_CASE("products of a batch share nothing but the instruction") {
  // Two warps for each of two batches, which differ in their columns, and two products in each.
  const MmaShape& shape = shape_named("m16n8k16", f16);
  const auto a = product({spatial({2, 1, 1}), replicated(2), local({2, 1, 2}), shape.a_layout});
  const auto b = product({spatial({2, 1, 2}), local({2, 2, 1}), shape.b_layout});
  const auto c = product({spatial({2, 1, 2}), local({2, 1, 1}), shape.c_layout});
  const auto plan = plan_dot({f16, a}, {f16, b}, {f32, c}, {}, nullptr);
  REQUIRE(plan);
  CHECK(plan->shape == &shape);
  CHECK(plan->steps.size() == 4);
  for (const DotPlan::Step& step : plan->steps) {
    const auto batch = [&](const RegisterLayout& layout, const Fragment& fragment) {
      return layout.local_part(fragment[0])[0];
    };
    const std::int64_t wanted = batch(c, plan->c[static_cast<std::size_t>(step.c)]);
    CHECK(batch(a, plan->a[static_cast<std::size_t>(step.a)]) == wanted);
    CHECK(batch(b, plan->b[static_cast<std::size_t>(step.b)]) == wanted);
  }
  // Warps of one batch cannot compute another's products.
  const auto other = product({replicated(2), spatial({1, 1, 2}), local({4, 2, 1}), shape.b_layout});
  DotMismatch mismatch;
  CHECK_FALSE(plan_dot({f16, a}, {f16, other}, {f32, c}, {}, &mismatch));
  CHECK(mismatch.reason.find("each warp needs all of k") != std::string::npos);
}

TEST_CASE("a mismatch of a batch is explained in the tiles' own shapes") {
  const MmaShape& shape = shape_named("m16n8k16", f16);
  const auto c = product({spatial({2, 1, 1, 1}), local({1, 3, 1, 1}), shape.c_layout});
  const RegisterType a{f16, *auto_local_spatial(64, {2, 3, 16, 16})};
  const RegisterType b{f16, *auto_local_spatial(64, {2, 3, 16, 8})};
  DotMismatch mismatch;
  REQUIRE_FALSE(plan_dot(a, b, {f32, c}, {}, &mismatch));
  REQUIRE(mismatch.suggestions.size() == 2);
  const auto fitting = product({spatial({2, 1, 1, 1}), local({1, 3, 1, 1}), shape.a_layout});
  CHECK(mismatch.suggestions[0] == "a would fit as " + to_string(fitting));
}

TEST_CASE("leading dimensions merge without moving an element") {
  const auto layout = *auto_local_spatial(32, {3, 2, 4, 8});
  const RegisterLayout batch = as_batch(layout);
  CHECK(batch.shape() == Shape{6, 4, 8});
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
      const Index from = layout.element(t, i);
      CHECK(batch.element(t, i) == Index{from[0] * 2 + from[1], from[2], from[3]});
    }
  }
}
