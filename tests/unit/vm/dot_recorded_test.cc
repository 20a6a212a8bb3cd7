// Every class of Dot on adversarial operands: the simulator against a GPU, and against what an H200
// gave for them once (tests/data/dot_sm_90.txt).
//
// On a machine with a GPU, TILEVM_EXHAUSTIVE=1 compares more than 10^7 outputs a class,
// TILEVM_DOT_CASES=TEXT only those whose name contains the text, and TILEVM_DOT_RECORD=FILE writes
// the file of hashes anew, from the GPU's outputs.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "isa/mma_shapes.h"
#include "isa/type/bits.h"
#include "tests/unit/sim/mma_random.h"
#include "vm/hash.h"
#include "vm/vm.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;
using isa::DType;
using sim::testing::Random;

/// One kind of Dot. Every block computes d = a b + c of m x n with all of k.
struct DotCase {
  std::string name;
  DType a, b, c;
  std::string a_layout, b_layout, c_layout;
  std::int64_t m, n, k;
};

/// One fragment high, two wide, three deep: too deep for an instruction of larger k.
DotCase mma_case(const isa::MmaShape& shape, const DType& a, const DType& b) {
  return {fmt::format("{}_{}_{}_{}", to_string(a), to_string(b), to_string(shape.accumulator),
                      shape.name),
          a,
          b,
          shape.accumulator,
          "local(1, 3)." + to_string(shape.a_layout),
          "local(3, 2)." + to_string(shape.b_layout),
          "local(1, 2)." + to_string(shape.c_layout),
          shape.m,
          2 * shape.n,
          3 * shape.k};
}

DotCase chain_case(const DType& a, const DType& b, const DType& c) {
  return {fmt::format("{}_{}_{}_chain", to_string(a), to_string(b), to_string(c)),
          a,
          b,
          c,
          "spatial(8, 1).replicated(4).column_local(2, 12)",
          "replicated(8).spatial(1, 4).local(12, 4)",
          "spatial(8, 4).local(2, 4)",
          16,
          16,
          12};
}

std::vector<DotCase> make_cases() {
  std::vector<DotCase> cases;
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    if (shape.min_sm > 90) continue;
    cases.push_back(mma_case(shape, shape.a, shape.b));
    const bool bits = shape.a == isa::u1, values = shape.a == isa::i8 && shape.b == isa::i8;
    if (!bits && !values) continue;
    for (const auto& [a, b] : {std::pair{1, 1}, {2, 3}, {4, 8}, {7, 7}, {8, 8}}) {
      cases.push_back(mma_case(shape, isa::bipolar(a), isa::bipolar(b)));
    }
  }
  for (const auto& [a, b, c] : {std::tuple{isa::f32, isa::f32, isa::f32},
                                {isa::f64, isa::f64, isa::f64},
                                {isa::f16, isa::f16, isa::f16},
                                {isa::bf16, isa::bf16, isa::bf16},
                                {isa::tf32, isa::f8e5m2, isa::f32},
                                {isa::f8e4m3, isa::f8e5m2, isa::f16},
                                {isa::i8, isa::u8, isa::bf16},
                                {isa::i32, isa::u32, isa::i32},
                                {isa::i64, isa::bipolar(5), isa::u64}}) {
    cases.push_back(chain_case(a, b, c));
  }
  return cases;
}

/// An operand of integers is loaded as bytes, which is quicker to compile than element by element.
bool by_bytes(const DType& type) { return !type.is_float() && type.bits <= 8; }

/// The lines that load an operand of rows x columns.
std::string load_lines(const DotCase& dot, char name, const DType& type, std::int64_t blocks,
                       std::int64_t rows, std::int64_t columns, const std::string& layout) {
  const std::int64_t bits = rows * columns / 32 * type.bits;  // of a thread
  if (!by_bytes(type) || bits % 8 != 0 || dot.a_layout.starts_with("spatial")) {
    return fmt::format(
        "    {0} = LoadGlobal(ViewGlobal({0}_ptr, shape=[{1}, {2}, {3}]), layout={4}, "
        "offset=[i, 0:, 0:])\n",
        name, blocks, rows, columns, layout);
  }
  return fmt::format(
      "    {0} = LoadGlobal(ViewGlobal({0}_ptr, dtype=u8, shape=[{1}, 32, {2}]), "
      "layout=spatial(32, 1).local(1, {2}), offset=[i, 0:, 0:])\n"
      "    {0} = View({0}, dtype={3}, layout={4})\n",
      name, blocks, bits / 8, to_string(type), layout);
}

std::string program_of(const DotCase& dot, std::int64_t blocks) {
  const auto [m, n, k] = std::tuple(dot.m, dot.n, dot.k);
  return fmt::format(
             "def f<{0}>({1}* a_ptr, {2}* b_ptr, {3}* c_ptr, {3}* d_ptr):\n"
             "    i = BlockIndices()\n",
             blocks, to_string(dot.a), to_string(dot.b), to_string(dot.c)) +
         load_lines(dot, 'a', dot.a, blocks, m, k, dot.a_layout) +
         load_lines(dot, 'b', dot.b, blocks, k, n, dot.b_layout) +
         load_lines(dot, 'c', dot.c, blocks, m, n, dot.c_layout) +
         fmt::format(
             "    StoreGlobal(Dot(a, b, c), ViewGlobal(d_ptr, shape=[{}, {}, {}]), "
             "offset=[i, 0:, 0:])\n",
             blocks, m, n);
}

/// The part of one block of a tensor.
void fill_block(HostTensor& tensor, std::int64_t block, const DType& type, Random& random,
                const sim::testing::Spread& spread) {
  const std::size_t bits = tensor.data.size() * 8 / static_cast<std::size_t>(tensor.shape[0]);
  const auto codes = random_codes(random, type, bits / type.bits, spread);
  isa::pack_bits(tensor.data.data(), static_cast<std::size_t>(block) * bits, type.bits, codes);
}

/// Each block has its own random numbers, so that the number of host threads does not matter.
void fill(const DotCase& dot, std::vector<HostTensor>& tensors, std::uint64_t seed) {
  const std::int64_t blocks = tensors[0].shape[0];
  const auto host_threads = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t workers = std::clamp<std::int64_t>(host_threads, 1, 16);
  std::vector<std::thread> threads;
  for (std::int64_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      for (std::int64_t block = blocks * w / workers; block < blocks * (w + 1) / workers; ++block) {
        Random random(seed * 1'000'003 + static_cast<std::uint64_t>(block));
        const auto spreads = sim::testing::random_spreads(random, dot.a, dot.b, dot.c);
        fill_block(tensors[0], block, dot.a, random, spreads.a);
        fill_block(tensors[1], block, dot.b, random, spreads.b);
        fill_block(tensors[2], block, dot.c, random, spreads.c);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A verified program with its tensors.
struct Job {
  isa::VerifiedProgram program;
  Entry entry;
  std::vector<HostTensor> tensors;

  /// The output.
  [[nodiscard]] HostTensor run(Engine& engine) const {
    auto all = tensors;
    RunReport report;
    const auto failure = engine.run(program, entry, all, report);
    const auto* error = failure ? std::get_if<Error>(&*failure) : nullptr;
    const std::string message = error != nullptr ? error->message : "a fault";
    REQUIRE_MESSAGE(!failure, message);
    return all[3];
  }
};

Job make_job(const DotCase& dot, std::int64_t blocks, std::uint64_t seed,
             const isa::Target& target) {
  const auto source = std::make_shared<const SourceFile>("dot.tile", program_of(dot, blocks));
  Loaded loaded = load(source, {}, target);
  REQUIRE(loaded.program);
  auto entry =
      resolve_entry(*loaded.program, "", {{"a_ptr=zeros", "b_ptr=zeros", "c_ptr=zeros"}, {}});
  REQUIRE(entry);
  auto tensors = make_tensors(*entry, {});
  REQUIRE(tensors);
  fill(dot, *tensors, seed);
  return {*loaded.program, *std::move(entry), *std::move(tensors)};
}

constexpr std::int64_t recorded_blocks = 64;

const std::string data_file = std::string(TILEVM_SOURCE_DIR) + "/tests/data/dot_sm_90.txt";

/// Hashes by the names of cases.
std::map<std::string, std::string> read_hashes() {
  std::map<std::string, std::string> hashes;
  std::ifstream file(data_file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, hash;
    if (words >> name >> hash && name[0] != '#') hashes[name] = hash;
  }
  return hashes;
}

/// Outputs in which two tensors differ; says what the first is.
std::size_t count_differences(const HostTensor& sim, const HostTensor& gpu) {
  if (sim.data == gpu.data) return 0;
  std::size_t differences = 0;
  for (std::size_t i = 0; i < sim.size(); ++i) {
    if (sim.code(i) == gpu.code(i)) continue;
    if (differences++ == 0) {
      MESSAGE(format_index(sim.shape, i)
              << fmt::format(": simulator {:x}, GPU {:x}", sim.code(i), gpu.code(i)));
    }
  }
  return differences;
}

}  // namespace

TEST_CASE("the simulator gives what an H200 gave for every class of Dot") {
  const auto engine = make_engine("sim", {});
  REQUIRE(engine);
  const auto hashes = read_hashes();
  CHECK(hashes.size() == make_cases().size());
  for (const DotCase& dot : make_cases()) {
    CAPTURE(dot.name);
    REQUIRE(hashes.contains(dot.name));
    const Job job = make_job(dot, recorded_blocks, 0, {90, true});
    CHECK(format_hash(content_hash(job.run(**engine))) == hashes.at(dot.name));
  }
}

TEST_CASE("a GPU gives what the simulator gives for every class of Dot") {
  const auto gpu = make_engine("cuda", {}), sim = make_engine("sim", {});
  if (!gpu) {
    std::cout << "SKIP: Dot on a GPU: " << gpu.error().message << '\n';
    return;
  }
  const isa::Target target = *(*gpu)->target();
  if (target.sm != 90) {
    std::cout << "SKIP: Dot on a GPU: its cases are those of sm_90\n";
    return;
  }
  const bool exhaustive = std::getenv("TILEVM_EXHAUSTIVE") != nullptr;
  const char* const record = std::getenv("TILEVM_DOT_RECORD");
  std::ofstream out;
  if (record != nullptr) {
    out.open(record);
    out << "# Hashes of what one " << (*gpu)->device() << "\n# gave for the operands of "
        << "tests/unit/vm/dot_recorded_test.cc.\n";
  }
  const char* const only = std::getenv("TILEVM_DOT_CASES");
  for (const DotCase& dot : make_cases()) {
    if (only != nullptr && dot.name.find(only) == std::string::npos) continue;
    CAPTURE(dot.name);
    std::size_t outputs = 0, differences = 0;
    const auto compare = [&](std::int64_t blocks, std::uint64_t seed) {
      const Job job = make_job(dot, blocks, seed, target);
      const HostTensor expected = job.run(**sim), seen = job.run(**gpu);
      outputs += seen.size();
      differences += count_differences(expected, seen);
      return format_hash(content_hash(seen));
    };
    const std::string hash = compare(recorded_blocks, 0);
    if (out) out << dot.name << ' ' << hash << std::endl;
    for (std::uint64_t seed = 1; exhaustive && outputs < 10'000'000; ++seed) compare(8192, seed);
    CHECK(differences == 0);
    std::cout << "Dot " << dot.name << ": " << outputs << " outputs, " << differences
              << " differences" << std::endl;
  }
}
