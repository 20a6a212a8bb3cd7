// What a search for tunables may time, and in which order it does.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "tests/unit/vm/tune_support.h"
#include "vm/run/load.h"
#include "vm/tune/order.h"

namespace tilevm::vm::tuning {
namespace {

TEST_CASE("a space numbers its points, the last axis fastest") {
  const Space space{{{"A", {"1", "2"}, "1"}, {"B", {"x", "y", "z"}, "x"}}};
  CHECK(space.size() == 6);
  CHECK(to_string(space.point(0)) == "A=1 B=x");
  CHECK(to_string(space.point(2)) == "A=1 B=z");
  CHECK(to_string(space.point(5)) == "A=2 B=z");
  CHECK(Space{}.size() == 1);
}

TEST_CASE("a point of a table has its number, and its neighbours differ in one choice") {
  const Space space{{{"A", {"1", "2"}, "2"}, {"B", {"x", "y", "z"}, "x"}}};
  CHECK(space.index_of("A=1 B=z") == 2);
  CHECK(space.index_of("SPLIT=4 B=y") == 4);  // A has its default; SPLIT is not tuned
  CHECK(space.index_of("") == 3);
  CHECK_FALSE(space.index_of("B=w"));
  const auto near = [&](std::uint64_t index) {
    std::vector<std::string> points;
    for (const std::uint64_t each : space.neighbours(index)) {
      points.push_back(to_string(space.point(each)));
    }
    return points;
  };
  CHECK(near(0) == std::vector<std::string>{"A=1 B=y", "A=2 B=x", "A=1 B=z"});
  CHECK(near(4) == std::vector<std::string>{"A=1 B=y", "A=2 B=x", "A=2 B=z"});
}

TEST_CASE("illegal points are rejected with their reasons counted") {
  Points points = points_of();
  const auto legal = legal_of(points);
  CHECK(points.space().size() == 18);
  CHECK(points.seen() == 18);
  CHECK(points.legal() == 8);
  CHECK(legal.size() == 8);
  CHECK(points.rejected().at("V must be 1 or 2") == 6);
  std::uint64_t rejected = 0;
  for (const auto& [reason, count] : points.rejected()) rejected += count;
  CHECK(rejected == 10);
  CHECK(points.rejected().size() == 2);  // 2048 threads are the other reason
  std::set<std::string> keys;
  for (const Candidate* candidate : legal) keys.insert(candidate->key);
  CHECK(keys.size() == 8);
}

TEST_CASE("a define fixes a tunable; the default may break a requirement") {
  CHECK(points_of({.fixed = {{"T", "128"}}}).space().size() == 6);
  std::string text = program;
  text.replace(text.find("= 2\n"), 4, "= 3\n");
  Points points = points_of({}, text);
  CHECK(legal_of(points).size() == 8);
}

TEST_CASE("the space of a program in several files has all its tunables, types too") {
  const std::string path =
      std::string(TILEVM_SOURCE_DIR) + "/programs/quantized_matmul/few_rows.tile";
  std::istringstream none;
  const auto source = read_program(path, none);
  REQUIRE(source);
  PointsSettings settings;
  settings.fixed = {{"BN", "448"},   {"WARPS", "14"}, {"BK", "256"},   {"STAGES", "2"},
                    {"UNROLL", "0"}, {"SWAP", "1"},   {"SLICES", "2"}, {"N", "896"}};
  settings.kernel = "matmul";
  settings.multiprocessors = 132;
  Diagnostics diagnostics;
  Points points(*source, settings, diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  std::set<std::string> names;
  const auto legal = legal_of(points);
  for (const Candidate* candidate : legal) names.insert(to_string(candidate->point));
  CHECK(names == std::set<std::string>{"SCALE=f16 SPLIT_BARRIERS=0", "SCALE=f16 SPLIT_BARRIERS=1",
                                       "SCALE=f32 SPLIT_BARRIERS=0", "SCALE=f32 SPLIT_BARRIERS=1"});
  // Two stages of 256 columns of a (16 x 528 bytes, but for the last pitch), weights (448 x 128)
  // and scales (448 x 2 x 2) of the block are in flight; all of a, of the weights and of the scales
  // are read.
  const double in_flight = 132.0 * (2 * (16 * 528 + 448 * 128 + 448 * 2 * 2) - 16);
  const double read = 16 * 1024 * 2 + 1024 * 896 / 2 + 8 * 896 * 2;
  CHECK(legal[0]->least_us == doctest::Approx(read / in_flight * 0.4).epsilon(1e-9));
}

TEST_CASE("points are drawn in a seeded order, each once") {
  const auto drawn = [](std::uint64_t seed) {
    Points points = points_of({.seed = seed});
    std::vector<std::uint64_t> order;
    while (const auto index = points.draw()) order.push_back(*index);
    return order;
  };
  const std::vector<std::uint64_t> first = drawn(0);
  CHECK(std::set(first.begin(), first.end()).size() == 18);
  CHECK(first == drawn(0));
  CHECK(first != drawn(1));
}

/// 6^5 points, all legal.
const std::string wide_program = R"(const A in [1, 2, 3, 4, 5, 6] = 1
const B in [1, 2, 3, 4, 5, 6] = 1
const C in [1, 2, 3, 4, 5, 6] = 1
const D in [1, 2, 3, 4, 5, 6] = 1
const E in [1, 2, 3, 4, 5, 6] = 1

def copy<1>(f32* x_ptr, f32* y_ptr):
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[32]), layout=spatial(32), offset=[0:])
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[32]), offset=[0:])

pipeline main(x: f32[32]) -> (y: f32[32]):
    copy(x, y)
)";

/// A valley whose floor is at 5, 4, 2, 6, 3, in which two axes pull on each other.
double time_of(const Space& space, std::uint64_t index) {
  const double at[] = {5, 4, 2, 6, 3};
  double us = 10, previous = 0;
  const auto point = space.point(index);
  for (std::size_t i = 0; i < point.size(); ++i) {
    const double off = std::stod(point[i].value) - at[i];
    us += off * off + 0.5 * std::abs(off - previous);
    previous = off;
  }
  return us;
}

TEST_CASE("a search goes round the best points that it has") {
  Points points = points_of({}, wide_program);
  Order order(points, {}, 300);
  double best = 1e9;
  while (const Candidate* candidate = order.next()) {
    const double us = time_of(points.space(), candidate->index);
    best = std::min(best, us);
    order.tell(*candidate, us);
  }
  CHECK(order.given() == 300);
  CHECK(best == 10);  // one of 7776 points, which 300 random ones have with a chance of 4 %
}

TEST_CASE("a search begins with the points that it is given, and gives none twice") {
  Points points = points_of();
  const auto wanted = points.space().index_of("T=128 V=1 W=2");
  REQUIRE(wanted);
  Order order(points, {*wanted, 0, *wanted}, 512);
  std::vector<std::uint64_t> given;
  while (const Candidate* candidate = order.next()) {
    given.push_back(candidate->index);
    order.tell(*candidate, 1);
  }
  CHECK(given.size() == 8);
  CHECK(given[0] == *wanted);
  CHECK(given[1] == 0);
  CHECK(std::set(given.begin(), given.end()).size() == 8);
}

TEST_CASE("points whose copies alone take longer than the best point are dropped") {
  const std::string text = R"(const STAGES in [1, 2, 4] = 4
def copy<1>(f32* x_ptr, f32* y_ptr):
    s = AllocateShared(f32, shape=[STAGES, 1024])
    gx = ViewGlobal(x_ptr, shape=[1048576])
    CopyAsync(s, gx, offset=[0:], shared_offset=[0, 0:])
    CopyAsyncCommitGroup()
    CopyAsyncWaitGroup(0)
    Synchronize()
    StoreGlobal(LoadShared(s, layout=spatial(128).local(8), offset=[0, 0:]), ViewGlobal(y_ptr, shape=[1024]), offset=[0:])

pipeline main(x: f32[1048576]) -> (y: f32[1024]):
    copy(x, y)
)";
  Points points = points_of({.multiprocessors = 1}, text);
  const auto legal = legal_of(points);
  REQUIRE(legal.size() == 3);
  // 4 MiB at 400 ns for what the blocks of a multiprocessor hold: 16 of 128 threads, or as many as
  // have room in shared memory
  CHECK(legal[0]->least_us == doctest::Approx(4194304.0 / (16 * 4096) * 0.4));
  CHECK(legal[0]->least_us > legal[2]->least_us);
  Order order(points, {legal[2]->index}, 512);
  const Candidate* first = order.next();
  REQUIRE(first == legal[2]);
  order.tell(*first, (legal[0]->least_us + legal[2]->least_us) / 2);
  std::uint64_t more = 0;
  while (order.next() != nullptr) ++more;
  CHECK(more + order.dropped() == 2);
  CHECK(order.dropped() >= 1);
}

}  // namespace
}  // namespace tilevm::vm::tuning
