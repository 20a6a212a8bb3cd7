// Plans of Dot: which instruction, which registers, in which order.
#include "isa/dot.h"

#include <map>
#include <set>

#include <doctest/doctest.h>

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

TEST_CASE("types without an instruction are named") {
  const MmaShape& mma = shape_named("m16n8k16", f16);
  const RegisterType a{f16, mma.a_layout}, b{bf16, mma.b_layout}, c{f32, mma.c_layout};
  DotMismatch mismatch;
  CHECK_FALSE(plan_dot(a, b, c, Target{90, true}, &mismatch));
  CHECK(mismatch.reason == "no tensor-core instruction of sm_90a computes f16 x bf16 + f32");
}
