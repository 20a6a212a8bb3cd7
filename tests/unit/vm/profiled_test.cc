// What NVIDIA's profiler counted on real GPUs (tests/profile_on_gpu.sh), against the simulator's
// counters.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "vm/cli/cmd_support.h"
#include "vm/run/stats.h"
#include "vm/text/file.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

/// One line of a record: a kernel's counters, in the order of tests/profile_on_gpu.sh. `pending`:
/// the emitted accesses have changed since the record was made, so that it must be made again.
struct ProfiledKernel {
  bool pending = false;
  std::string name;
  std::vector<std::uint64_t> counters;
};

struct ProfiledRun {
  ProgramOptions program;
  std::vector<ProfiledKernel> kernels;
};

/// "run FILE -D A=1 -D B=2".
ProgramOptions parse_arguments(std::istream& words) {
  ProgramOptions options;
  words >> options.file;
  options.file = std::string(TILEVM_SOURCE_DIR) + "/" + options.file;
  for (std::string word; words >> word;) {
    REQUIRE(word == "-D");
    options.defines.emplace_back();
    REQUIRE(static_cast<bool>(words >> options.defines.back()));
  }
  return options;
}

std::vector<ProfiledRun> read_record(const std::string& path) {
  std::vector<ProfiledRun> runs;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "#") continue;
    if (first == "run") {
      runs.push_back({parse_arguments(words), {}});
      continue;
    }
    REQUIRE_FALSE(runs.empty());
    ProfiledKernel kernel{first == "pending", first, {}};
    if (kernel.pending) words >> kernel.name;
    for (std::uint64_t counter = 0; words >> counter;) kernel.counters.push_back(counter);
    REQUIRE(kernel.counters.size() == 9);
    // HFMA2.MMA, which compilers use to move a constant, is executed by the tensor pipe, too.
    kernel.counters[7] -= kernel.counters[8];
    kernel.counters.pop_back();
    runs.back().kernels.push_back(std::move(kernel));
  }
  return runs;
}

/// The simulator's numbers in the same order.
std::vector<std::uint64_t> counters_of(const KernelStats& stats) {
  const sim::AccessCounts total = total_accesses(stats.counters);
  const auto of = [&](sim::Traffic traffic) { return total[static_cast<std::size_t>(traffic)]; };
  const auto conflicts = [&](sim::Traffic traffic) {
    return of(traffic).transfers - of(traffic).ideal;
  };
  std::uint64_t mma = 0;
  for (const auto& statement : stats.counters.statements) mma += statement.mma_instructions;
  const sim::AccessCount load = of(sim::Traffic::global_load), copy = of(sim::Traffic::global_copy);
  return {load.requests + copy.requests,
          load.lookups + copy.lookups,
          copy.transfers,
          of(sim::Traffic::global_store).requests,
          of(sim::Traffic::global_store).transfers,
          conflicts(sim::Traffic::shared_load),
          conflicts(sim::Traffic::shared_store),
          mma};
}

std::vector<KernelStats> simulate(const ProgramOptions& options) {
  std::istringstream no_input;
  const auto source = read_source(options.file, no_input);
  REQUIRE(source);
  const auto loaded = load_source(*source, options, std::string(default_target));
  REQUIRE(loaded);
  REQUIRE(loaded->program);
  const auto entry = resolve_entry(*loaded->program, "", {});
  REQUIRE(entry);
  auto tensors = make_tensors(*entry, {});
  REQUIRE(tensors);
  EngineOptions settings;
  settings.count_accesses = true;
  const auto engine = make_engine("sim", settings);
  REQUIRE(engine);
  RunReport report;
  REQUIRE_FALSE((*engine)->run(*loaded->program, *entry, *tensors, report));
  return report.kernels;
}

}  // namespace

TEST_CASE("the simulator counts what the profiler of a GPU counts") {
  const auto runs = read_record(std::string(TILEVM_SOURCE_DIR) + "/tests/data/profiled.txt");
  std::size_t count = 0, pending = 0;
  for (const ProfiledRun& run : runs) {
    CAPTURE(run.program.file);
    const auto kernels = simulate(run.program);
    REQUIRE(kernels.size() == run.kernels.size());
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      CAPTURE(run.kernels[k].name);
      if (run.kernels[k].pending) {
        CHECK(counters_of(kernels[k]) != run.kernels[k].counters);  // else the mark must go
        ++pending;
      } else {
        CHECK(counters_of(kernels[k]) == run.kernels[k].counters);
        ++count;
      }
    }
  }
  CHECK(runs.size() >= 5);
  CHECK(count > pending);
  std::cout << "profiled kernels compared: " << count << ", to be recorded again: " << pending
            << '\n';
}
