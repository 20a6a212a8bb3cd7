// Plans that are kept from launch to launch, and launches that need no other host thread.
#include "sim/launch/kept_plans.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

std::string doubling(const std::string& grid, const std::string& body) {
  return "def f<" + grid +
         ">(i32* x, i32* y):\n"
         "    v = LoadGlobal(ViewGlobal(x, shape=[32]), layout=spatial(32))\n" +
         body + "    StoreGlobal(Add(v, v), ViewGlobal(y, shape=[32]))\n";
}

TEST_CASE("a kept plan serves launches on other data, with and without other checks") {
  const auto program = load(doubling("1", ""));
  Options options{.threads = 2};
  options.plans = keep_plans(program);
  for (const std::int32_t value : {3, -5, 7}) {
    for (const bool padding : {false, true}) {
      options.checks.padding = padding;
      std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(32, value)),
                                 buffer("y", std::vector<std::int32_t>(32, 0))};
      static_cast<void>(run_well(program, {0, 1}, memory, options));
      CHECK(values<std::int32_t>(memory[1]) == std::vector<std::int32_t>(32, 2 * value));
    }
  }
}

TEST_CASE("a plan is kept for its kernel and its checks, of its program alone") {
  const auto program = load(doubling("1", "")), other = load(doubling("2", ""));
  Options options;
  options.plans = keep_plans(program);
  const auto first = plan_of_launch(program, 0, options);
  CHECK(plan_of_launch(program, 0, options) == first);
  CHECK(plan_of_launch(other, 0, options) != plan_of_launch(other, 0, options));
  Options wrapping = options;
  wrapping.checks.wraps = false;
  CHECK(plan_of_launch(program, 0, wrapping) != first);
  Options counting = options;
  counting.count_accesses = true;
  CHECK(plan_of_launch(program, 0, counting)->plan.counts_accesses);
  CHECK(!plan_of_launch(program, 0, options)->plan.counts_accesses);
}

TEST_CASE("a launch is quick by what its statements may take, or by what its blocks took") {
  const auto straight = load(doubling("1", ""));
  const auto loop = load(doubling("1", "    for i in range(1000):\n        v = Add(v, v)\n"));
  const auto known = plan_of_launch(straight, 0, {}), unknown = plan_of_launch(loop, 0, {});
  CHECK(is_quick(*known, 1));
  CHECK(!is_quick(*known, 1'000'000));
  CHECK(!is_quick(*unknown, 1));
  unknown->block_nanoseconds = 2'000;
  CHECK(is_quick(*unknown, 10));
  CHECK(!is_quick(*unknown, 90));
}

}  // namespace
