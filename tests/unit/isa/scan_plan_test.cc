// The order in which elements are combined with those before them.
#include <doctest/doctest.h>

#include "isa/layout/layout_ops.h"
#include "isa/layout/scan_plan.h"

namespace tilevm::isa {
namespace {

using Kind = ScanLevel::Kind;

RegisterLayout product(const RegisterLayout& a, const RegisterLayout& b) { return *compose(a, b); }

}  // namespace

TEST_CASE("a scan begins in the thread and goes on in the warp and between warps") {
  const RegisterLayout layout = product(*spatial({128}), *local({4}));
  const ScanPlan plan = plan_scan(layout, 0);
  CHECK(plan.places == std::vector<std::int32_t>{0, 1, 2, 3});
  REQUIRE(plan.levels.size() == 3);
  CHECK(plan.levels[0].kind == Kind::places);
  CHECK(plan.levels[0].size == 4);
  CHECK(plan.levels[1].kind == Kind::lanes);
  CHECK(plan.levels[1].size == 32);
  CHECK(plan.levels[1].members == 4);
  CHECK(plan.levels[2].kind == Kind::threads);
  CHECK(plan.levels[2].size == 4);
  CHECK(plan.levels[2].distance == 32);
  CHECK(plan.exchanged_values() == 4);
}

TEST_CASE("an odd number of threads takes no doubling, and rows are apart") {
  const RegisterLayout layout = product(*spatial({2, 3}), *local({2, 1}));
  const ScanPlan plan = plan_scan(layout, 1);
  REQUIRE(plan.levels.size() == 1);
  CHECK(plan.levels[0].kind == Kind::threads);
  CHECK(plan.levels[0].totals == 2);
  CHECK(plan.levels[0].exchange.slots == 2);
  CHECK(plan.exchanged_values() == 12);
  CHECK(plan_scan(*local({1, 5}), 0).levels.empty());
}

TEST_CASE("places of a thread are taken in the order of the dimension") {
  const ScanPlan plan = plan_scan(*column_local({2, 3}), 1);
  CHECK(plan.places == std::vector<std::int32_t>{0, 2, 4, 1, 3, 5});
}

}  // namespace tilevm::isa
