// Elements without a defined value: where they come from, how they spread, where they matter.
#include <doctest/doctest.h>

#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

/// The fault of a kernel f(i32* x, i32* y) on 256 elements each, if it has one.
std::optional<Fault> fault_with(const std::string& body, const Options& options = {.threads = 1}) {
  const auto program = load(
      "def f<1>(i32* x, i32* y):\n"
      "    gx = ViewGlobal(x, shape=[16, 16])\n"
      "    gy = ViewGlobal(y, shape=[16, 16])\n" +
      body);
  std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(256, 3)),
                             buffer("y", std::vector<std::int32_t>(256, 7))};
  return run(program, {0, 1}, memory, options).fault;
}

/// What the message of an uninitialized read says of the elements; empty without one.
std::string undefined_in(const std::string& body) {
  const auto fault = fault_with(body);
  if (!fault) return "";
  REQUIRE(fault->diagnostic.code == Code::uninitialized_read);
  const std::string& message = fault->diagnostic.message;
  const std::size_t begin = message.find(" uses ") + 6;
  return message.substr(begin, message.find(" that have") - begin);
}

}  // namespace

TEST_CASE("undefined registers matter when they are stored, not before") {
  const std::string undefined = "    a = AllocateRegister(i32, layout=spatial(4, 8).local(4, 2))\n";
  CHECK(undefined_in(undefined) == "");
  CHECK(undefined_in(undefined + "    b = Add(a, a)\n") == "");
  CHECK(undefined_in(undefined + "    StoreGlobal(a, gy)\n") == "256 of 256 elements of `a`");
  CHECK(undefined_in(undefined + "    b = Cast(Neg(Mul(a, a)), i32)\n    StoreGlobal(b, gy)\n") ==
        "256 of 256 elements of `b`");
  CHECK(undefined_in(undefined + "    s = AllocateShared(i32, shape=[16, 16])\n"
                                 "    StoreShared(a, s)\n") == "256 of 256 elements of `a`");
}

TEST_CASE("a print shows defined elements only") {
  CHECK(undefined_in("    a = AllocateRegister(i32, layout=spatial(4, 8))\n    Print(a)\n") ==
        "32 of 32 elements of `a`");
  CHECK(undefined_in("    a = AllocateRegister(i32, layout=spatial(4, 8))\n    Print(1 + 2)\n") ==
        "");
}

TEST_CASE("what is written again is defined") {
  CHECK(undefined_in("    a = AllocateRegister(i32, layout=spatial(4, 8).local(4, 2))\n"
                     "    LoadGlobal(gx, out=a)\n"
                     "    StoreGlobal(a, gy)\n") == "");
  CHECK(undefined_in("    a = AllocateRegister(i32, layout=spatial(4, 8).local(4, 2))\n"
                     "    b = LoadGlobal(gx, layout=spatial(4, 8).local(4, 2))\n"
                     "    Add(b, b, out=a)\n"
                     "    StoreGlobal(a, gy)\n") == "");
}

TEST_CASE("elements that a store skips do not matter") {
  const std::string undefined = "    a = AllocateRegister(i32, layout=spatial(4, 8).local(4, 2))\n";
  CHECK(undefined_in(undefined + "    StoreGlobal(a, gy, offset=[12:, 16:])\n") == "");
  CHECK(undefined_in(undefined + "    StoreGlobal(a, gy, offset=[12:, 14:])\n") ==
        "8 of 256 elements of `a`");
}

TEST_CASE("single elements stay undefined through shared memory, arithmetic and broadcasting") {
  const std::string partly =
      "    s = AllocateShared(i32, shape=[16, 16])\n"
      "    StoreShared(LoadGlobal(gx, layout=spatial(4, 8).local(4, 1)), s, offset=[0:, 0:])\n"
      "    Synchronize()\n"
      "    b = LoadShared(s, layout=spatial(4, 8).local(4, 2))\n";
  CHECK(undefined_in(partly + "    StoreGlobal(b, gy)\n") == "128 of 256 elements of `b`");
  CHECK(undefined_in(partly + "    c = Add(b, LoadGlobal(gx, layout=spatial(4, 8).local(4, 2)))\n"
                              "    StoreGlobal(c, gy)\n") == "128 of 256 elements of `c`");
  CHECK(undefined_in(partly +
                     "    Synchronize()\n"
                     "    StoreShared(LoadGlobal(gx, layout=spatial(4, 8).local(4, 1)), s, "
                     "offset=[0:, 8:])\n"
                     "    Synchronize()\n"
                     "    LoadShared(s, out=b)\n"
                     "    StoreGlobal(b, gy)\n") == "");
  CHECK(undefined_in("    s = AllocateShared(i32, shape=[2, 1])\n"
                     "    StoreShared(LoadGlobal(gx, layout=local(1, 1)), s)\n"
                     "    r = LoadShared(s, layout=local(2, 1), offset=[0:, 0:])\n"
                     "    b = Add(r, LoadGlobal(gx, layout=local(2, 16)))\n"
                     "    StoreGlobal(b, gy)\n") == "16 of 32 elements of `b`");
}

TEST_CASE("a conversion of layouts carries each bit") {
  // The upper half of each thread's 32 bits is undefined; interleaved, half of every element is.
  const std::string bits =
      "    s = AllocateShared(u16, shape=[32, 2])\n"
      "    w = AllocateRegister(u16, layout=spatial(32, 1), init=1)\n"
      "    StoreShared(w, s, offset=[0:, 0:])\n"
      "    q = LoadShared(s, layout=spatial(32, 1).local(1, 2))\n"
      "    b = View(q, dtype=u1, layout=spatial(32, 1, 1).local(1, 2, 1).local(1, 1, 16))\n"
      "    m = ConvertLayout(b, layout=spatial(32, 1, 1).local(1, 1, 16).local(1, 2, 1))\n"
      "    r = ConvertLayout(m, layout=spatial(32, 1, 1).local(1, 2, 1).local(1, 1, 16))\n";
  const auto stored = [](const std::string& tile) {
    return "    c = Cast(View(" + tile +
           ", dtype=u4, layout=spatial(4, 8).local(4, 2)), i32)\n    StoreGlobal(c, gy)\n";
  };
  CHECK(undefined_in(bits + stored("m")) == "256 of 256 elements of `c`");
  CHECK(undefined_in(bits + stored("r")) == "128 of 256 elements of `c`");
}

TEST_CASE("a view carries each bit") {
  // The last two of each thread's four bytes are undefined: so is its second half-word.
  CHECK(undefined_in("    s = AllocateShared(u8, shape=[32, 4])\n"
                     "    w = AllocateRegister(u8, layout=spatial(32, 1).local(1, 2), init=1)\n"
                     "    StoreShared(w, s, offset=[0:, 0:])\n"
                     "    q = LoadShared(s, layout=spatial(32, 1).local(1, 4))\n"
                     "    h = Cast(View(q, dtype=u16, layout=spatial(4, 8).local(1, 2)), i32)\n"
                     "    StoreGlobal(h, gy)\n") == "32 of 64 elements of `h`");
}

TEST_CASE("a dot is undefined along rows of a, columns of b, and where c is") {
  const std::string head =
      "    s = AllocateShared(f16, shape=[16, 16])\n"
      "    z = AllocateRegister(f16, layout=spatial(8, 4).local(1, 2), init=1.0)\n"
      "    StoreShared(z, s, offset=[0:, 0:])\n"
      "    StoreShared(z, s, offset=[0:, 8:])\n"
      "    Synchronize()\n"  // rows 8.. are undefined
      "    a = LoadShared(s, layout=column_local(2, 2).spatial(8, 4).local(1, 2))\n"
      "    b = AllocateRegister(f16, layout=local(2, 1).column_spatial(4, 8).local(2, 1), init=1)\n"
      "    c = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0)\n";
  CHECK(undefined_in(head + "    d = Cast(Dot(a, b, c), i32)\n    StoreGlobal(d, gy)\n") ==
        "64 of 128 elements of `d`");
  CHECK(undefined_in(head + "    d = Cast(Dot(a, b, c), i32)\n"
                            "    StoreGlobal(d, gy, offset=[8:, 0:])\n") == "");
}

TEST_CASE("copies must not read workspaces that nothing has written") {
  const auto fault = fault_with(
      "    w = AllocateGlobal(i32, shape=[16, 16])\n"
      "    s = AllocateShared(i32, shape=[16, 16])\n"
      "    CopyAsync(s, w)\n");
  REQUIRE(fault);
  CHECK(fault->diagnostic.code == Code::uninitialized_read);
  CHECK(
      fault->diagnostic.message ==
      "`CopyAsync` copies 256 of 256 elements of `w` that have no defined value, first `w[0, 0]`");
}

TEST_CASE("a buffer's undefined elements become defined when a kernel writes them") {
  const auto program = load(
      "def f<2>(u4* x, u4* y):\n"
      "    b = BlockIndices()\n"
      "    g = ViewGlobal(x, shape=[2, 6])\n"
      "    StoreGlobal(LoadGlobal(ViewGlobal(y, shape=[2, 6]), layout=spatial(2).local(3), "
      "offset=[b, 0:]), g, offset=[b, 0:])\n");
  std::vector<Buffer> memory{{"x", std::vector<std::uint8_t>(7, 0), {}},
                             {"y", std::vector<std::uint8_t>(6, 0x21), {}}};
  memory[0].undefined.assign(7, 0xff);
  run_well(program, {0, 1}, memory);
  CHECK(memory[0].undefined == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 0xff});
  memory[0].bytes.resize(6);
  memory[0].undefined.assign(6, 0xff);
  run_well(program, {0, 1}, memory);
  CHECK(memory[0].undefined.empty());
  memory[1].undefined.assign(6, 0);
  memory[1].undefined[4] = 0x10;
  const Report report = run(program, {0, 1}, memory);
  REQUIRE(report.fault);
  CHECK(report.fault->diagnostic.code == Code::uninitialized_read);
  CHECK(report.fault->block == std::vector<std::int64_t>{1});
}

TEST_CASE("a view that makes replicas of different elements is a fault") {
  const std::string load = "    a = LoadGlobal(gx, layout=spatial(2, 16))\n";
  CHECK(!fault_with(load + "    b = View(a, layout=replicated(32).local(1))\n"));  // all are 3
  const auto program = testing::load(
      "def f<1>(i32* x):\n"
      "    a = LoadGlobal(ViewGlobal(x, shape=[32]), layout=spatial(32))\n"
      "    b = View(a, layout=spatial(8).replicated(4))\n");
  std::vector<std::int32_t> groups(32);
  for (int i = 0; i < 32; ++i) groups[static_cast<std::size_t>(i)] = i / 4;
  std::vector<Buffer> memory{buffer("x", groups)};
  run_well(program, {0}, memory);
  groups[22] = 9;
  memory[0] = buffer("x", groups);
  const Report report = run(program, {0}, memory);
  REQUIRE(report.fault);
  CHECK(report.fault->diagnostic.code == Code::replicas_differ);
  CHECK(report.fault->diagnostic.message ==
        "`View` makes replicas of elements that differ: threads 20 and 22 both hold `b[5]`, with "
        "bits 0x5 and 0x9; in 1 threads replicas differ from the first");
  CHECK(!run(program, {0}, memory, {.threads = 1, .checks = {.replicas = false}}).fault);
}

TEST_CASE("without the check of bounds nothing outside is touched") {
  const auto program = load(
      "def f<1>(i32* x, i32* y):\n"
      "    a = LoadGlobal(ViewGlobal(x, shape=[64]), layout=spatial(32).local(2))\n"
      "    s = AllocateShared(i32, shape=[64])\n"
      "    StoreShared(a, s, offset=[9:])\n"
      "    StoreGlobal(a, ViewGlobal(y, shape=[64]))\n");
  std::vector<Buffer> memory{buffer("x", std::vector<std::int32_t>(40, 3)),
                             buffer("y", std::vector<std::int32_t>(50, 7))};
  CHECK(run(program, {0, 1}, memory).fault);
  run_well(program, {0, 1}, memory, {.threads = 1, .checks = {.bounds = false}});
  const auto y = values<std::int32_t>(memory[1]);
  for (std::size_t i = 0; i < 50; ++i) CHECK(y[i] == (i < 40 ? 3 : 0));
}
