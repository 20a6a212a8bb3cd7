// What programs cost, against a count that looks at every element of every execution.
// More than 400 lines: one test for each way in which accesses are counted, beside the count by
// hand.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "isa/access/access_plan.h"
#include "isa/layout/layout_ops.h"
#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

/// Sectors, or wavefronts, of one access of a warp: `lanes[t]` is empty where thread t is idle.
using Lanes = std::vector<std::vector<std::uint64_t>>;

std::uint64_t sectors_of(const Lanes& lanes) {
  std::set<std::uint64_t> sectors;
  for (const auto& bytes : lanes) {
    for (const std::uint64_t byte : bytes) sectors.insert(byte / 32);
  }
  return sectors.size();
}

std::uint64_t wavefronts_of(const Lanes& lanes) {
  std::size_t width = 1;
  for (const auto& bytes : lanes) width = std::max(width, bytes.size());
  const std::size_t group = width > 8 ? 8 : width > 4 ? 16 : 32;
  std::uint64_t total = 0;
  for (std::size_t begin = 0; begin < lanes.size(); begin += group) {
    std::map<std::uint64_t, std::set<std::uint64_t>> words_of_bank;
    for (std::size_t t = begin; t < std::min(begin + group, lanes.size()); ++t) {
      for (const std::uint64_t byte : lanes[t]) words_of_bank[byte / 4 % 32].insert(byte / 4);
    }
    std::size_t most = 0;
    for (const auto& [bank, words] : words_of_bank) most = std::max(most, words.size());
    total += most;
  }
  return total;
}

bool is_idle(const Lanes& lanes) {
  return std::all_of(lanes.begin(), lanes.end(), [](const auto& bytes) { return bytes.empty(); });
}

/// Bytes of memory behind the beginning of an access's first element.
struct Part {
  std::int64_t begin, bytes;
};

/// The machine accesses of which a plan's access is made.
std::vector<Part> parts_of(const isa::AccessPlan& plan) {
  if (plan.form == isa::AccessForm::bits) return {{0, 1}, {1, 1}};
  std::vector<Part> parts;
  std::int64_t at = 0;
  for (const std::int64_t width : plan.widths) {
    parts.push_back({at, width});
    at += width;
  }
  return parts;
}

/// The words of one matrix, by thread: what a phase of a warp's access serves.
template <class Bit>
Lanes words_of(const isa::RegisterLayout& layout, const isa::AccessPlan& plan, std::int64_t first,
               std::int64_t word, Bit&& bit) {
  const std::int64_t bits = plan.mapping.dtype.bits;
  Lanes lanes(32);
  for (std::int64_t t = 0; t < 32; ++t) {
    for (std::int64_t e = 0; e < 32; ++e) {
      const std::int64_t place = word * (32 / bits) + e / bits;
      const std::int64_t at = bit(layout.element(first + t, place)) + e % bits;
      if (e % 8 == 0)
        lanes[static_cast<std::size_t>(t)].push_back(static_cast<std::uint64_t>(at / 8));
    }
  }
  return lanes;
}

template <class Bit, class Cost>
void add_matrices(const isa::RegisterLayout& layout, const isa::AccessPlan& plan, Bit&& bit,
                  Cost&& cost, AccessCount& count) {
  constexpr std::uint64_t matrix_bytes = 128;
  for (std::int64_t i = 0; i < plan.count; ++i) {
    for (std::int64_t begin = 0; begin < layout.num_threads(); begin += 32) {
      ++count.requests;
      for (std::int64_t j = 0; j < plan.matrices; ++j) {
        count.bytes += matrix_bytes;
        count.transfers += cost(words_of(layout, plan, begin, i * plan.matrices + j, bit));
      }
    }
  }
}

/// Adds every access of a tile; `bit(index)` is where an element begins, or -1 if it is outside.
template <class Bit, class Cost>
void add_accesses(const isa::RegisterLayout& layout, const isa::AccessPlan& plan, Bit&& bit,
                  Cost&& cost, AccessCount& count) {
  if (plan.form == isa::AccessForm::matrix) return add_matrices(layout, plan, bit, cost, count);
  const int bits = plan.mapping.dtype.bits;
  for (std::int64_t i = 0; i < plan.count; ++i) {
    for (std::int64_t begin = 0; begin < layout.num_threads(); begin += 32) {
      for (const Part& part : parts_of(plan)) {
        Lanes lanes;
        for (std::int64_t t = begin; t < std::min(begin + 32, layout.num_threads()); ++t) {
          lanes.emplace_back();
          const std::int64_t at = bit(layout.element(t, plan.local_place(i)));
          const bool narrow = plan.form == isa::AccessForm::bits;
          if (at < 0 || (narrow && part.begin == 1 && at % 8 + bits <= 8)) continue;
          for (std::int64_t b = 0; b < part.bytes; ++b) {
            lanes.back().push_back(static_cast<std::uint64_t>(at / 8 + part.begin + b));
          }
          count.bytes += static_cast<std::uint64_t>(part.bytes);
        }
        count.requests += is_idle(lanes) ? 0 : 1;
        count.transfers += cost(lanes);
      }
    }
  }
}

/// The plan of the only load of a kernel.
const isa::AccessPlan& load_plan(const isa::VerifiedProgram& program) {
  const isa::AccessPlan* plan = nullptr;
  isa::for_each_statement(program.kernel(0).body, [&](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    if (inst == nullptr) return;
    const bool loads = std::holds_alternative<isa::LoadGlobal>(inst->inst) ||
                       std::holds_alternative<isa::LoadShared>(inst->inst);
    if (loads) plan = &program.info(0).access_plan(*inst);
  });
  REQUIRE(plan != nullptr);
  return *plan;
}

const std::vector<std::string> layouts{
    "local(2, 1).spatial(8, 4).local(1, 2)",
    "spatial(16, 8)",
    "column_spatial(16, 8)",
    "local(4, 2).spatial(4, 4)",
    "spatial(4, 3).local(4, 3)",
    "replicated(2).spatial(4, 8).local(4, 1)",
    "local(1, 4).spatial(16, 2).replicated(3)",
    "local(16, 9)",
};

isa::RegisterLayout layout_named(const std::string& text) {
  const auto program =
      load("def f<1>(u8* p):\n    a = AllocateRegister(u8, layout=" + text + ", init=0)\n");
  for (const auto& variable : program.kernel(0).variables) {
    if (const auto* type = std::get_if<isa::RegisterType>(&variable.type)) return type->layout;
  }
  FAIL("no tile");
  return {};
}

Counters count_run(const isa::VerifiedProgram& program, std::size_t bytes, int threads = 1) {
  std::vector<Buffer> memory{{"x", std::vector<std::uint8_t>(bytes, 0)},
                             {"y", std::vector<std::uint8_t>(bytes, 0)}};
  return run_well(program, {0, 1}, memory, {.threads = threads, .count_accesses = true});
}

/// Shared memory that nobody wrote is read and written back by many threads.
Checks no_checks() {
  Checks checks;
  checks.races = checks.uninitialized = checks.replicas = false;
  return checks;
}

const StatementCount& statement(const Counters& counters, const isa::VerifiedProgram& program,
                                std::string_view begin, std::size_t nth = 0) {
  for (const StatementCount& found : counters.statements) {
    if (text_at(program, found.span).starts_with(begin) && nth-- == 0) return found;
  }
  FAIL("no such statement");
  return counters.statements.front();
}

const AccessCount& of(const StatementCount& statement, Traffic traffic) {
  return statement.accesses[static_cast<std::size_t>(traffic)];
}

AccessCount without_ideal(AccessCount count) {
  count.ideal = count.lookups = 0;
  return count;
}

}  // namespace

TEST_CASE("loads and stores of global memory cost what their elements touch") {
  CHECK(rc::check("global", [] {
    const auto text = *rc::gen::elementOf(layouts);
    const auto type = *rc::gen::elementOf(
        std::vector<std::string>{"u1", "i3", "u4", "i6", "u8", "f16", "f32", "f64"});
    const auto layout = layout_named(text);
    const auto extent = [] { return rc::gen::inRange<std::int64_t>(1, 60); };
    const std::array<std::int64_t, 2> view{*extent(), *extent()};
    const std::int64_t row = *rc::gen::inRange<std::int64_t>(view[1], 90);
    const auto step = *rc::gen::inRange<std::int64_t>(-20, 20);
    const auto begin = *rc::gen::inRange<std::int64_t>(-20, 40);
    const bool columns = *rc::gen::arbitrary<bool>();
    const auto strides =
        columns ? std::array<std::int64_t, 2>{1, view[0]} : std::array<std::int64_t, 2>{row, 1};
    const auto program =
        load("const T: dtype = " + type +
             "\ndef f<3, 2>(u8* x_ptr, u8* y_ptr):\n    i, j = BlockIndices()\n" +
             "    gx = ViewGlobal(x_ptr, dtype=T, shape=[" + std::to_string(view[0]) + ", " +
             std::to_string(view[1]) + "], layout=strides(" + std::to_string(strides[0]) + ", " +
             std::to_string(strides[1]) +
             "))\n    for k in range(2):\n        a = LoadGlobal(gx, layout=" + text +
             ", offset=[i * 7 + " + std::to_string(begin) + " + k:, j * " + std::to_string(step) +
             ":])\n        if k < 0:\n            StoreGlobal(a, gx)\n");
    AccessCount expected;
    const unsigned bits = isa::parse_dtype(type)->bits;
    for (std::int64_t e = 0; e < 12; ++e) {  // blocks and iterations
      const std::array<std::int64_t, 2> origin{e % 3 * 7 + begin + e / 6, e / 3 % 2 * step};
      add_accesses(
          layout, load_plan(program),
          [&](const isa::Index& index) -> std::int64_t {
            const std::int64_t r = origin[0] + index[0], c = origin[1] + index[1];
            if (r < 0 || c < 0 || r >= view[0] || c >= view[1]) return -1;
            return (r * strides[0] + c * strides[1]) * bits;
          },
          sectors_of, expected);
    }
    const Counters counters = count_run(program, std::size_t{1} << 16);
    const auto& load_count = statement(counters, program, "a = LoadGlobal");
    RC_ASSERT((load_count.executions == 12));
    RC_ASSERT((without_ideal(of(load_count, Traffic::global_load)) == expected));
    RC_ASSERT((of(load_count, Traffic::global_load).ideal <= expected.transfers));
    RC_ASSERT((statement(counters, program, "StoreGlobal").executions == 0));
  }));
}

TEST_CASE("loads and stores of shared memory cost what their elements touch") {
  const std::vector<std::string> memory_layouts{
      "row_major(16, 16)",
      "row_major(16, 16).swizzle(0, 4, 4)",
      "row_major(16, 16).swizzle(2, 2, 5)",
      "column_major(16, 16)",
      "memory_layout([16, 16], [4, 4, 2, 8], [64, 8, 32, 1])",
      "memory_layout([16, 16], [16, 16], [17, 1])"};
  CHECK(rc::check("shared", [&] {
    const auto text = *rc::gen::elementOf(layouts);
    const auto memory_text = *rc::gen::elementOf(memory_layouts);
    const auto type =
        *rc::gen::elementOf(std::vector<std::string>{"u1", "i6", "u8", "f16", "f32", "f64"});
    const auto layout = layout_named(text);
    const auto row = *rc::gen::inRange<std::int64_t>(0, 17 - layout.shape()[0]);
    const auto column = *rc::gen::inRange<std::int64_t>(0, 17 - layout.shape()[1]);
    const auto program =
        load("const T: dtype = " + type +
             "\ndef f<2>(u8* x_ptr, u8* y_ptr):\n    pad = AllocateShared(u8, shape=[20])\n"
             "    s = AllocateShared(T, shape=[16, 16], layout=" +
             memory_text + ")\n    a = LoadShared(s, layout=" + text + ", offset=[" +
             std::to_string(row) + ":, " + std::to_string(column) +
             ":])\n    StoreShared(a, s, offset=[" + std::to_string(row) + ":, " +
             std::to_string(column) + ":])\n");
    const isa::MemoryLayout* memory_layout = nullptr;
    for (const auto& variable : program.kernel(0).variables) {
      const auto* shared = std::get_if<isa::SharedType>(&variable.type);
      if (shared != nullptr && variable.name == "s") memory_layout = &shared->layout;
    }
    REQUIRE(memory_layout != nullptr);
    const unsigned bits = isa::parse_dtype(type)->bits;
    AccessCount expected;
    for (int block = 0; block < 2; ++block) {
      add_accesses(
          layout, load_plan(program),
          [&](const isa::Index& index) {
            return 128 * 8 +  // behind `pad`
                   memory_layout->offset({row + index[0], column + index[1]}) *
                       static_cast<std::int64_t>(bits);
          },
          wavefronts_of, expected);
    }
    const Counters counters = [&] {
      std::vector<Buffer> memory{{"x", std::vector<std::uint8_t>(16)},
                                 {"y", std::vector<std::uint8_t>(16)}};
      return run_well(program, {0, 1}, memory,
                      {.threads = 1, .checks = no_checks(), .count_accesses = true});
    }();
    const auto& load_count = of(statement(counters, program, "a = "), Traffic::shared_load);
    const auto& store_count =
        of(statement(counters, program, "StoreShared"), Traffic::shared_store);
    RC_ASSERT((without_ideal(load_count) == expected));
    RC_ASSERT((load_count.ideal <= load_count.transfers));
    if (load_plan(program).form != isa::AccessForm::bits) {
      RC_ASSERT((store_count == load_count));
    } else {
      RC_ASSERT((store_count.requests == 0 && store_count.atomics > 0));
    }
  }));
}

TEST_CASE("counters do not depend on the number of host threads, and a second run adds") {
  const auto program = load(
      "def f<37, 3>(f16* x_ptr, f16* y_ptr):\n    i, j = BlockIndices()\n"
      "    gx = ViewGlobal(x_ptr, shape=[70, 50])\n    gy = ViewGlobal(y_ptr, shape=[70, 50])\n"
      "    s = AllocateShared(f16, shape=[8, 16], layout=strides(24, 1))\n"
      "    CopyAsync(s, gx, offset=[i * 2:, j * 16:])\n    CopyAsyncCommitGroup()\n"
      "    CopyAsyncWaitGroup(0)\n    Synchronize()\n"
      "    StoreGlobal(LoadShared(s, layout=spatial(8, 8).local(1, 2)), gy, "
      "offset=[i * 8:, j * 16:])\n");
  const Counters one = count_run(program, 8192, 1);
  CHECK(one == count_run(program, 8192, 5));
  CHECK(one.blocks == 111);
  CHECK(of(statement(one, program, "CopyAsync("), Traffic::global_copy).requests > 0);
  Counters twice = one;
  twice += one;
  CHECK(twice.blocks == 222);
  CHECK(of(statement(twice, program, "StoreGlobal"), Traffic::global_store).transfers ==
        2 * of(statement(one, program, "StoreGlobal"), Traffic::global_store).transfers);
}

TEST_CASE("nothing is counted of accesses unless it is asked for") {
  const auto program = load("def f<1>(u8* x_ptr, u8* y_ptr):\n    b = BlockIndices()\n");
  std::vector<Buffer> memory{{"x", {0}}, {"y", {0}}};
  CHECK(run_well(program, {0, 1}, memory).statements.empty());
  CHECK(count_run(program, 1).statements.size() == 1);
}

TEST_CASE("stores of narrow elements are words changed one by one") {
  const auto program = load(
      "def f<1>(u8* x_ptr, u8* y_ptr):\n    g = ViewGlobal(x_ptr, dtype=i6, shape=[60])\n"
      "    StoreGlobal(AllocateRegister(i6, layout=local(2).spatial(32), init=1), g)\n");
  const Counters counters = count_run(program, 48);
  const auto& count = of(statement(counters, program, "StoreGlobal"), Traffic::global_store);
  // 60 elements in 360 bits; those at bits 30, 60, 90 .. of a word's end reach into the next.
  std::uint64_t words = 0;
  for (int e = 0; e < 60; ++e) words += e * 6 / 32 == (e * 6 + 5) / 32 ? 1 : 2;
  CHECK(count.atomics == words);
  CHECK(count.requests == 0);
  CHECK(count.transfers == 0);
}

TEST_CASE("a copy that is not an asynchronous one loads and stores") {
  const auto program = load(
      "def f<1>(f16* x_ptr, f16* y_ptr):\n    g = ViewGlobal(x_ptr, shape=[4, 9])\n"
      "    s = AllocateShared(f16, shape=[4, 8])\n"
      "    CopyAsync(s, g, offset=[0:, 1:])\n    CopyAsyncCommitGroup()\n"
      "    CopyAsyncWaitGroup(0)\n    Synchronize()\n"
      "    g2 = ViewGlobal(y_ptr, shape=[4, 8])\n"
      "    StoreGlobal(LoadShared(s, layout=spatial(4, 8)), g2)\n");
  const auto counters = count_run(program, 128);
  const auto& copy = statement(counters, program, "CopyAsync(");
  CHECK(of(copy, Traffic::global_copy) == AccessCount{});
  CHECK(of(copy, Traffic::global_load).requests == 1);
  CHECK(of(copy, Traffic::global_load).transfers == 3);  // bytes 2 to 71
  CHECK(of(copy, Traffic::shared_store).transfers == 1);
}

TEST_CASE("every warp reads the element of a LoadScalar") {
  const auto program = load(
      "@threads(70)\ndef f<2>(f16* x_ptr, i32* n_ptr):\n    g = ViewGlobal(n_ptr, shape=[4])\n"
      "    s = AllocateShared(i64, shape=[2])\n"
      "    StoreShared(AllocateRegister(i64, layout=replicated(70).local(2), init=1), s)\n"
      "    Synchronize()\n"
      "    n = LoadScalar(g, offset=[3])\n"
      "    m = LoadScalar(s, offset=[1])\n"
      "    for i in range(n):\n        k = LoadScalar(Iota(i32, "
      "layout=replicated(70).local(1)))\n");
  const auto counters = count_run(program, 64);
  const auto& global = statement(counters, program, "n = LoadScalar(g");
  CHECK(of(global, Traffic::global_load).requests == 2 * 3);
  CHECK(of(global, Traffic::global_load).transfers == 2 * 3);
  CHECK(of(global, Traffic::global_load).bytes == std::uint64_t{2} * 70 * 4);
  const auto& shared = statement(counters, program, "m = LoadScalar(s");
  CHECK(of(shared, Traffic::shared_load).requests == 2 * 3);
  CHECK(of(shared, Traffic::shared_load).transfers == of(shared, Traffic::shared_load).ideal);
}

TEST_CASE("every warp executes the instructions of a Dot, replicas too") {
  const auto program = load(
      "const A: layout = replicated(2).local(2, 1).column_local(2, 2).spatial(8, 4).local(1, 2)\n"
      "const B: layout = replicated(2).local(2, 1).column_spatial(4, 8).local(2, 1)\n"
      "const C: layout = replicated(2).local(2, 1).local(2, 1).spatial(8, 4).local(1, 2)\n"
      "def f<3>(f16* x_ptr, f32* y_ptr):\n    t = BlockIndices()\n"
      "    a = AllocateRegister(f16, layout=A, init=1.0)\n"
      "    b = AllocateRegister(f16, layout=B, init=1.0)\n"
      "    c = AllocateRegister(f32, layout=C, init=0.0)\n"
      "    for k in range(5):\n        Dot(a, b, c, out=c)\n"
      "    StoreGlobal(c, ViewGlobal(y_ptr, shape=[96, 8]), offset=[t * 32:, 0:])\n");
  const auto counters = count_run(program, 3072);
  const auto& dot = statement(counters, program, "Dot(");
  CHECK(dot.mma == "m16n8k16 f32.f16.f16.f32");
  CHECK(dot.mma_instructions == 3 * 5 * 2 * 2);  // blocks, iterations, warps, tiles of m
}

TEST_CASE(
    "a warp executes an instruction of the special function unit for each element of a thread") {
  const auto program = load(
      "def f<1>(f16* x_ptr, f16* y_ptr):\n"
      "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[512]), layout=spatial(64).local(8))\n"
      "    StoreGlobal(TanhApprox(x), ViewGlobal(y_ptr, shape=[512]))\n");
  const auto counters = count_run(program, 1024);
  CHECK(statement(counters, program, "TanhApprox(").special_functions == 2 * 8);
  CHECK(statement(counters, program, "x = LoadGlobal").special_functions == 0);
}

TEST_CASE("a product of a group of warps is counted for the group's threads") {
  const auto program = load(
      "const A: layout = memory_layout([1, 64, 64], [1, 64, 1, 64], [4096, 64, 4096, 1])"
      ".swizzle(3, 3, 3)\n"
      "const B: layout = memory_layout([1, 64, 64], [1, 1, 64, 64], [4096, 4096, 1, 64])"
      ".swizzle(3, 3, 3)\n"
      "const C: layout = spatial(4, 1).local(1, 8).local(2, 1).spatial(8, 4).local(1, 2)\n"
      "def f<1>(f16* x_ptr, f32* y_ptr):\n"
      "    a = AllocateShared(f16, shape=[1, 64, 64], layout=A)\n"
      "    b = AllocateShared(f16, shape=[1, 64, 64], layout=B)\n"
      "    CopyAsync(a, ViewGlobal(x_ptr, shape=[1, 64, 64]))\n"
      "    CopyAsync(b, ViewGlobal(x_ptr, shape=[1, 64, 64]))\n"
      "    CopyAsyncCommitGroup()\n"
      "    CopyAsyncWaitGroup(0)\n"
      "    Synchronize()\n"
      "    with warps(4, 8):\n"
      "        c = AllocateRegister(f32, layout=C, init=0.0)\n"
      "        DotAsync(a, b, c, out=c)\n"
      "        DotAsyncCommitGroup()\n"
      "        DotAsyncWaitGroup(0)\n"
      "        StoreGlobal(c, ViewGlobal(y_ptr, shape=[64, 64]))\n"
      "    with warps(0, 4):\n"
      "        t = AllocateRegister(f32, layout=spatial(128), init=0.0)\n");
  const auto counters = count_run(program, 16384);
  const auto& dot = statement(counters, program, "DotAsync(");
  CHECK(dot.mma == "wgmma.m64n64k16 f32.f16.f16.f32");
  CHECK(dot.mma_instructions == 4);  // steps of k
}

TEST_CASE("a tensor map's boxes are requests for the sectors of their elements inside the view") {
  const auto program = load(
      "def f<1>(f16* x_ptr, i32* y_ptr):\n"
      "    x = ViewGlobal(x_ptr, shape=[40, 72])\n"
      "    s = AllocateShared(f16, shape=[64, 64])\n"
      "    full = AllocateBarrier(arrivals=1)\n"
      "    Synchronize()\n"
      "    with warps(0, 1):\n"
      "        with single_thread():\n"
      "            n = LoadScalar(ViewGlobal(y_ptr, shape=[64]), offset=[0])\n"
      "            ArriveExpect(full, bytes=8192)\n"
      "            CopyAsyncTensorGlobalToShared(s, x, barrier=full, offset=[0:, 64:])\n"
      "    with warps(1, 2):\n"
      "        WaitBarrier(full, parity=0)\n"
      "        t = LoadShared(s, layout=spatial(1, 32).local(1, 2), offset=[0:, 0:])\n");
  const auto counters = count_run(program, 8192);
  // 40 rows of 8 elements are inside: 16 bytes each, in a sector of its own.
  CHECK(of(statement(counters, program, "CopyAsyncTensor"), Traffic::global_copy) ==
        AccessCount{.requests = 1, .bytes = 640, .transfers = 40, .ideal = 20});
  // One thread, and one warp of the two.
  CHECK(of(statement(counters, program, "n = LoadScalar"), Traffic::global_load).requests == 1);
  CHECK(of(statement(counters, program, "t = LoadShared"), Traffic::shared_load).requests == 1);
}

TEST_CASE("faults are the same whether or not accesses are counted") {
  for (const char* offset : {"1 / (b - 1)", "b * 100000"}) {
    const auto program = load(
        "def f<2>(f32* x_ptr, f32* y_ptr):\n    b = BlockIndices()\n"
        "    g = ViewGlobal(x_ptr, shape=[1000000])\n"
        "    s = AllocateShared(f32, shape=[64], layout=row_major(64).swizzle(0, 2, 3))\n"
        "    a = LoadShared(s, layout=spatial(32), offset=[" +
        std::string(offset) +
        ":])\n"
        "    StoreGlobal(a, g, offset=[" +
        std::string(offset) + ":])\n");
    std::vector<Buffer> memory{buffer("x", std::vector<float>(100)),
                               buffer("y", std::vector<float>(100))};
    const auto plain = run(program, {0, 1}, memory, {.threads = 1});
    const auto counted = run(program, {0, 1}, memory, {.threads = 1, .count_accesses = true});
    REQUIRE(plain.fault.has_value());
    REQUIRE(counted.fault.has_value());
    CHECK(plain.fault->diagnostic.message == counted.fault->diagnostic.message);
  }
}
