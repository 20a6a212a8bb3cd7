// Elements combined with those of memory: results, races with other accesses, barriers that are
// needed, shadow values.
#include <doctest/doctest.h>

#include <numeric>

#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

/// The report of f<grid>(i32* x, i32* y) on 64 elements each, those of y zero.
Report report_of(const std::string& grid, const std::string& body,
                 const Options& options = {.threads = 1}) {
  const auto program = load("const L: layout = spatial(32)\ndef f<" + grid +
                            ">(i32* x, i32* y):\n"
                            "    b = BlockIndices()\n"
                            "    gx = ViewGlobal(x, shape=[64])\n"
                            "    gy = ViewGlobal(y, shape=[64])\n"
                            "    i = Iota(i32, layout=L)\n"
                            "    one = AllocateRegister(i32, layout=L, init=1)\n"
                            "    zero = AllocateRegister(i32, layout=L, init=0)\n" +
                            body);
  std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(64, 3)),
                             buffer("y", std::vector<std::int32_t>(64, 0))};
  return run(program, {0, 1}, memory, options);
}

/// The message of the race, empty without one.
std::string race_of(const std::string& grid, const std::string& body) {
  const Report report = report_of(grid, body);
  if (!report.fault) return "";
  CHECK(report.fault->diagnostic.code == Code::race);
  return report.fault->diagnostic.message;
}

const std::string add = "    Scatter(one, gy, zero, dim=0, op=add)\n";
const std::string load_it = "    t = LoadGlobal(gy, layout=L)\n";
const std::string store_it = "    StoreGlobal(one, gy)\n";
const std::string barrier = "    Synchronize()\n";

}  // namespace

TEST_CASE("sums over many blocks do not depend on the number of host threads") {
  const auto program = load(
      "def f<300>(u32* x, u32* y):\n"
      "    b = BlockIndices()\n"
      "    v = LoadGlobal(ViewGlobal(x, shape=[300, 64]), layout=spatial(32).local(2),"
      " offset=[b, 0:])\n"
      "    seven = AllocateRegister(u32, layout=spatial(32).local(2), init=7)\n"
      "    Scatter(v, ViewGlobal(y, shape=[7]), v % seven, dim=0, op=add)\n");
  std::vector<std::uint32_t> x(300 * 64), expected(7, 0);
  std::iota(x.begin(), x.end(), 11U);
  for (const std::uint32_t each : x) expected[each % 7] += each;
  for (const int threads : {1, 2, 7}) {
    std::vector<Buffer> memory{buffer("x", x), buffer("y", std::vector<std::uint32_t>(7, 0))};
    run_well(program, {0, 1}, memory, {.threads = threads});
    CHECK(values<std::uint32_t>(memory[1]) == expected);
  }
}

TEST_CASE("combinations race with loads and stores of other threads, not with one another") {
  CHECK(race_of("1", add + add) == "");
  CHECK(race_of("1", add + load_it).find("reads what thread") != std::string::npos);
  CHECK(race_of("1", load_it + add).find("combines what thread") != std::string::npos);
  CHECK(race_of("1", add + store_it).find("writes what thread") != std::string::npos);
  CHECK(race_of("1", store_it + add).find("combines what thread") != std::string::npos);
  CHECK(race_of("1", add + barrier + load_it) == "");
  CHECK(race_of("1", store_it + barrier + add + barrier + load_it + barrier + add) == "");
  // A thread may read what it alone combined.
  CHECK(race_of("1", "    Scatter(one, gy, i, dim=0, op=add)\n" + load_it) == "");
  // Many accesses, of which marks are kept instead of footprints.
  CHECK(race_of("1", "    for k in range(600):\n        Scatter(one, gy, i, dim=0, op=add)\n" +
                         load_it) == "");
  CHECK(race_of("1", "    for k in range(600):\n        Scatter(one, gy, zero, dim=0, op=add)\n" +
                         load_it) != "");
}

TEST_CASE("blocks combine what no other block loads or stores") {
  CHECK(race_of("8", add) == "");
  CHECK(race_of("8", "    if b == 3:\n    " + load_it + "    else:\n    " + add)
            .find("reads what block [0] combines") != std::string::npos);
  CHECK(race_of("8", "    if b == 3:\n    " + add + "    else:\n    " + load_it)
            .find("combines what block [0] reads") != std::string::npos);
  CHECK(race_of("8", "    if b == 3:\n    " + store_it + "    else:\n    " + add) != "");
  CHECK(race_of("8", "    if b > 3:\n    " + add) == "");
}

TEST_CASE("semaphores order combinations like other accesses") {
  const std::string turn = "    turn = AllocateGlobal(i32, shape=[1], init=0)\n";
  const std::string last = "    n = AtomicAdd(turn, 1, offset=[0])\n    if n == 7:\n    " + load_it;
  CHECK(race_of("8", turn + add + last) == "");
  CHECK(race_of("8", turn + add + last + "    else:\n    " + add) != "");
  CHECK(race_of("2", turn + "    if b == 0:\n    " + add +
                         "        ReleaseSemaphore(turn, 1, offset=[0])\n    else:\n"
                         "        LockSemaphore(turn, 1, offset=[0])\n    " +
                         store_it) == "");
  CHECK(race_of("2", turn + "    if b == 0:\n        ReleaseSemaphore(turn, 1, offset=[0])\n    " +
                         add + "    else:\n        LockSemaphore(turn, 1, offset=[0])\n    " +
                         store_it) != "");
}

TEST_CASE("a barrier between combinations is not needed, one before a load is") {
  const Report report = report_of("1", add + barrier + add + barrier + load_it);
  REQUIRE(!report.fault);
  REQUIRE(report.barriers.size() == 2);
  CHECK(!report.barriers[0].needed);
  CHECK(report.barriers[1].needed);
}

TEST_CASE("in shared memory threads combine in one element and race with its loads") {
  const std::string tensor =
      "    s = AllocateShared(i32, shape=[4])\n"
      "    StoreShared(AllocateRegister(i32, layout=replicated(32).local(4),"
      " init=5), s)\n    Synchronize()\n";
  const std::string adds = "    Scatter(one, s, i % 4, dim=0, op=add)\n";
  const std::string loads = "    t = LoadShared(s, layout=replicated(8).spatial(4))\n";
  CHECK(race_of("1", tensor + adds + adds + barrier + loads) == "");
  CHECK(race_of("1", tensor + adds + loads).find("combined") != std::string::npos);
  CHECK(race_of("1", tensor + loads + adds) != "");
  CHECK(race_of("1", tensor + adds +
                         "    StoreShared(AllocateRegister(i32,"
                         " layout=replicated(32).local(4), init=5), s)\n") != "");
}

TEST_CASE("a copy in flight must not read what is combined") {
  const Report report =
      report_of("1", "    s = AllocateShared(i32, shape=[64])\n    CopyAsync(s, gy)\n" + add +
                         "    CopyAsyncCommitGroup()\n");
  REQUIRE(report.fault.has_value());
  CHECK(report.fault->diagnostic.code == Code::in_flight_access);
}

TEST_CASE("shadow values are combined, too") {
  const auto program = load(
      "def f<4>(f32* x, f32* y):\n"
      "    b = BlockIndices()\n"
      "    v = LoadGlobal(ViewGlobal(x, shape=[4, 32]), layout=spatial(32), offset=[b, 0:])\n"
      "    zero = AllocateRegister(i32, layout=spatial(32), init=0)\n"
      "    Scatter(v, ViewGlobal(y, shape=[1]), zero, dim=0, op=add)\n");
  std::vector<float> x(128, 0.1F);
  x[0] = 16777216.0F;
  std::vector<Buffer> memory{buffer("x", x), buffer("y", std::vector<float>(1, 0.0F))};
  for (Buffer& each : memory) each.shadow.emplace(isa::f32, each.bytes.size());
  Options options{.threads = 4};
  options.keep_shadow = true;
  run_well(program, {0, 1}, memory, options);
  CHECK(values<float>(memory[1])[0] == 16777216.0F);  // every 0.1 is lost
  const auto shadow = memory[1].shadow->load(isa::f32, 0).value();
  REQUIRE(shadow.has_value());
  CHECK(*shadow == doctest::Approx(16777216.0 + 127 * static_cast<double>(0.1F)));
}
