// Loops, branches and scalars, observed through one-element stores.
#include "tests/unit/sim/running.h"

#include <limits>

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

/// A kernel of one block whose body leaves its result in the scalar `r`.
std::string scalar_program(const std::string& body, const std::string& parameters = "i32 n") {
  return "def f<1>(i32* out_ptr, " + parameters + "):\n    r = 0\n" + body +
         "    g = ViewGlobal(out_ptr, shape=[1])\n"
         "    StoreGlobal(AllocateRegister(i32, layout=local(1), init=r), g)\n";
}

std::int32_t result_of(const std::string& body, std::int32_t n) {
  const auto program = load(scalar_program(body));
  std::vector<Buffer> memory{buffer<std::int32_t>("out", {-1})};
  run_well(program, {0, isa::Scalar::i32(n)}, memory);
  return values<std::int32_t>(memory[0])[0];
}

std::string fault_place(const std::string& body, std::int32_t n, Code code,
                        std::uint64_t max_steps = 100000) {
  const auto program = load(scalar_program(body));
  std::vector<Buffer> memory{buffer<std::int32_t>("out", {-1})};
  const Report report =
      run(program, {0, isa::Scalar::i32(n)}, memory, {.threads = 1, .max_steps = max_steps});
  REQUIRE(report.fault.has_value());
  CHECK(report.fault->diagnostic.code == code);
  return text_at(program, report.fault->diagnostic.span);
}

}  // namespace

TEST_CASE("nested loops run every pair, and a loop may be empty") {
  const std::string body =
      "    for i in range(n):\n"
      "        for j in range(i, 2 * n, 3):\n"
      "            r = r + 10 * i + j\n";
  const auto expected = [](int n) {
    int r = 0;
    for (int i = 0; i < n; ++i) {
      for (int j = i; j < 2 * n; j += 3) r += 10 * i + j;
    }
    return r;
  };
  for (const int n : {-2, 0, 1, 7}) CHECK(result_of(body, n) == expected(n));
}

TEST_CASE("ranges go down, and end without overflow at the limits of their kind") {
  CHECK(result_of("    for i in range(n, 0, -2):\n        r = r * 10 + i\n", 7) == 7531);
  CHECK(result_of("    for i in range(2147483640, 2147483647, n):\n        r = r + 1\n", 5) == 2);
  CHECK(result_of("    for i in range(n, -2147483647, -2000000000):\n        r = r + 1\n", 5) == 2);
}

TEST_CASE("a range is evaluated once: assigning its bounds or its variable changes nothing") {
  CHECK(result_of("    m = n\n    for i in range(m):\n        m = 100\n        r = r + 1\n", 3) ==
        3);
}

TEST_CASE("break and continue act on the innermost loop, for and while") {
  const std::string body =
      "    i = 0\n"
      "    while True:\n"
      "        i = i + 1\n"
      "        if i > n:\n"
      "            break\n"
      "        if i % 2 == 0:\n"
      "            continue\n"
      "        for j in range(10):\n"
      "            if j == 1:\n"
      "                continue\n"
      "            if j == 4:\n"
      "                break\n"
      "            r = r + j\n";
  CHECK(result_of(body, 6) == 3 * (0 + 2 + 3));
  CHECK(result_of(body, 0) == 0);
}

TEST_CASE("if, elif and else take the first arm that holds") {
  const std::string body =
      "    if n < 0:\n        r = 1\n    elif n < 10:\n        r = 2\n    elif n < 5:\n"
      "        r = 3\n    else:\n        r = 4\n";
  CHECK(result_of(body, -5) == 1);
  CHECK(result_of(body, 3) == 2);
  CHECK(result_of(body, 10) == 4);
}

TEST_CASE("logical operators do not evaluate what they do not need") {
  CHECK(result_of("    if n != 0 and 6 / n == 2:\n        r = 1\n", 0) == 0);
  CHECK(result_of("    if n != 0 and 6 / n == 2:\n        r = 1\n", 3) == 1);
  CHECK(result_of("    if n == 0 or 6 / n == 2:\n        r = 1\n", 0) == 1);
}

TEST_CASE("integer division by zero is a fault at the division") {
  CHECK(fault_place("    r = 1 + 7 / n\n", 0, Code::run_division_by_zero) == "7 / n");
  CHECK(fault_place("    for i in range(7 % n):\n        r = i\n", 0, Code::run_division_by_zero) ==
        "7 % n");
}

TEST_CASE("a loop that does not end is a fault that names the loop") {
  const std::string place = fault_place(
      "    while r < n:\n        if n > 0:\n            r = r * 1\n", 1, Code::step_limit, 1000);
  CHECK(place.starts_with("while r < n"));
  CHECK(fault_place("    for i in range(0, 10, n):\n        r = i\n", 0, Code::range_step)
            .starts_with("for i in"));
}

TEST_CASE("the step limit counts steps of one block, not of all") {
  const auto program = load(
      "def f<1000>(i32* p):\n    b = BlockIndices()\n    g = ViewGlobal(p, shape=[1000])\n"
      "    StoreGlobal(AllocateRegister(i32, layout=local(1), init=b), g, offset=[b:])\n");
  std::vector<Buffer> memory{buffer("p", std::vector<std::int32_t>(1000))};
  const Counters counters = run_well(program, {0}, memory, {.threads = 1, .max_steps = 10});
  CHECK(counters.blocks == 1000);
  CHECK(counters.steps == 4000);
  for (std::int32_t i = 0; i < 1000; ++i) {
    CHECK(values<std::int32_t>(memory[0])[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("counters tell how often each instruction ran") {
  const auto program = load(
      "def f<2, 3>(f32* p):\n    x, y = BlockIndices()\n    g = ViewGlobal(p, shape=[6])\n"
      "    for i in range(4):\n        a = LoadGlobal(g, layout=local(1), offset=[2 * y + x:])\n"
      "        StoreGlobal(Add(a, a), g, offset=[2 * y + x:])\n");
  std::vector<Buffer> memory{buffer<float>("p", {1, 2, 3, 4, 5, 6})};
  const Counters counters = run_well(program, {0}, memory);
  const auto count = [&](const isa::Instruction& inst) {
    return counters.instructions[inst.index()];
  };
  CHECK(count(isa::BlockIndices{}) == 6);
  CHECK(count(isa::LoadGlobal{}) == 24);
  CHECK(count(isa::Add{}) == 24);
  CHECK(count(isa::Cast{}) == 0);
  CHECK(values<float>(memory[0]) == std::vector<float>{16, 32, 48, 64, 80, 96});
}

TEST_CASE("a grid's extents may come from parameters, and have CUDA's limits") {
  const auto program = load(
      "def f<n, m / 2>(i32* p, i32 n, i32 m):\n    x, y = BlockIndices()\n"
      "    g = ViewGlobal(p, shape=[m / 2, n])\n"
      "    v = AllocateRegister(i32, layout=local(1, 1), init=100 * y + x)\n"
      "    StoreGlobal(v, g, offset=[y:, x:])\n");
  std::vector<Buffer> memory{buffer("p", std::vector<std::int32_t>(6))};
  const auto with = [&](int n, int m) {
    return run(program, {0, isa::Scalar::i32(n), isa::Scalar::i32(m)}, memory);
  };
  CHECK(!with(3, 4).fault);
  CHECK(values<std::int32_t>(memory[0]) == std::vector<std::int32_t>{0, 1, 2, 100, 101, 102});
  for (const auto& [n, m] : {std::pair{0, 4}, {-1, 4}, {1, 1}, {1, 2 * 65536}}) {
    const Report report = with(n, m);
    REQUIRE(report.fault.has_value());
    CHECK(report.fault->diagnostic.code == Code::bad_grid);
    CHECK(report.fault->block.empty());
  }
}

TEST_CASE("scalars have their kinds: wrapping i32, exact u64, rounded f32") {
  const auto program = load(
      "def f<1>(f32* p, i32 a, u64 b, f32 c, bool d):\n"
      "    g = ViewGlobal(p, shape=[4])\n    r = 0.0\n    if d:\n        r = c / 3.0\n"
      "    if b / 3 == 6148914691236517205:\n        r = r + 1.0\n"
      "    if a + 1 < a:\n        r = r + 2.0\n"
      "    StoreGlobal(AllocateRegister(f32, layout=local(1), init=r), g)\n");
  std::vector<Buffer> memory{buffer("p", std::vector<float>(4))};
  run_well(program,
           {0, isa::Scalar::i32(std::numeric_limits<std::int32_t>::max()),
            isa::Scalar{isa::ScalarKind::u64, ~std::uint64_t{0}}, isa::Scalar::f32(2.0F),
            isa::Scalar::of(true)},
           memory);
  CHECK(values<float>(memory[0])[0] == 2.0F / 3.0F + 1.0F + 2.0F);
}

TEST_CASE("arguments that do not fit the parameters are refused") {
  const auto program = load(scalar_program(""));
  std::vector<Buffer> memory{buffer<std::int32_t>("out", {0})};
  const std::vector<std::vector<Argument>> wrong = {{},
                                                    {0},
                                                    {0, 0},
                                                    {isa::Scalar::i32(1), isa::Scalar::i32(1)},
                                                    {1, isa::Scalar::i32(1)},
                                                    {-1, isa::Scalar::i32(1)}};
  for (const auto& arguments : wrong) {
    const auto report = run_kernel(program, 0, arguments, memory);
    REQUIRE(!report.ok());
    CHECK(report.error().kind == ErrorKind::usage);
  }
}

TEST_CASE("a kernel whose tiles take more memory than the limit is refused, not killed") {
  std::string text = "def f<1>(u8* p):\n";
  for (int i = 0; i < 70; ++i) {
    text += "    a" + std::to_string(i) +
            " = AllocateRegister(u8, layout=spatial(1024, 1).local(1, 4096))\n";
  }
  const auto program = load(text);
  std::vector<Buffer> memory{buffer<std::int32_t>("p", {0})};
  const auto report = run_kernel(program, 0, {0}, memory);
  REQUIRE(!report.ok());
  CHECK(report.error().kind == ErrorKind::limit);
}

TEST_CASE("a workspace larger than any memory is refused") {
  const auto program =
      load("def f<1>(u8* p):\n    w = AllocateGlobal(u8, shape=[1099511627776])\n");
  std::vector<Buffer> memory{buffer<std::int32_t>("p", {0})};
  const auto report = run_kernel(program, 0, {0}, memory);
  REQUIRE(!report.ok());
  CHECK(report.error().kind == ErrorKind::limit);
}
