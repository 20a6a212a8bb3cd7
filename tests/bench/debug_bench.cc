// What the debugger costs: snapshots, entering a moment, answers. docs/results/benchmarks.md has
// results.
//
//   build/tests/debug_bench            from the root of the repository
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/debug/session.h"
#include "vm/debug/debugger.h"
#include "vm/debug/open.h"
#include "vm/debug/target.h"
#include "vm/debug/words.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;
using Clock = std::chrono::steady_clock;
namespace command = sim::debug::command;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::unique_ptr<sim::debug::Session> open(const std::string& path, bool snapshots) {
  TargetRequest request;
  request.path = path;
  Result<FoundTarget> found = find_target(request);
  if (!found || !found->target) {
    std::fprintf(stderr, "cannot load %s\n", path.c_str());
    std::exit(1);
  }
  DebugOptions options;
  options.timeline.snapshots = snapshots;
  auto session = open_session(found->target->program, found->target->entry,
                              std::move(found->target->tensors), options);
  return *std::move(session);
}

/// Milliseconds of a whole run; the least of three.
double run(const std::string& path, bool snapshots) {
  double best = 1e300;
  for (int i = 0; i < 3; ++i) {
    const auto session = open(path, snapshots);
    const Clock::time_point start = Clock::now();
    session->execute(command::Continue{});
    best = std::min(best, since(start));
  }
  return best;
}

/// Answers are timed in the middle of the run, before an instruction.
void measure(const char* name, const std::string& path, const std::string& stop,
             const std::vector<std::string>& lines) {
  std::printf("%s\n", name);
  const double without = run(path, false), with = run(path, true);
  std::printf("  whole run: %.0f ms without snapshots, %.0f ms with (%+.1f %%)\n", without, with,
              (with / without - 1) * 100);
  const auto session = open(path, true);
  session->execute(command::Continue{});
  const sim::debug::Moment last = session->timeline().now();
  const sim::debug::SnapshotUse use = session->timeline().use();
  std::printf("  %llu moments, %zu snapshots, %.0f MiB\n", static_cast<unsigned long long>(last),
              use.count, static_cast<double>(use.bytes) / (1 << 20));
  std::mt19937_64 random(1);
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const Clock::time_point start = Clock::now();
    session->execute(command::GoTo{random() % last});
    times.push_back(since(start));
  }
  std::sort(times.begin(), times.end());
  std::printf("  to a random moment: median %.2f ms, most %.2f ms\n", times[100], times.back());
  session->execute(command::GoTo{last / 2});
  session->execute(command::Break{{}, stop, nullptr, 20, false});
  session->execute(command::Continue{});
  session->execute(command::Delete{});
  for (const std::string& line : lines) {
    const auto input = parse_line(line);
    const auto* request = input ? std::get_if<sim::debug::Command>(&input->request) : nullptr;
    if (request == nullptr) continue;
    times.clear();
    for (int i = 0; i < 11; ++i) {
      const Clock::time_point start = Clock::now();
      const sim::debug::Reply reply = session->execute(*request);
      times.push_back(since(start));
      if (const auto* error = std::get_if<Error>(&reply)) {
        std::printf("  %s: %s\n", line.c_str(), error->message.c_str());
      }
    }
    std::sort(times.begin(), times.end());
    std::printf("  %-34s median %.3f ms, most %.3f ms\n", line.c_str(), times[5], times.back());
  }
}

/// One block that runs more than a million instructions.
constexpr const char* long_program = R"(const STEPS = 250000
def walk<1>(f32* x_ptr, f32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[64, 32])
    gy = ViewGlobal(y_ptr, shape=[64, 32])
    acc = AllocateRegister(f32, layout=spatial(1, 32), init=0.0)
    for i in range(STEPS):
        x = LoadGlobal(gx, layout=spatial(1, 32), offset=[i % 64:, 0:])
        acc = Add(acc, x)
        StoreGlobal(acc, gy, offset=[i % 64:, 0:])
)";

}  // namespace

int main() {
  measure("Figure 2, 1024 x 1024 x 1024", "programs/figure2.tile", "Dot",
          {"step", "back", "print acc", "print a[0:4, 0:4]", "bits b1@5", "print c_ptr",
           "why acc[3, 5] levels 10", "why/a a[3, 5]", "who wrote acc[0, 0]", "info blocks",
           "trace 10", "when did acc[3, 5] last change"});
  const std::string path =
      (std::filesystem::temp_directory_path() / "tilevm_debug_bench.tile").string();
  std::ofstream(path) << long_program;
  measure("one block of a million instructions", path, "StoreGlobal",
          {"step", "back", "print acc", "why acc[0, 5] levels 10", "why y_ptr[3, 5] levels 10",
           "trace 10"});
  std::remove(path.c_str());
}
