// Print in the simulator: what is recorded, in which order, how much of it.
#include "isa/program/print.h"

#include <fmt/format.h>

#include "tests/unit/sim/running.h"

namespace {

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

isa::LaunchPrints prints_of(const isa::VerifiedProgram& program, int threads) {
  std::vector<Buffer> memory;
  return run(program, {}, memory, {.threads = threads}).prints;
}

/// The elements of a record that holds 32-bit integers.
std::vector<std::int32_t> integers(const std::vector<std::uint8_t>& records,
                                   const std::vector<isa::PrintSite>& sites) {
  std::vector<std::int32_t> all;
  isa::for_each_record(records, sites, [&](const isa::PrintSite& site, const std::uint8_t* at) {
    for (std::int64_t k = 0; k < isa::element_count(site.shown); ++k) {
      std::int32_t value = 0;
      std::memcpy(&value, at + 4 * k, 4);
      all.push_back(value);
    }
  });
  return all;
}

}  // namespace

TEST_CASE("a tile is recorded once in row-major order, whatever its layout and its replicas") {
  const auto program = load(R"(
def k<1>():
    a = AllocateRegister(u8, layout=spatial(2, 1).replicated(3).column_local(2, 2), init=3)
    b = AllocateRegister(i32, layout=column_spatial(2, 3).local(1, 1), init=1)
    Print(Cast(a, i32))
    Print(b)
)");
  const auto prints = prints_of(program, 1);
  REQUIRE(prints.blocks.size() == 1);
  CHECK(integers(prints.blocks[0].records, program.info(0).prints) ==
        std::vector<std::int32_t>{3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("elements stand where the layout puts them") {
  for (const char* layout :
       {"local(4, 6)", "spatial(4, 1).local(1, 6)", "column_local(2, 3).spatial(2, 2)",
        "local(2, 1).column_spatial(2, 3).local(1, 2)", "replicated(5).spatial(1, 6).local(4, 1)",
        "spatial(2, 1).replicated(2).spatial(2, 3).replicated(3).local(1, 2)"}) {
    const auto program = load(fmt::format(R"(
def k<1>(i32* p):
    x = LoadGlobal(ViewGlobal(p, shape=[4, 6]), layout={})
    Print(x)
    y = View(x, dtype=i32, layout={})
    Print(y)
)",
                                          layout, layout));
    std::vector<std::int32_t> iota(24);
    for (std::size_t i = 0; i < iota.size(); ++i) iota[i] = static_cast<std::int32_t>(i);
    std::vector<Buffer> memory{buffer("p", iota)};
    const Report report = run(program, {0}, memory);
    auto twice = iota;
    twice.insert(twice.end(), iota.begin(), iota.end());
    INFO(layout);
    CHECK(integers(report.prints.blocks.at(0).records, program.info(0).prints) == twice);
  }
}

TEST_CASE("prints do not depend on the number of host threads") {
  const auto program = load(R"(
def k<7, 5, 3>():
    bi, bj, bk = BlockIndices()
    n = bi + 7 * bj + 35 * bk
    for i in range(n % 4):
        Print(n * 10 + i)
    if n % 9 == 2:
        Exit()
    Print(AllocateRegister(i32, layout=spatial(4), init=n))
)");
  const auto one = prints_of(program, 1);
  CHECK(one == prints_of(program, 2));
  CHECK(one == prints_of(program, 8));
  CHECK(one.blocks.front().block == std::array<std::int64_t, 3>{0, 0, 0});
  CHECK(one.blocks[9].block == std::array<std::int64_t, 3>{2, 1, 0});
  CHECK(one.blocks.size() == 105 - 3);  // blocks 20, 56 and 92 print nothing
  CHECK(integers(one.blocks[1].records, program.info(0).prints) ==
        std::vector<std::int32_t>{10, 1, 1, 1, 1});
}

TEST_CASE("a block may print up to its limit, and so may a launch") {
  const auto program = load(R"(
const N, TIMES = 3, 20000
def k<N>():
    b = BlockIndices()
    for i in range(TIMES):
        Print(i)
)");
  const auto prints = prints_of(program, 2);
  const std::uint64_t each = isa::max_block_print_bytes / 16;
  REQUIRE(prints.blocks.size() == 3);
  for (const auto& block : prints.blocks) CHECK(block.records.size() == 16 * each);
  CHECK(prints.dropped == 3 * (20000 - each));

  const auto many = load(R"(
def k<100000>():
    for i in range(4):
        Print(i)
)");
  const auto first = prints_of(many, 1);
  CHECK(first == prints_of(many, 2));
  CHECK(first == prints_of(many, 8));
  CHECK(first.blocks.size() == isa::max_launch_print_bytes / 64);
  CHECK(first.dropped == 4 * (100000 - first.blocks.size()));

  const auto late = load(R"(
def k<1000, 100, 10>():
    x, y, z = BlockIndices()
    if x == 999 and y % 33 == 0 and z > 7:
        for i in range(4):
            Print(AllocateRegister(i32, layout=local(1024), init=x + y + z))
)");
  const auto few = prints_of(late, 1);
  CHECK(few == prints_of(late, 8));
  CHECK(few.blocks.size() == 8);
  CHECK(few.blocks[7].block == std::array<std::int64_t, 3>{999, 99, 9});
  CHECK(few.blocks[7].records.size() == 4 * 4104);
  CHECK(few.dropped == 0);
}

TEST_CASE("what was printed before a fault is shown, and nothing of the blocks behind it") {
  const auto program = load(R"(
def k<1000>():
    b = BlockIndices()
    Print(b)
    x = 1 / (b - 500)
    Print(x)
)");
  for (const int threads : {1, 2, 8}) {
    std::vector<Buffer> memory;
    const Report report = run(program, {}, memory, {.threads = threads});
    REQUIRE(report.fault);
    REQUIRE(report.prints.blocks.size() == 501);
    CHECK(integers(report.prints.blocks[500].records, program.info(0).prints) ==
          std::vector<std::int32_t>{500});
    CHECK(report.prints.blocks[499].records.size() == 32);
    CHECK_FALSE(report.prints.dropped_unknown);
  }
}

TEST_CASE("a scalar that cannot be evaluated is a fault, also where the print would be dropped") {
  const auto program = load(R"(
def k<1>():
    for i in range(20000):
        Print(1 / (i - 19999))
)");
  std::vector<Buffer> memory;
  const Report report = run(program, {}, memory);
  REQUIRE(report.fault);
  CHECK(report.fault->diagnostic.code == Code::run_division_by_zero);
  CHECK(report.prints.dropped_unknown);
}
