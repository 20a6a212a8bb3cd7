// The line that says how far a run is.
#include "vm/cli/run_progress.h"

#include <doctest/doctest.h>

#include <sstream>

namespace isa = tilevm::isa;
namespace sim = tilevm::sim;
using namespace tilevm::vm;

TEST_CASE("a line says how many blocks have ended, how fast, and how long it takes") {
  CHECK(progress_text("matmul", 1234, 10000, 2.0) ==
        "matmul: 1,234 of 10,000 blocks, 617 a second, 14 s left");
  CHECK(progress_text("f", 1, 4, 10.0) == "f: 1 of 4 blocks, 0.1 a second, 30 s left");
  CHECK(progress_text("f", 10, 1000000, 10.0) ==
        "f: 10 of 1,000,000 blocks, 1 a second, 277.8 h left");
  CHECK(progress_text("f", 0, 1, 100.0) == "f: 0 of 1 blocks, running for 2 min");
  // The progress of a launch that has just been seen has no rate.
  CHECK(progress_text("f", 5, 10, 1e-7) == "f: 5 of 10 blocks, running for 0 s");
}

TEST_CASE("blocks that ended before the first look are not a rate of their own") {
  isa::Program program;
  program.kernels.emplace_back().name = "f";
  sim::Progress progress;
  progress.begin(0, 1'000'000'000);
  progress.blocks = 1000;
  std::ostringstream shown;
  {
    const RunProgress line(shown, program, progress, true,
                           {std::chrono::milliseconds(300), std::chrono::milliseconds(1000)});
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  // 1000 blocks in 0.3 s and more, so at most 3334 a second: no group of thousands before it.
  CHECK(shown.str().starts_with("\rf: 1,000 of 1,000,000,000 blocks, "));
  CHECK(shown.str().find(",000 a second") == std::string::npos);
  CHECK(shown.str().find(" a second") != std::string::npos);
}

TEST_CASE("a terminal shows the line and is left without it; anything else shows nothing") {
  isa::Program program;
  program.kernels.emplace_back().name = "f";
  sim::Progress progress;
  progress.begin(0, 8);
  progress.blocks = 2;
  std::ostringstream silent;
  {
    const RunProgress line(silent, program, progress, false, {});
  }
  CHECK(silent.str().empty());
  std::ostringstream shown;
  {
    const RunProgress line(shown, program, progress, true,
                           {std::chrono::milliseconds(0), std::chrono::milliseconds(1)});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(shown.str().starts_with("\rf: 2 of 8 blocks, "));
  CHECK(shown.str().ends_with(" \r"));
}
