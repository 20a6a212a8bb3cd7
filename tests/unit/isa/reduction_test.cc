#include "isa/layout/reduction.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "isa/layout/layout_ops.h"
#include "tests/unit/isa/layout_random.h"

using namespace tilevm::isa;
using namespace tilevm::isa::testing;

namespace {

/// The elements that went into a value; one that went in twice is an error.
using Elements = std::multiset<Index>;

/// What every thread has at each place of the result, if it follows the plan step by step.
std::vector<std::vector<Elements>> follow(const ReductionPlan& plan, const RegisterLayout& source) {
  std::vector<std::vector<Elements>> values;
  for (std::int64_t t = 0; t < source.num_threads(); ++t) {
    auto& own = values.emplace_back(std::size_t(plan.results));
    for (std::size_t k = 0; k < plan.places.size(); ++k) {
      own[k / std::size_t(plan.elements)].insert(source.element(t, plan.places[k]));
    }
  }
  for (const ReductionStep& step : plan.steps()) {
    const auto before = values;
    for (std::size_t t = 0; t < values.size(); ++t) {
      const auto distance = std::size_t(step.distance), size = std::size_t(step.size);
      const std::size_t digit = t / distance % size;
      for (std::size_t g = 0; g < values[t].size(); ++g) {
        values[t][g].clear();
        for (std::size_t i = 0; i < size; ++i) {
          const Elements& other = before[t - digit * distance + i * distance][g];
          values[t][g].insert(other.begin(), other.end());
        }
      }
    }
  }
  return values;
}

}  // namespace

TEST_CASE("rows of an accumulator take two shuffles, and warps one exchange") {
  const auto fragment = read_layout("local(2, 1).spatial(8, 4).local(1, 2)");
  const ReductionPlan rows = plan_reduction(fragment, {1}, must(reduce(fragment, {1})));
  CHECK(rows.results == 2);
  CHECK(rows.elements == 2);
  CHECK(rows.lanes == std::vector<ReductionStep>{{1, 2}, {2, 2}});
  CHECK(rows.exchanges.empty());
  const auto warps = must(compose(must(spatial({1, 4})), fragment));
  const ReductionPlan across = plan_reduction(warps, {1}, must(reduce(warps, {1})));
  CHECK(across.lanes.size() == 2);
  REQUIRE(across.exchanges.size() == 1);
  CHECK(across.exchanges[0].steps == std::vector<ReductionStep>{{32, 2}, {64, 2}});
  CHECK(across.exchanges[0].partials == 4);
  CHECK(across.exchanges[0].slots == 8);  // rows of a place
  CHECK(across.exchanged_values() == 2 * 8 * 4);
}

TEST_CASE("a digit of threads is butterflies, then a fold of what is odd") {
  const auto layout = must(spatial({24}));
  const ReductionPlan plan = plan_reduction(layout, {0}, must(reduce(layout, {0})));
  CHECK(plan.lanes == std::vector<ReductionStep>{{1, 2}, {2, 2}, {4, 2}});
  REQUIRE(plan.exchanges.size() == 1);
  CHECK(plan.exchanges[0].steps == std::vector<ReductionStep>{{8, 3}});
  CHECK(plan.exchanges[0].copies.size() == 3);  // lanes that have the same already
}

TEST_CASE("each element of a row goes into its result once, whatever the layout") {
  CHECK(rc::check("plan_reduction", [] {
    const auto layout = random_layout(*rc::gen::inRange(1, 4));
    std::vector<int> dims;
    for (int d = 0; d < layout.rank(); ++d) {
      if (*rc::gen::arbitrary<bool>()) dims.push_back(d);
    }
    const bool keeps = *rc::gen::arbitrary<bool>();
    const auto result = must(reduce(layout, dims, keeps));
    const ReductionPlan plan = plan_reduction(layout, dims, result);
    const auto values = follow(plan, layout);
    for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
      for (std::int64_t i = 0; i < result.num_locals(); ++i) {
        const Index row = result.element(t, i);
        Elements expected;
        for (std::int64_t e = 0; e < layout.size(); ++e) {
          const Index index = unravel(e, layout.shape());
          Index kept;
          for (int d = 0; d < layout.rank(); ++d) {
            const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
            if (!reduced || keeps) kept.push_back(reduced ? 0 : index[std::size_t(d)]);
          }
          if (kept == row) expected.insert(index);
        }
        RC_ASSERT((values[std::size_t(t)][std::size_t(i)] == expected));
      }
    }
  }));
}

TEST_CASE("a slice is the factor that a layout repeats along a dimension") {
  CHECK(rc::check("slice(compose(local(.., n, ..), l), dim, extent) == l", [] {
    const auto part = random_layout(*rc::gen::inRange(1, 4));
    const int dim = *rc::gen::inRange(0, part.rank());
    Shape copies(std::size_t(part.rank()), 1);
    copies[std::size_t(dim)] = *rc::gen::inRange(1, 5);
    const auto whole = must(compose(must(local(copies)), part));
    RC_ASSERT((must(slice(whole, dim, part.shape()[std::size_t(dim)])) == part));
  }));
}
