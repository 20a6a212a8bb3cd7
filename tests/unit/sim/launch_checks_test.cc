// Races in global memory, within a block and between blocks; barriers that are not needed; orders
// that no correct program can see.
#include <doctest/doctest.h>

#include <set>

#include "sim/launch/block_sequence.h"
#include "sim/state/owner_map.h"
#include "sim/tiles/intervals.h"
#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

/// The report of f<grid>(i32* x, i32* y) on 256 elements each.
Report report_of(const std::string& grid, const std::string& body,
                 const Options& options = {.threads = 1}) {
  const auto program = load("def f<" + grid +
                            ">(i32* x, i32* y):\n"
                            "    b = BlockIndices()\n"
                            "    gx = ViewGlobal(x, shape=[16, 16])\n"
                            "    gy = ViewGlobal(y, shape=[16, 16])\n" +
                            body);
  std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(256, 3)),
                             buffer("y", std::vector<std::int32_t>(256, 7))};
  return run(program, {0, 1}, memory, options);
}

/// The message of the race, empty without one.
std::string race_of(const std::string& grid, const std::string& body,
                    const Options& options = {.threads = 1}) {
  const Report report = report_of(grid, body, options);
  if (!report.fault) return "";
  CHECK(report.fault->diagnostic.code == Code::race);
  return report.fault->diagnostic.message;
}

std::vector<bool> needed_in(const std::string& body) {
  const Report report = report_of("2", body);
  if (report.fault) FAIL(report.fault->diagnostic.message);
  std::vector<bool> needed;
  for (const BarrierUse& use : report.barriers) needed.push_back(use.needed);
  return needed;
}

const std::string tile = "    t = LoadGlobal(gx, layout=spatial(4, 8).local(1, 2))\n";

}  // namespace

TEST_CASE("an interval set merges neighbours and knows what it meets") {
  IntervalSet set;
  set.add({10, 20});
  set.add({30, 40});
  CHECK(set.size() == 2);
  CHECK(!set.meets({20, 30}));
  CHECK(set.meets({19, 20}));
  CHECK(set.meets({0, 11}));
  CHECK(!set.meets({0, 10}));
  set.add({20, 30});
  CHECK(set.size() == 1);
  CHECK(set.meets({5, 50}));
  set.add({12, 13});
  set.add({0, 100});
  CHECK(set.size() == 1);
}

TEST_CASE("an owner map equals an array of owners") {
  std::uint64_t state = 5;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 200; ++round) {
    constexpr std::uint64_t size = 3000;
    OwnerMap<std::uint32_t> map(size);
    std::vector<std::uint32_t> plain(size, 0);
    const bool is_short = round % 4 == 0;  // many short ranges: more runs than a chunk keeps
    for (int step = 0; step < (is_short ? 600 : 12); ++step) {
      const std::uint64_t begin = random(size);
      const std::uint64_t most = is_short ? 12 : 1500;
      const std::uint64_t end = begin + 1 + random(std::min<std::uint64_t>(size - begin, most));
      const auto me = static_cast<std::uint32_t>(1 + random(4));
      std::set<std::uint32_t> seen, expected;
      map.update(begin, end, [&](std::uint32_t owner) {
        seen.insert(owner);
        return owner == 0 ? me : std::min(owner, me);
      });
      for (std::uint64_t g = begin; g < end; ++g) {
        expected.insert(plain[g]);
        plain[g] = plain[g] == 0 ? me : std::min(plain[g], me);
      }
      CHECK(seen == expected);
    }
    for (std::uint64_t g = 0; g < size; ++g) {
      map.update(g, g + 1, [&](std::uint32_t owner) {
        if (owner != plain[g]) FAIL("granule ", g);
        return owner;
      });
    }
  }
}

TEST_CASE("two blocks that store the same elements race") {
  CHECK(race_of("3", tile + "    StoreGlobal(t, gy, offset=[4 * b:, 0:])\n") == "");
  CHECK(race_of("3", tile + "    StoreGlobal(t, gy, offset=[3 * b:, 2:])\n") ==
        "`StoreGlobal` races with another block for 14 elements of `gy`, first `gy[3, 2]`: it "
        "writes what block [0] writes, and blocks run in any order");
}

TEST_CASE("a block that reads what another one writes races, in either order") {
  const std::string writes_last =
      tile + "    Synchronize()\n    if b == 2:\n        StoreGlobal(t, gx, offset=[1:, 3:])\n";
  CHECK(race_of("3", writes_last) ==
        "`StoreGlobal` races with another block for 39 elements of `gx`, first `gx[1, 3]`: it "
        "writes what block [0] reads, and blocks run in any order");
  const std::string writes_first =
      "    if b == 0:\n"
      "        StoreGlobal(AllocateRegister(i32, layout=spatial(4, 8), init=1), gx)\n"
      "    else:\n"
      "        t = LoadGlobal(gx, layout=spatial(4, 8), offset=[3:, 0:])\n";
  CHECK(race_of("3", writes_first) ==
        "`LoadGlobal` races with another block for 8 elements of `gx`, first `gx[3, 0]`: it reads "
        "what block [0] writes, and blocks run in any order");
  CHECK(race_of("1", writes_first) == "");
  const std::string copy =
      "    s = AllocateShared(i32, shape=[16, 16])\n    CopyAsync(s, gx)\n"
      "    if b == 1:\n"
      "        StoreGlobal(AllocateRegister(i32, layout=spatial(4, 8), init=1), gx, "
      "offset=[9:, 0:])\n";
  CHECK(report_of("2", copy, {.threads = 1, .checks = {.in_flight = false}}).fault);
}

TEST_CASE("neighbours within a byte are different elements") {
  const auto program = load(
      "def f<4>(u2* x):\n"
      "    b = BlockIndices()\n"
      "    StoreGlobal(AllocateRegister(u2, layout=local(1), init=b), ViewGlobal(x, shape=[4]), "
      "offset=[b:])\n");
  std::vector<Buffer> memory{{"x", {0}, {}}};
  run_well(program, {0}, memory, {.threads = 4});
  CHECK(memory[0].bytes[0] == 0b11100100);
}

TEST_CASE("the race that is reported does not depend on host threads, nor the fault before it") {
  const std::string body =
      "    t = AllocateRegister(i32, layout=local(1, 1), init=b)\n"
      "    if b % 7 != 5:\n"
      "        StoreGlobal(t, gy, offset=[b % 13:, b % 16:])\n";
  std::set<std::string> said;
  for (const int threads : {1, 2, 3, 8}) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      const Report report = report_of("500", body, {.threads = threads});
      REQUIRE(report.fault);
      said.insert(report.fault->diagnostic.message + std::to_string(report.fault->block.at(0)));
    }
  }
  CHECK(said.size() == 1);
  const std::string with_fault =
      body +
      "    if b == 3:\n        s = AllocateRegister(i32, layout=local(1), init=1 / (b - 3))\n";
  for (const int threads : {1, 4}) {
    const Report report = report_of("500", with_fault, {.threads = threads});
    REQUIRE(report.fault);
    CHECK(report.fault->diagnostic.code == Code::run_division_by_zero);
  }
}

TEST_CASE("threads of a block race for global memory as for shared memory") {
  const std::string store = tile + "    StoreGlobal(t, gy)\n";
  CHECK(race_of("1", store + "    u = LoadGlobal(gy, layout=spatial(4, 8).local(1, 2))\n") == "");
  CHECK(race_of("1", store + "    u = LoadGlobal(gy, layout=spatial(4, 8))\n") ==
        "`LoadGlobal` races for 28 elements of `gy`, first `gy[0, 1]`: thread 1 reads what thread "
        "0 wrote, with no `Synchronize` in between");
  CHECK(race_of("1", store + "    Synchronize()\n    u = LoadGlobal(gy, layout=spatial(4, 8))\n") ==
        "");
  CHECK(race_of("1",
                "    u = LoadGlobal(gx, layout=spatial(4, 8))\n"
                "    StoreGlobal(u, gx, offset=[0:, 1:])\n") ==
        "`StoreGlobal` races for 28 elements of `gx`, first `gx[0, 1]`: thread 0 writes what "
        "thread 1 read, with no `Synchronize` in between");
  CHECK(race_of("1", store + "    s = AllocateShared(i32, shape=[4, 4])\n"
                             "    CopyAsync(s, gy, offset=[3:, 3:])\n") != "");
  CHECK(race_of("1",
                "    for i in range(8):\n"
                "        u = LoadGlobal(gx, layout=spatial(4, 8), offset=[i:, 0:])\n"
                "        StoreGlobal(u, gy, offset=[0:, i:])\n") != "");
  CHECK(race_of(
            "1",
            "    for i in range(4):\n"
            "        u = LoadGlobal(gx, layout=spatial(4, 4).replicated(2), offset=[4 * i:, 0:])\n"
            "        StoreGlobal(u, gx, offset=[4 * i:, 4:])\n") == "");
}

TEST_CASE("a view whose elements share places must not be stored to by several threads") {
  const auto program = load(
      "def f<1>(i32* x):\n"
      "    g = ViewGlobal(x, shape=[4, 8], layout=strides(1, 1))\n"
      "    t = LoadGlobal(g, layout=spatial(4, 8))\n"
      "    StoreGlobal(t, g)\n");
  std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(16, 3))};
  const Report report = run(program, {0}, memory);
  REQUIRE(report.fault);
  CHECK(report.fault->diagnostic.code == Code::race);
}

TEST_CASE("a barrier is needed if it alone keeps two touches apart") {
  const std::string shared = "    s = AllocateShared(i32, shape=[16, 16])\n";
  const std::string load = "    t = LoadGlobal(gx, layout=spatial(4, 8).local(4, 2))\n";
  const std::string store = "    StoreShared(t, s)\n", sync = "    Synchronize()\n";
  const std::string other = "    u = LoadShared(s, layout=spatial(8, 4).local(2, 4))\n";
  const std::string same = "    u = LoadShared(s, layout=spatial(4, 8).local(4, 2))\n";
  using Needed = std::vector<bool>;
  const std::string head = shared + load;
  CHECK(needed_in(head + store + sync + other) == Needed{true});
  CHECK(needed_in(head + store + sync + same) == Needed{false});
  CHECK(needed_in(head + store + sync + sync + other) == Needed{false, false});
  CHECK(needed_in(head + sync + store + sync + other + sync) == Needed{false, true, false});
  // The second of the two keeps nothing apart that the first does not.
  CHECK(needed_in(head + store + sync + same + sync + other) == Needed{false, false});
}

TEST_CASE("in a loop a barrier is compared with all that ran since another one") {
  const std::string body =
      "    s = AllocateShared(i32, shape=[2, 16, 16])\n"
      "    for i in range(6):\n"
      "        t = LoadGlobal(gx, layout=spatial(4, 8).local(4, 2))\n"
      "        StoreShared(t, s, offset=[i % 2, 0:, 0:])\n"
      "        Synchronize()\n"
      "        u = LoadShared(s, layout=spatial(8, 4).local(2, 4), offset=[i % 2, 0:, 0:])\n";
  CHECK(needed_in(body) == std::vector<bool>{true});
  const std::string twice = body + "        Synchronize()\n";
  CHECK(needed_in(twice) == std::vector<bool>{true, false});
}

TEST_CASE("a barrier may be needed for global memory alone") {
  CHECK(needed_in("    t = LoadGlobal(gx, layout=spatial(4, 8), offset=[8 * b:, 0:])\n"
                  "    StoreGlobal(t, gy, offset=[8 * b:, 0:])\n"
                  "    Synchronize()\n"
                  "    u = LoadGlobal(gy, layout=column_spatial(4, 8), offset=[8 * b:, 0:])\n") ==
        std::vector<bool>{true});
}

TEST_CASE("a wait is needed if no other one retires what is used") {
  const std::string copy =
      "    s = AllocateShared(i32, shape=[16, 16])\n"
      "    CopyAsync(s, gx)\n"
      "    CopyAsyncCommitGroup()\n";
  const std::string wait = "    CopyAsyncWaitGroup(0)\n", sync = "    Synchronize()\n";
  const std::string use = "    u = LoadShared(s, layout=spatial(8, 4).local(2, 4))\n";
  using Needed = std::vector<bool>;
  CHECK(needed_in(copy + wait + sync + use) == Needed{true, true});
  CHECK(needed_in(copy + wait + wait + sync + use) == Needed{false, false, true});
  CHECK(needed_in(copy + wait + sync) == Needed{false, false});
  CHECK(needed_in(copy + wait + sync + wait + sync + use) == Needed{false, false, false, false});
  CHECK(needed_in(copy + wait + sync + use + wait) == Needed{true, true, false});
}

TEST_CASE("when copies arrive and in which order blocks run cannot be seen by a correct program") {
  const auto program = load(
      "def f<8>(i32* x, i32* y):\n"
      "    b = BlockIndices()\n"
      "    gx = ViewGlobal(x, shape=[8, 4, 8])\n"
      "    gy = ViewGlobal(y, shape=[8, 4, 8])\n"
      "    s = AllocateShared(i32, shape=[2, 4, 8])\n"
      "    CopyAsync(s, gx, offset=[b, 0:, 0:], shared_offset=[0, 0:, 0:])\n"
      "    CopyAsyncCommitGroup()\n"
      "    CopyAsync(s, gx, offset=[(b + 1) % 8, 0:, 0:], shared_offset=[1, 0:, 0:])\n"
      "    CopyAsyncCommitGroup()\n"
      "    CopyAsyncWaitGroup(0)\n"
      "    Synchronize()\n"
      "    p = LoadShared(s, layout=spatial(4, 8), offset=[0, 0:, 0:])\n"
      "    q = LoadShared(s, layout=spatial(4, 8), offset=[1, 0:, 0:])\n"
      "    StoreGlobal(Add(p, q), gy, offset=[b, 0:, 0:])\n");
  std::vector<std::int32_t> x(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * i);
  std::set<std::vector<std::int32_t>> results;
  using Time = Completion::Time;
  using Kind = BlockOrder::Kind;
  for (const Completion completion : {Completion{Time::latest, 0}, Completion{Time::earliest, 0},
                                      Completion{Time::random, 1}, Completion{Time::random, 2}}) {
    for (const BlockOrder order : {BlockOrder{Kind::ascending, 0}, BlockOrder{Kind::descending, 0},
                                   BlockOrder{Kind::random, 5}}) {
      std::vector<Buffer> memory{buffer("x", x), buffer("y", std::vector<std::int32_t>(256))};
      run_well(program, {0, 1}, memory,
               {.threads = 2, .completion = completion, .block_order = order});
      results.insert(values<std::int32_t>(memory[1]));
    }
  }
  CHECK(results.size() == 1);
}

TEST_CASE("a missing wait shows, or not, as the copy arrives late, early or at random") {
  const auto program = load(
      "def f<64>(i32* x, i32* y):\n"
      "    b = BlockIndices()\n"
      "    s = AllocateShared(i32, shape=[32])\n"
      "    CopyAsync(s, ViewGlobal(x, shape=[32]))\n"
      "    StoreGlobal(LoadShared(s, layout=spatial(32)), ViewGlobal(y, shape=[64, 32]), "
      "offset=[b, 0:])\n");
  const auto result = [&](Completion completion) {
    std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(32, 1)),
                               buffer("y", std::vector<std::int32_t>(2048, 7))};
    run_well(program, {0, 1}, memory,
             {.threads = 3,
              .checks = {.in_flight = false, .uninitialized = false},
              .completion = completion});
    const auto y = values<std::int32_t>(memory[1]);
    std::int32_t sum = 0;
    for (std::size_t block = 0; block < 64; ++block) sum += y[block * 32];
    return sum;
  };
  CHECK(result({Completion::Time::latest, 0}) == 0);
  CHECK(result({Completion::Time::earliest, 0}) == 64);
  const std::int32_t random = result({Completion::Time::random, 1});
  CHECK(random > 10);
  CHECK(random < 60);
  CHECK(result({Completion::Time::random, 1}) == random);
  CHECK(result({Completion::Time::random, 2}) != random);
}

TEST_CASE("every order of blocks is a permutation") {
  for (const std::uint64_t blocks : {1U, 2U, 7U, 64U, 1000U}) {
    for (const BlockOrder::Kind kind :
         {BlockOrder::Kind::ascending, BlockOrder::Kind::descending, BlockOrder::Kind::random}) {
      for (const std::uint64_t seed : {0U, 1U, 99U}) {
        const BlockSequence sequence({kind, seed}, blocks);
        std::set<std::uint64_t> seen;
        for (std::uint64_t i = 0; i < blocks; ++i) seen.insert(sequence[i]);
        CHECK(seen.size() == blocks);
        CHECK(*seen.rbegin() == blocks - 1);
      }
    }
  }
}

TEST_CASE("a grid of a million blocks needs no more memory than one block") {
  const auto program = load(
      "def f<1000000>(i32* x, u1* y):\n"
      "    b = BlockIndices()\n"
      "    s = AllocateShared(i32, shape=[32])\n"
      "    t = LoadGlobal(ViewGlobal(x, shape=[32]), layout=spatial(32))\n"
      "    StoreShared(t, s)\n"
      "    StoreGlobal(AllocateRegister(u1, layout=replicated(32).local(1), init=1), "
      "ViewGlobal(y, shape=[1000000]), offset=[b:])\n");
  std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(32, 3)),
                             {"y", std::vector<std::uint8_t>(125000), {}}};
  const Counters counters = run_well(program, {0, 1}, memory, {.threads = 2});
  CHECK(counters.blocks == 1000000);
  for (const std::uint8_t byte : memory[1].bytes) CHECK(byte == 0xff);
}

TEST_CASE("combinations of different kinds race, and give the same on any number of host threads") {
  const std::string body =
      "    i = Iota(i32, layout=spatial(4, 4), dim=1)\n"
      "    v = Iota(i32, layout=spatial(4, 4), dim=0, start=b)\n"
      "    for n in range(20):\n"
      "        if b % 2 == 0:\n"
      "            Scatter(v, gy, i, dim=1, offset=[0:, 0:], op=add)\n"
      "        else:\n"
      "            Scatter(v * 100, gy, i, dim=1, offset=[0:, 0:], op=max)\n";
  CHECK(race_of("64", body).find("it combines what block [0] combines") != std::string::npos);
  const Report other = report_of("64", body);
  REQUIRE(other.fault);
  CHECK(other.fault->diagnostic.notes.size() > 2);

  const auto program = load(
      "def f<64>(i32* x, i32* y):\n"
      "    b = BlockIndices()\n"
      "    gx = ViewGlobal(x, shape=[16, 16])\n"
      "    gy = ViewGlobal(y, shape=[16, 16])\n" +
      body);
  Options options;
  for (const NamedCheck& check : named_checks) options.checks.*check.member = false;
  std::set<std::vector<std::uint8_t>> results;
  for (const int threads : {1, 2, 3, 8}) {
    options.threads = threads;
    std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(256, 3)),
                               buffer("y", std::vector<std::int32_t>(256, 7))};
    CHECK(!run(program, {0, 1}, memory, options).fault);
    results.insert(memory[1].bytes);
  }
  CHECK(results.size() == 1);
}

TEST_CASE("the report of an index outside does not depend on host threads or on the order") {
  const char* const body =
      "    t = LoadGlobal(gx, layout=spatial(16), offset=[(b * 37) % 24, 0:])\n";
  std::set<std::pair<std::uint64_t, std::int64_t>> found;
  for (const int threads : {1, 2, 8}) {
    const Report report = report_of("64", body, {.threads = threads});
    REQUIRE(report.outside.size() == 1);
    found.emplace(report.outside[0].count, report.outside[0].index);
    CHECK(report.outside[0].block == std::vector<std::int64_t>{5});
  }
  CHECK(found == std::set<std::pair<std::uint64_t, std::int64_t>>{{20, 17}});
}
