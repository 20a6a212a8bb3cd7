// Speed of the host side: loading, verifying and simulating the shipped programs.
//
//   cmake --preset release -DTILEVM_BENCH=ON && ninja -C build sim_bench
//   build/tests/sim_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
//
// Rates are multiply-adds or elements a second; the argument is the number of host threads.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "frontend/bind/frontend.h"
#include "isa/base/check.h"
#include "isa/verify/verify.h"
#include "sim/api/sim.h"
#include "vm/data/random.h"
#include "vm/data/tensor.h"

namespace {

using namespace tilevm;

std::shared_ptr<const SourceFile> read_program(const std::string& name) {
  const std::string path = std::string(TILEVM_SOURCE_DIR) + "/programs/" + name;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return std::make_shared<const SourceFile>(name, text.str());
}

isa::VerifiedProgram load(const std::shared_ptr<const SourceFile>& source,
                          const std::vector<frontend::Define>& defines = {},
                          const isa::Target& target = {}) {
  Diagnostics diagnostics;
  auto program = frontend::load(source, {defines, target}, diagnostics);
  TILEVM_CHECK(program.has_value(), "a shipped program loads");
  auto verified = isa::verify(*std::move(program), target, diagnostics);
  TILEVM_CHECK(verified.has_value(), "a shipped program verifies");
  return *std::move(verified);
}

sim::Buffer random_buffer(const std::string& name, const isa::DType& type, std::int64_t elements) {
  auto tensor = vm::make_tensor(type, {elements}, name);
  TILEVM_CHECK(tensor.ok(), "memory for a tensor");
  vm::fill_rand(*tensor, 0, name);
  return {name, std::move(tensor->data)};
}

void load_and_verify(benchmark::State& state, const std::string& name) {
  const auto source = read_program(name);
  for (auto _ : state) benchmark::DoNotOptimize(load(source));
}
BENCHMARK_CAPTURE(load_and_verify, figure2, "figure2.tile")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load_and_verify, matmul_f16_i6, "matmul_f16_i6.tile")
    ->Unit(benchmark::kMicrosecond);

/// Runs kernel 0 of a program again and again on the same buffers: on range(0) host threads, with
/// all checks or (range(1) is 0) with none.
void run_kernel(benchmark::State& state, const isa::VerifiedProgram& program,
                std::vector<sim::Buffer> memory, double work) {
  std::vector<sim::Argument> arguments;
  for (std::size_t i = 0; i < memory.size(); ++i) arguments.emplace_back(static_cast<int>(i));
  sim::Options options{.threads = static_cast<int>(state.range(0))};
  if (state.range(1) == 0) {
    for (const sim::NamedCheck& check : sim::named_checks) options.checks.*check.member = false;
  }
  for (auto _ : state) {
    const auto report = sim::run_kernel(program, 0, arguments, memory, options);
    TILEVM_CHECK(report.ok() && !report->fault, "a shipped program runs");
  }
  state.counters["rate"] = benchmark::Counter(work, benchmark::Counter::kIsIterationInvariantRate);
}

#define TILEVM_BENCHMARK(name)          \
  BENCHMARK(name)                       \
      ->ArgNames({"threads", "checks"}) \
      ->ArgsProduct({{1, 2}, {1, 0}})   \
      ->UseRealTime()                   \
      ->Unit(benchmark::kMillisecond)

void figure2(benchmark::State& state) {
  constexpr std::int64_t m = 256, n = 256, k = 1024;
  const auto program = load(read_program("figure2.tile"), {{"M", "256"}, {"N", "256"}});
  run_kernel(state, program,
             {random_buffer("a", isa::f16, m * k), random_buffer("b", isa::u8, k * n * 6 / 8),
              random_buffer("c", isa::f16, m * n)},
             static_cast<double>(m * n * k));
}
TILEVM_BENCHMARK(figure2);

/// A product in f16 with tiles of 128 x 128 x 64, as the comparison with other simulators has it.
void large_tiles(benchmark::State& state) {
  constexpr std::int64_t size = 512;
  const auto program = load(read_program("../tests/bench/compare/matmul_f16.tile"), {{"BM", "128"},
                                                                                     {"BN", "128"},
                                                                                     {"BK", "64"},
                                                                                     {"WM", "4"},
                                                                                     {"WN", "2"},
                                                                                     {"M", "512"},
                                                                                     {"N", "512"},
                                                                                     {"K", "512"}});
  run_kernel(state, program,
             {random_buffer("a", isa::f16, size * size), random_buffer("b", isa::f16, size * size),
              random_buffer("c", isa::f32, size * size)},
             static_cast<double>(size * size * size));
}
TILEVM_BENCHMARK(large_tiles);

void vector_add(benchmark::State& state) {
  constexpr std::int64_t n = 1 << 22;
  const auto program = load(read_program("vector_add.tile"), {{"N", std::to_string(n)}});
  run_kernel(state, program,
             {random_buffer("a", isa::f32, n), random_buffer("b", isa::f32, n),
              random_buffer("c", isa::f32, n)},
             static_cast<double>(n));
}
TILEVM_BENCHMARK(vector_add);

/// Elements at places that are data, again and again: of rows of a view (`src` is "x"), or of a
/// table in shared memory with 8 copies of each entry ("t").
void gather(benchmark::State& state, const std::string& src) {
  constexpr int blocks = 8, repeats = 500;
  constexpr std::int64_t elements = 128 * 64;
  const std::string text =
      "const L: layout = spatial(128, 1).local(1, 64)\n"
      "def f<8>(u32* x_ptr, u8* i_ptr, u32* y_ptr):\n"
      "    x = ViewGlobal(x_ptr, shape=[256, 64])\n"
      "    t = AllocateShared(u32, shape=[256, 64],"
      " layout=memory_layout([256, 64], [256, 8, 8], [8, 0, 1]))\n"
      "    part = LoadGlobal(x, layout=local(16, 1).spatial(16, 8))\n"
      "    StoreShared(part, t)\n"
      "    Synchronize()\n"
      "    i = LoadGlobal(ViewGlobal(i_ptr, shape=[128, 64]), layout=L)\n"
      "    y = AllocateRegister(u32, layout=L, init=0)\n"
      "    for k in range(" +
      std::to_string(repeats) + "):\n        y = Gather(" + src +
      ", i, dim=0)\n"
      "    n = BlockIndices()\n"
      "    StoreGlobal(y, ViewGlobal(y_ptr, shape=[8, 128, 64]), offset=[n, 0:, 0:])\n";
  const auto program = load(std::make_shared<const SourceFile>("gather.tile", text));
  run_kernel(state, program,
             {random_buffer("x", isa::u32, 256 * 64), random_buffer("i", isa::u8, elements),
              random_buffer("y", isa::u32, blocks * elements)},
             static_cast<double>(blocks * repeats * elements));
}
BENCHMARK_CAPTURE(gather, global, "x")->ArgNames({"threads", "checks"})->Args({1, 1})->Args({1, 0});
BENCHMARK_CAPTURE(gather, shared, "t")->ArgNames({"threads", "checks"})->Args({1, 1})->Args({1, 0});

/// c[128, 128] += a[128, k] b[k, 128] again and again, four warps two by two; fragments of
/// m16n8k`step` with `e` elements in a register. With `places`, the layout of those of two steps, a
/// is a sparse matrix of which half is stored, and its row in registers has the fragments of that.
struct Product {
  std::string a, c;  ///< types
  int k, step, e;
  std::string places{};

  [[nodiscard]] bool sparse() const { return !places.empty(); }
  [[nodiscard]] int stored() const { return sparse() ? k / 2 : k; }
};

std::string product_text(const Product& product) {
  const std::string places =
      product.sparse()
          ? "    p = AllocateRegister(u2, layout=spatial(2, 1).replicated(2).local(4, 1) * " +
                product.places + ", init=[0, 1, 2, 3, 1, 3])\n"
          : "";
  return "const K, STORED, S, E = " + std::to_string(product.k) + ", " +
         std::to_string(product.stored()) + ", " + std::to_string(product.step) + ", " +
         std::to_string(product.e) + "\n" +
         "const A: layout = column_local(2, S * STORED / (4 * E * K)).spatial(8, 4).local(1, E)\n"
         "const B: layout = local(S / (4 * E), 1).column_spatial(4, 8).local(E, 1)\n"
         "const C: layout = local(2, 1).spatial(8, 4).local(1, 2)\n"
         "def f<8>(" +
         product.a + "* a_ptr, " + product.a + "* b_ptr, " + product.c + "* c_ptr):\n" +
         "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[128, STORED]),"
         " layout=spatial(2, 1).replicated(2).local(4, K / S) * A)\n" +
         places +
         "    b = LoadGlobal(ViewGlobal(b_ptr, shape=[K, 128]),"
         " layout=replicated(2).spatial(1, 2).local(K / S, 8) * B)\n"
         "    n = BlockIndices()\n"
         "    g = ViewGlobal(c_ptr, shape=[8, 128, 128])\n"
         "    c = LoadGlobal(g, layout=spatial(2, 2).local(4, 8) * C, offset=[n, 0:, 0:])\n"
         "    for i in range(16):\n" +
         (product.sparse() ? "        DotSparse(a, p, b, c, out=c)\n"
                           : "        Dot(a, b, c, out=c)\n") +
         "    StoreGlobal(c, g, offset=[n, 0:, 0:])\n";
}

/// Items are multiply-adds, of a sparse matrix stored ones.
void multiply(benchmark::State& state, const Product& product) {
  const auto program = load(std::make_shared<const SourceFile>("dot.tile", product_text(product)));
  const isa::DType type = *isa::parse_dtype(product.a);
  run_kernel(state, program,
             {random_buffer("a", type, std::int64_t{128} * product.stored()),
              random_buffer("b", type, std::int64_t{128} * product.k),
              random_buffer("c", *isa::parse_dtype(product.c), std::int64_t{8} * 128 * 128)},
             128.0 * 128 * product.stored() * 16 * 8);
}
void dot(benchmark::State& state, const std::string& a, const std::string& c, int k, int step,
         int e) {
  multiply(state, {a, c, k, step, e});
}
void dot_sparse(benchmark::State& state, const std::string& a, const std::string& c, int step,
                int e, const std::string& places) {
  multiply(state, {a, c, 64, step, e, places});
}

/// Block-scaled products of 128 x 128 x 64 by four warps, whose instructions multiply `k` at a time
/// with `e` elements in a register; a scale serves `group` elements. Items are multiply-adds.
void dot_scaled(benchmark::State& state, const std::string& type, const std::string& scale, int k,
                int e, int group) {
  constexpr std::int64_t size = 128, depth = 64;
  const std::string text =
      "const K, E, G, STEPS = " + std::to_string(k) + ", " + std::to_string(e) + ", " +
      std::to_string(group) + ", " + std::to_string(depth / k) +
      "\n"
      "const A: layout = local(1, STEPS).column_local(2, K / (4 * E)).spatial(8, 4).local(1, E)\n"
      "const B: layout = local(STEPS, 1).local(K / (4 * E), 1).column_spatial(4, 8).local(E, 1)\n"
      "const C: layout = local(2, 1).spatial(8, 4).local(1, 2)\n"
      "const SA: layout = layout([16, 1], [2, 8], [1, -2, 0], []) * local(1, STEPS * K / G)\n"
      "const SB: layout = local(STEPS * K / G, 1).spatial(1, 8).replicated(4)\n"
      "def f<8>(" +
      type + "* a_ptr, " + scale + "* sa_ptr, " + type + "* b_ptr, " + scale +
      "* sb_ptr, f32* c_ptr):\n"
      "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[128, 64]),"
      " layout=spatial(2, 1).replicated(2).local(4, 1) * A)\n"
      "    sa = LoadGlobal(ViewGlobal(sa_ptr, shape=[128, 64 / G]),"
      " layout=spatial(2, 1).replicated(2).local(4, 1) * SA)\n"
      "    b = LoadGlobal(ViewGlobal(b_ptr, shape=[64, 128]),"
      " layout=replicated(2).spatial(1, 2).local(1, 8) * B)\n"
      "    sb = LoadGlobal(ViewGlobal(sb_ptr, shape=[64 / G, 128]),"
      " layout=replicated(2).spatial(1, 2).local(1, 8) * SB)\n"
      "    n = BlockIndices()\n"
      "    g = ViewGlobal(c_ptr, shape=[8, 128, 128])\n"
      "    c = LoadGlobal(g, layout=spatial(2, 2).local(4, 8) * C, offset=[n, 0:, 0:])\n"
      "    for i in range(16):\n"
      "        DotScaled(a, sa, b, sb, c, out=c)\n"
      "    StoreGlobal(c, g, offset=[n, 0:, 0:])\n";
  const auto program =
      load(std::make_shared<const SourceFile>("dot_scaled.tile", text), {}, {120, true});
  const isa::DType operand = *isa::parse_dtype(type), scales = *isa::parse_dtype(scale);
  run_kernel(
      state, program,
      {random_buffer("a", operand, size * depth), random_buffer("sa", scales, size * depth / group),
       random_buffer("b", operand, size * depth), random_buffer("sb", scales, size * depth / group),
       random_buffer("c", isa::f32, 8 * size * size)},
      static_cast<double>(size * size * depth * 16 * 8));
}

/// Sums along a dimension of 64, in a thread and over 8 lanes: items are elements.
void combine(benchmark::State& state, const std::string& instruction) {
  constexpr int blocks = 8, repeats = 200;
  constexpr std::int64_t elements = 64 * 64;
  const std::string text =
      "const L: layout = spatial(16, 8).local(4, 8)\n"
      "def f<8>(f32* x_ptr, f32* y_ptr):\n"
      "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[64, 64]), layout=L)\n"
      "    for k in range(" +
      std::to_string(repeats) + "):\n        y = " + instruction +
      "\n"
      "        x = x + y\n"
      "    n = BlockIndices()\n"
      "    StoreGlobal(x, ViewGlobal(y_ptr, shape=[8, 64, 64]), offset=[n, 0:, 0:])\n";
  const auto program = load(std::make_shared<const SourceFile>("combine.tile", text));
  run_kernel(
      state, program,
      {random_buffer("x", isa::f32, elements), random_buffer("y", isa::f32, blocks * elements)},
      static_cast<double>(blocks * repeats * elements));
}
BENCHMARK_CAPTURE(combine, scan, "Scan(x, add, dim=1)")
    ->ArgNames({"threads", "checks"})
    ->Args({1, 1})
    ->Args({1, 0});
BENCHMARK_CAPTURE(combine, reduce, "Reduce(x, add, dims=1, keep_dims=true)")
    ->ArgNames({"threads", "checks"})
    ->Args({1, 1})
    ->Args({1, 0});

// NOLINTBEGIN(bugprone-macro-parentheses)
#define TILEVM_DOT_BENCHMARK(name, a, c, k, step, e) \
  BENCHMARK_CAPTURE(dot, name, a, c, k, step, e)     \
      ->Args({1, 1})                                 \
      ->UseRealTime()                                \
      ->Unit(benchmark::kMillisecond)
// NOLINTEND(bugprone-macro-parentheses)
TILEVM_DOT_BENCHMARK(f16, "f16", "f32", 64, 16, 2);
TILEVM_DOT_BENCHMARK(bf16, "bf16", "f32", 64, 16, 2);
TILEVM_DOT_BENCHMARK(f16_f16, "f16", "f16", 64, 16, 2);
TILEVM_DOT_BENCHMARK(tf32, "tf32", "f32", 32, 8, 1);
TILEVM_DOT_BENCHMARK(f8e4m3, "f8e4m3", "f32", 64, 32, 4);
TILEVM_DOT_BENCHMARK(i8, "i8", "i32", 64, 32, 4);
TILEVM_DOT_BENCHMARK(u4, "u4", "i32", 128, 64, 8);
TILEVM_DOT_BENCHMARK(b1, "b1", "i32", 256, 256, 32);
TILEVM_DOT_BENCHMARK(b3, "b3", "i32", 256, 256, 32);
TILEVM_DOT_BENCHMARK(f64, "f64", "f64", 32, 16, 1);
BENCHMARK_CAPTURE(dot_sparse, f16, "f16", "f32", 32, 2, "local(2, 1).spatial(8, 4).local(1, 8)")
    ->Args({1, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dot_sparse, i8, "i8", "i32", 64, 4,
                  "layout([16, 32], [2, 8, 2, 16], [1, 2, 0], [3])")
    ->Args({1, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dot_scaled, mxf8f6f4, "f8e4m3", "f8e8m0", 32, 4, 32)
    ->Args({1, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dot_scaled, mxf4, "f4e2m1", "f8e8m0", 64, 8, 32)
    ->Args({1, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(dot_scaled, mxf4nvf4, "f4e2m1", "f7e4m3u", 64, 8, 16)
    ->Args({1, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
