// Blocks that order themselves: which accesses happen before others, waits that cannot end, and
// that nothing of it depends on host threads.
#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "sim/checks/happens_before.h"
#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

/// f<grid>(i32* y) with semaphores `s` (8 zeros) and a workspace `w` of 8 rows, and tiles of a row.
isa::VerifiedProgram program_of(const std::string& grid, const std::string& body) {
  return load("@threads(32)\ndef f<" + grid +
              ">(i32* y_ptr):\n"
              "    b = BlockIndices()\n"
              "    y = ViewGlobal(y_ptr, shape=[32])\n"
              "    s = AllocateGlobal(i32, shape=[8], init=0)\n"
              "    w = AllocateGlobal(i32, shape=[8, 32])\n"
              "    mine = AllocateRegister(i32, layout=spatial(32), init=b)\n" +
              body);
}

Report report_with(const std::string& grid, const std::string& body, const Options& options = {}) {
  std::vector<Buffer> memory{buffer("y", std::vector<std::int32_t>(32, -1))};
  return run(program_of(grid, body), {0}, memory, options);
}

std::string fault_of(const std::string& grid, const std::string& body,
                     const Options& options = {}) {
  const Report report = report_with(grid, body, options);
  return report.fault ? to_string(report.fault->diagnostic.code) : "";
}

const std::string stores = "        StoreGlobal(mine, w, offset=[0, 0:])\n";
const std::string loads = "        x = LoadGlobal(w, layout=spatial(32), offset=[0, 0:])\n";
const std::string race = "TV0406";

}  // namespace

TEST_CASE("a clock knows the largest number of each party") {
  const Party three{.block = 3}, seven{.block = 7}, nine{.block = 9};
  PartyClock a, b;
  a.set(seven, 2);
  a.set(three, 5);
  b.set(three, 4);
  b.set(nine, 1);
  b.set(seven, 6);
  a.join(b);
  CHECK(a[three] == 5);
  CHECK(a[seven] == 6);
  CHECK(a[nine] == 1);
  CHECK(a[{.block = 4}] == 0);
  a.set(three, 8);
  CHECK(a[three] == 8);
}

TEST_CASE("groups of a block and their async proxies are parties of their own") {
  const Party threads{.block = 2}, copies{.block = 2, .proxy = tilevm::isa::Proxy::async},
      others{.block = 2, .group = 1};
  PartyClock clock;
  clock.set(threads, 3);
  CHECK(clock.is_after({threads, 2}));
  CHECK_FALSE(clock.is_after({copies, 0}));
  CHECK_FALSE(clock.is_after({others, 0}));
  PartyClock arrived;
  arrived.set(copies, 1);
  arrived.set(others, 4);
  clock.join(arrived);
  CHECK(clock.is_after({copies, 0}));
  CHECK(clock.is_after({others, 3}));
  // What holds in either case.
  PartyClock either = clock;
  PartyClock without;
  without.set(threads, 1);
  without.set(others, 9);
  either.meet(without);
  CHECK(either[threads] == 1);
  CHECK(either[others] == 4);
  CHECK(either[copies] == 0);
}

TEST_CASE("what was done before a release happens before what is done behind the lock") {
  const auto body = [](const std::string& first, const std::string& second) {
    return "    if b == 0:\n" + stores + first + "    else:\n" + second + loads;
  };
  const std::string release = "        ReleaseSemaphore(s, 1)\n",
                    lock = "        LockSemaphore(s, 1)\n";
  CHECK(fault_of("2", body(release, lock)) == "");
  CHECK(fault_of("2", body(release, "")) == race);
  CHECK(fault_of("2", body(release, "        LockSemaphore(s, 0, offset=[1])\n")) == race);
  CHECK(fault_of("2", body("        n = AtomicAdd(s, 1)\n", lock)) == "");
  CHECK(fault_of("2", body(release, lock), {.checks = {.races = false}}) == "");
}

TEST_CASE("order goes on over blocks between, and through counters") {
  const auto chain = [](const std::string& between) {
    return "    if b == 0:\n" + stores + "        ReleaseSemaphore(s, 1)\n    elif b == 1:\n" +
           between + "    else:\n        LockSemaphore(s, 1, offset=[1])\n" + loads;
  };
  CHECK(fault_of("3", chain("        LockSemaphore(s, 1)\n"
                            "        ReleaseSemaphore(s, 1, offset=[1])\n")) == "");
  CHECK(fault_of("3", chain("        ReleaseSemaphore(s, 1, offset=[1])\n"
                            "        LockSemaphore(s, 1)\n")) == race);
  // Who adds to a counter hands on what others left there; who stores does not.
  const auto last = [](const std::string& add) {
    return "    if b == 0:\n" + stores + "        n = AtomicAdd(s, 1)\n    elif b == 1:\n" + add +
           "    else:\n        LockSemaphore(s, 2)\n" + loads;
  };
  CHECK(fault_of("3", last("        n = AtomicAdd(s, 1)\n")) == "");
  CHECK(fault_of("3", last("        LockSemaphore(s, 0, offset=[1])\n"
                           "        ReleaseSemaphore(s, 2)\n")) == race);
}

TEST_CASE("readers must be over before the next writer") {
  const std::string body = "    if b == 0:\n" + stores +
                           "        ReleaseSemaphore(s, 1)\n"
                           "        LockSemaphore(s, 2, offset=[1])\n" +
                           stores + "    else:\n        LockSemaphore(s, 1)\n" + loads;
  const std::string adds = "        n = AtomicAdd(s, 1, offset=[1])\n";
  CHECK(fault_of("3", body + adds) == "");
  CHECK(fault_of("3", body + "        n = AtomicAdd(s, 1, offset=[1])\n" + loads) == race);
}

TEST_CASE("semaphores are not elements to load and store besides") {
  const std::string store =
      "        StoreGlobal(AllocateRegister(i32, layout=local(1)."
      "replicated(32), init=1), s, offset=[0:])\n";
  CHECK(fault_of("2", "    if b == 0:\n" + store + "    else:\n        LockSemaphore(s, 1)\n") ==
        race);
  CHECK(fault_of("2", "    if b == 0:\n" + store +
                          "        ReleaseSemaphore(s, 1, offset=[1])\n"
                          "    else:\n"
                          "        LockSemaphore(s, 1, offset=[1])\n"
                          "        LockSemaphore(s, 1)\n") == "");
  // Within a block each of the three is a barrier on both sides.
  CHECK(fault_of("1",
                 "    ReleaseSemaphore(s, 5)\n"
                 "    x = LoadGlobal(s, layout=local(8).replicated(32))\n"
                 "    n = AtomicAdd(s, 1)\n"
                 "    LockSemaphore(s, 6)\n") == "");
}

TEST_CASE("nothing depends on host threads") {
  const std::string body =
      "    n = AtomicAdd(s, 1)\n"
      "    Print(n)\n"
      "    StoreGlobal(mine, w, offset=[n % 8, 0:])\n";
  std::set<std::string> said;
  for (const int threads : {1, 2, 3, 16}) {
    for (int i = 0; i < 4; ++i) {
      const Report report = report_with("40", body, {.threads = threads});
      REQUIRE(report.fault);
      said.insert(render(report.fault->diagnostic, program_of("40", body).source(), false));
    }
  }
  CHECK(said.size() == 1);
}

TEST_CASE("blocks come to a counter in the order that is asked for") {
  const auto program = load(
      "@threads(32)\ndef f<4>(i32* y_ptr):\n"
      "    b = BlockIndices()\n"
      "    s = AllocateGlobal(i32, shape=[1], init=0)\n"
      "    n = AtomicAdd(s, 1)\n"
      "    StoreGlobal(AllocateRegister(i32, layout=replicated(32).local(1), init=b), "
      "ViewGlobal(y_ptr, shape=[4]), offset=[n:])\n");
  const auto order = [&](BlockOrder::Kind kind) {
    std::vector<Buffer> memory{buffer("y", std::vector<std::int32_t>(4, -1))};
    run_well(program, {0}, memory, {.threads = 2, .block_order = {kind, 0}});
    return values<std::int32_t>(memory[0]);
  };
  CHECK(order(BlockOrder::Kind::ascending) == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(order(BlockOrder::Kind::descending) == std::vector<std::int32_t>{3, 2, 1, 0});
}

TEST_CASE("blocks that wait do not count as steps, and wake once their value is there") {
  const std::string body =
      "    LockSemaphore(s, 63 - b)\n"
      "    ReleaseSemaphore(s, 64 - b)\n"
      "    if b == 0:\n        StoreGlobal(mine, y)\n";
  const Report report = report_with("64", body);
  REQUIRE(!report.fault);
  CHECK(report.counters.blocks == 64);
  CHECK(report.counters.steps == 64 * 8 + 2);
}

TEST_CASE("a block waits for ever if the one it waits for cannot begin") {
  const std::string body =
      "    LockSemaphore(s, 9 - b)\n"
      "    ReleaseSemaphore(s, 10 - b)\n";
  CHECK(fault_of("10", body, {.resident_blocks = 10}) == "");
  const Report report = report_with("10", body, {.resident_blocks = 9});
  REQUIRE(report.fault);
  const Diagnostic& diagnostic = report.fault->diagnostic;
  CHECK(diagnostic.code == Code::deadlock);
  CHECK(diagnostic.message ==
        "`LockSemaphore` waits for ever: `s[0]` is 0, and block [0] waits for 9");
  CHECK(report.fault->block == std::vector<std::int64_t>{0});
  const auto says = [&](std::string_view words) {
    return std::any_of(diagnostic.notes.begin(), diagnostic.notes.end(), [&](const auto& note) {
      return note.message.find(words) != std::string::npos;
    });
  };
  CHECK(says("no block has released it"));
  CHECK(says("block [1] waits for `s[0]` to be 8"));
  CHECK(says("4 more blocks wait"));
  CHECK(says("1 block has not begun: at most 9 run at once"));
}

TEST_CASE("what blocks printed is shown up to a deadlock") {
  const Report report = report_with("3", "    Print(b)\n    LockSemaphore(s, b)\n");
  REQUIRE(report.fault);
  CHECK(report.prints.blocks.size() == 3);
}

TEST_CASE("workspaces of zeros are defined, and those that a block wrote are for all") {
  CHECK(fault_of("1",
                 "    x = LoadGlobal(s, layout=local(8).replicated(32))\n"
                 "    StoreGlobal(x, y)\n") == "");
  CHECK(fault_of("2", "    if b == 0:\n" + stores +
                          "        ReleaseSemaphore(s, 1)\n"
                          "    else:\n        LockSemaphore(s, 1)\n" +
                          loads + "        StoreGlobal(x, y)\n") == "");
  CHECK(fault_of("1",
                 "    x = LoadGlobal(w, layout=spatial(32), offset=[1, 0:])\n"
                 "    StoreGlobal(x, y)\n") == "TV0404");
}

TEST_CASE("a barrier between blocks is one of the block, and needs no Synchronize beside it") {
  const std::string body =
      "    t = AllocateShared(i32, shape=[32])\n"
      "    StoreShared(mine, t)\n"
      "    Synchronize()\n"
      "    ReleaseSemaphore(s, b)\n"
      "    x = LoadShared(t, layout=local(8).spatial(4).replicated(8))\n";
  const Report report = report_with("1", body);
  REQUIRE(!report.fault);
  REQUIRE(report.barriers.size() == 1);
  CHECK(!report.barriers[0].needed);
}

TEST_CASE("semaphores keep their shadow values") {
  const std::string body =
      "    ReleaseSemaphore(y, 7, offset=[3])\n    n = AtomicAdd(y, 2, offset=[3])\n"
      "    StoreGlobal(LoadGlobal(y, layout=spatial(32)), w, offset=[0, 0:])\n";
  std::vector<Buffer> memory{buffer("y", std::vector<std::int32_t>(32, -1))};
  auto shadow = make_shadow("y", *isa::parse_dtype("i32"), memory[0].bytes.size());
  REQUIRE(shadow.ok());
  memory[0].shadow = *std::move(shadow);
  REQUIRE(!run(program_of("1", body), {0}, memory, {.keep_shadow = true}).fault);
  CHECK(memory[0].shadow->load(*isa::parse_dtype("i32"), 3 * 32).value() == 9.0);
}
