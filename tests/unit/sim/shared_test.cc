// Shared memory: what reaches other threads, when copies arrive, and which races are reported.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

std::vector<std::int32_t> numbers(std::size_t count) {
  std::vector<std::int32_t> result(count);
  std::iota(result.begin(), result.end(), 1);
  return result;
}

/// The fault of kernel 0 on two buffers of 256 numbers.
std::optional<Fault> fault_of(const std::string& text, const Options& options = {.threads = 1}) {
  const auto program = load(text);
  std::vector<Buffer> memory{buffer("x", numbers(256)), buffer("y", numbers(256))};
  return run(program, {0, 1}, memory, options).fault;
}

const std::string head =
    "def f<1>(i32* x_ptr, i32* y_ptr):\n"
    "    gx = ViewGlobal(x_ptr, shape=[16, 16])\n"
    "    gy = ViewGlobal(y_ptr, shape=[16, 16])\n"
    "    s = AllocateShared(i32, shape=[16, 16])\n";

}  // namespace

TEST_CASE("a tile that goes through shared memory is the same, whatever the layouts are") {
  const std::vector<std::string> memory_layouts{
      "row_major",
      "column_major",
      "strides(19, 1)",
      "strides(1, 23)",
      "row_major(16, 16).swizzle(0, 4, 4)",
      "row_major(16, 16).swizzle(2, 2, 5)",
      "memory_layout([16, 16], [4, 4, 2, 8], [64, 8, 32, 1])",
  };
  const std::vector<std::string> register_layouts{
      "spatial(4, 8).local(4, 2)", "local(4, 2).spatial(4, 8)", "column_spatial(4, 8).local(4, 2)",
      "local(2, 2).column_spatial(8, 4).column_local(1, 2)",
      "local(2, 2).spatial(2, 4).local(2, 2).spatial(2, 1).replicated(2)"};
  const std::vector<std::string> types{"u1", "i3", "u4", "f6e3m2", "u7", "i8", "f16", "i32", "u64"};
  CHECK(rc::check("round trip", [&] {
    const auto memory_layout = *rc::gen::elementOf(memory_layouts);
    const auto first = *rc::gen::elementOf(register_layouts);
    const auto second = *rc::gen::elementOf(register_layouts);
    const auto type = *rc::gen::elementOf(types);
    const auto program = load("const T: dtype = " + type +
                              "\ndef f<2>(u8* x_ptr, u8* y_ptr):\n"
                              "    b = BlockIndices()\n"
                              "    gx = ViewGlobal(x_ptr, dtype=T, shape=[2, 16, 16])\n"
                              "    gy = ViewGlobal(y_ptr, dtype=T, shape=[2, 16, 16])\n"
                              "    s = AllocateShared(T, shape=[16, 16], layout=" +
                              memory_layout +
                              ")\n"
                              "    StoreShared(LoadGlobal(gx, layout=" +
                              first +
                              ", offset=[b, 0:, 0:]), s)\n"
                              "    Synchronize()\n"
                              "    StoreGlobal(LoadShared(s, layout=" +
                              second + "), gy, offset=[b, 0:, 0:])\n");
    const auto data =
        *rc::gen::container<std::vector<std::uint8_t>>(4096, rc::gen::arbitrary<std::uint8_t>());
    std::vector<Buffer> memory{{"x", data}, {"y", std::vector<std::uint8_t>(4096, 0)}};
    const auto report = run_kernel(program, 0, {0, 1}, memory, {.threads = 1});
    RC_ASSERT((report.ok() && !report->fault));
    const std::size_t bytes = 512U * isa::parse_dtype(type)->bits / 8;
    RC_ASSERT((std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(bytes),
                          memory[1].bytes.begin())));
  }));
}

TEST_CASE("a thread may read what it wrote itself") {
  CHECK_FALSE(fault_of(head +
                       "    StoreShared(LoadGlobal(gx, layout=spatial(4, 8).local(4, 2)), s)\n"
                       "    StoreGlobal(LoadShared(s, layout=spatial(4, 8).local(4, 2)), gy)\n"));
}

TEST_CASE("two replicas are two threads, and each may load back what it stored itself") {
  const std::string store =
      "    StoreShared(LoadGlobal(gx, layout=replicated(2).spatial(4, 4).local(4, 4)), s)\n";
  CHECK(!fault_of(
      head + store +
      "    StoreGlobal(LoadShared(s, layout=replicated(2).spatial(4, 4).local(4, 4)), gy)\n"));
  const auto fault = fault_of(
      head + store +
      "    StoreGlobal(LoadShared(s, layout=spatial(4, 4).replicated(2).local(4, 4)), gy)\n");
  REQUIRE(fault.has_value());
  CHECK(fault->diagnostic.code == Code::race);
  CHECK(fault->diagnostic.message.find("first `s[0, 0]`: thread 1 reads what thread 0 wrote") !=
        std::string::npos);
}

TEST_CASE("a race names the first element, both threads and both places") {
  const auto fault =
      fault_of(head +
               "    StoreShared(LoadGlobal(gx, layout=spatial(4, 8).local(4, 2)), s)\n"
               "    t = LoadShared(s, layout=spatial(8, 4).local(1, 2), offset=[3:, 1:])\n"
               "    StoreGlobal(t, gy)\n");
  REQUIRE(fault.has_value());
  CHECK(fault->diagnostic.code == Code::race);
  CHECK(fault->diagnostic.message.find("first `s[3, 1]`: thread 0 reads what thread") ==
        std::string::npos);  // s[3, 1] is thread 0's own
  CHECK(fault->diagnostic.message.find("first `s[3, 2]`: thread 0 reads what thread 1 wrote") !=
        std::string::npos);
  CHECK(fault->thread == 0);
  REQUIRE(fault->diagnostic.notes.size() >= 2);
  CHECK(fault->diagnostic.notes[0].has_span);
}

TEST_CASE("writes after reads and after writes race, reads after reads do not") {
  const std::string fill = "    StoreShared(LoadGlobal(gx, layout=spatial(4, 8).local(4, 2)), s)\n";
  const std::string read = "    StoreGlobal(LoadShared(s, layout=spatial(8, 4).local(2, 4)), gy)\n";
  const std::string write =
      "    StoreShared(LoadGlobal(gx, layout=local(4, 2).spatial(4, 8)), s)\n";
  const std::string meet = "    Synchronize()\n";
  CHECK_FALSE(fault_of(head + fill + meet + read + read + meet + write));
  CHECK(fault_of(head + fill + meet + read + write).has_value());
  CHECK(fault_of(head + fill + write).has_value());
  CHECK_FALSE(fault_of(head + fill + meet + write));
  CHECK_FALSE(fault_of(head + fill + write, {.threads = 1, .checks = {.races = false}}));
}

TEST_CASE("tiles that lie between one another race only where they meet") {
  const std::string halves =
      head +
      "    StoreShared(LoadGlobal(gx, layout=spatial(4, 8).local(4, 1)), s, offset=[0:, 0:])\n"
      "    StoreShared(LoadGlobal(gx, layout=local(4, 1).spatial(4, 8)), s, offset=[0:, 8:])\n"
      "    a = LoadShared(s, layout=spatial(4, 8).local(4, 1), offset=[0:, 0:])\n"
      "    b = LoadShared(s, layout=local(4, 1).spatial(4, 8), offset=[0:, 8:])\n";
  CHECK_FALSE(fault_of(halves));
  const auto fault = fault_of(
      halves + "    c = LoadShared(s, layout=spatial(4, 8).local(4, 1), offset=[0:, 8:])\n");
  REQUIRE(fault.has_value());
  CHECK(fault->diagnostic.message.find("first `s[1, 8]`: thread 0 reads what thread 8 wrote") !=
        std::string::npos);
}

TEST_CASE("a race with one of many tiles is found") {
  const std::string rows =
      "def f<1>(i32* x_ptr, i32* y_ptr):\n"
      "    s = AllocateShared(i32, shape=[100, 32])\n"
      "    for i in range(100):\n"
      "        StoreShared(AllocateRegister(i32, layout=spatial(1, 32), init=i), s, offset=[i:, "
      "0:])\n";
  CHECK_FALSE(fault_of(rows + "    t = LoadShared(s, layout=spatial(1, 32), offset=[3:, 0:])\n"));
  for (const std::string row : {"0", "63", "64", "99"}) {
    const auto fault = fault_of(
        rows + "    t = LoadShared(s, layout=spatial(1, 16).replicated(2).local(1, 2), offset=[" +
        row + ":, 0:])\n");
    REQUIRE(fault.has_value());
    CHECK(fault->diagnostic.message.find(
              "first `s[" + row + ", 0]`: thread 1 reads what thread 0") != std::string::npos);
  }
}

TEST_CASE("a copy arrives when its group is waited for, and not before") {
  const auto program =
      load(head +
           "    CopyAsync(s, gx)\n"
           "    CopyAsyncCommitGroup()\n"
           "    CopyAsync(s, gx)\n"
           "    CopyAsyncWaitGroup(1)\n"
           "    StoreGlobal(LoadShared(s, layout=spatial(4, 8).local(4, 2)), gy)\n"
           "    CopyAsyncWaitGroup(0)\n"
           "    StoreGlobal(LoadShared(s, layout=spatial(4, 8).local(4, 2)), gy)\n");
  const Options unchecked{.threads = 1,
                          .checks = {.races = false, .in_flight = false, .uninitialized = false}};
  std::vector<Buffer> memory{buffer("x", numbers(256)),
                             buffer("y", std::vector<std::int32_t>(256, 7))};
  run_well(program, {0, 1}, memory, unchecked);
  CHECK(values<std::int32_t>(memory[1]) == numbers(256));
  // Only the first group was committed; with a wait for at most one it stays in flight.
  const auto early = load(head +
                          "    CopyAsync(s, gx)\n"
                          "    CopyAsyncCommitGroup()\n"
                          "    CopyAsyncWaitGroup(1)\n"
                          "    t = LoadShared(s, layout=spatial(4, 8).local(4, 2))\n"
                          "    StoreGlobal(t, gy)\n");
  run_well(early, {0, 1}, memory, unchecked);
  CHECK(values<std::int32_t>(memory[1]) == std::vector<std::int32_t>(256, 0));
}

TEST_CASE("copies that nobody waits for do not gather without end") {
  const auto program =
      load(head +
           "    for i in range(20000):\n"
           "        CopyAsync(s, gx)\n"
           "    CopyAsyncCommitGroup()\n"
           "    CopyAsyncWaitGroup(0)\n"
           "    Synchronize()\n"
           "    StoreGlobal(LoadShared(s, layout=spatial(4, 8).local(4, 2)), gy)\n");
  std::vector<Buffer> memory{buffer("x", numbers(256)),
                             buffer("y", std::vector<std::int32_t>(256, 7))};
  run_well(program, {0, 1}, memory, {.threads = 1, .checks = {.races = false, .in_flight = false}});
  CHECK(values<std::int32_t>(memory[1]) == numbers(256));
}

TEST_CASE("a block may end with copies in flight, and the next one begins without") {
  const auto program = load(
      "def f<3>(i32* x_ptr):\n"
      "    b = BlockIndices()\n"
      "    gx = ViewGlobal(x_ptr, shape=[3, 16])\n"
      "    s = AllocateShared(i32, shape=[16])\n"
      "    t = LoadShared(s, layout=spatial(4).local(4))\n"
      "    CopyAsync(s, gx, offset=[b, 0:])\n"
      "    if b == 1:\n"
      "        Exit()\n"
      "    CopyAsyncCommitGroup()\n");
  std::vector<Buffer> memory{buffer("x", numbers(48))};
  const auto report = run(program, {0}, memory);
  REQUIRE(report.fault.has_value());  // the read before the copy
  CHECK(report.fault->diagnostic.code == Code::race);
  const auto fine = load(
      "def f<3>(i32* x_ptr):\n"
      "    b = BlockIndices()\n"
      "    gx = ViewGlobal(x_ptr, shape=[3, 16])\n"
      "    s = AllocateShared(i32, shape=[16])\n"
      "    t = LoadShared(s, layout=spatial(4).local(4))\n"
      "    Synchronize()\n"
      "    CopyAsync(s, gx, offset=[b, 0:])\n"
      "    if b == 1:\n"
      "        Exit()\n"
      "    CopyAsyncCommitGroup()\n");
  const auto counters = run_well(fine, {0}, memory);
  CHECK(counters.blocks == 3);
}

TEST_CASE("a copy faults for what lies outside of the buffer, not for what the view hides") {
  const auto program = load(
      "def f<1>(i32* x_ptr, i32 n):\n"
      "    s = AllocateShared(i32, shape=[16, 16])\n"
      "    CopyAsync(s, ViewGlobal(x_ptr, shape=[n, 16]))\n");
  std::vector<Buffer> memory{buffer("x", numbers(160))};
  run_well(program, {0, isa::Scalar::i32(10)}, memory);
  const auto report = run(program, {0, isa::Scalar::i32(11)}, memory);
  REQUIRE(report.fault.has_value());
  CHECK(report.fault->diagnostic.code == Code::out_of_bounds);
  CHECK(report.fault->diagnostic.message.find("16 of 256 elements") != std::string::npos);
}
