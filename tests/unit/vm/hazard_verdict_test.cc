// What a run says of hazards: clean only if everything was looked at.
#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"
#include "vm/run/hazard_verdict.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;
using Kind = HazardVerdict::Kind;

TEST_CASE("a run with all checks, whose blocks do not order themselves, is clean") {
  CHECK(hazard_verdict_of("sim", {}, RunReport(), std::nullopt).kind == Kind::clean);
  CHECK(to_json(hazard_verdict_of("sim", {}, RunReport(), std::nullopt)).text() ==
        R"({"is": "clean"})");
}

TEST_CASE("whatever was not looked at makes a verdict incomplete, and says so") {
  sim::Checks checks;
  checks.races = checks.in_flight = false;
  const HazardVerdict off = hazard_verdict_of("sim", checks, RunReport(), std::nullopt);
  CHECK(off.kind == Kind::incomplete);
  CHECK(off.reason == "without the checks `races`, `in_flight`");

  const HazardVerdict other = hazard_verdict_of("cuda", {}, RunReport(), std::nullopt);
  CHECK(other.kind == Kind::incomplete);
  CHECK(other.reason == "the engine cuda does not look for hazards; `--engine sim` does");

  RunReport report;
  report.orders = sim::OrdersRun::one;
  CHECK(hazard_verdict_of("sim", {}, report, std::nullopt).reason ==
        "blocks order themselves, and one order was run");

  const Failure limit = Error{ErrorKind::limit, "not enough memory"};
  const HazardVerdict ended = hazard_verdict_of("sim", {}, RunReport(), limit);
  CHECK(ended.kind == Kind::incomplete);
  CHECK(ended.reason == "not enough memory");
}

/// The object that `tilevm run --json` writes for a program of the repository.
std::string run_json(const std::string& file, std::vector<std::string> defines = {}) {
  RunOptions options;
  options.program.file = std::string(TILEVM_SOURCE_DIR) + "/" + file;
  options.program.defines = std::move(defines);
  options.json = true;
  Streams streams;
  run(options, streams.io);
  return streams.out.str();
}

TEST_CASE("a race has both places and what would order them") {
  const std::string object = run_json("tests/filetests/faults/race_read.tile");
  CHECK(contains(object, R"("verdict": {"is": "faulty"})"));
  CHECK(contains(object, R"("edge": "insert `Synchronize()` between the two, )"));
  CHECK(contains(object, R"("message": "`StoreShared` wrote them here")"));
  CHECK(contains(object, R"("witnesses": [{"message": "`LoadShared` races for 30 elements)"));
}

TEST_CASE("faults of proxies and barriers have both places and the missing edge") {
  const std::string fence = run_json("tests/filetests/faults/tensor_read_of_unfenced_store.tile");
  CHECK(contains(fence, R"("edge": "insert `FenceProxy()` after the store)"));
  CHECK(contains(fence, R"("witnesses": [{"message": "`CopyAsyncTensorGlobalToShared` may not)"));
}

TEST_CASE("blocks that order themselves leave orders that were not run") {
  CHECK(contains(run_json("programs/split_k_matmul.tile", {"M=16", "N=16", "K=64"}),
                 R"("verdict": {"is": "incomplete", "reason": "blocks order themselves)"));
  CHECK(contains(run_json("programs/vector_add.tile", {"N=100"}), R"("verdict": {"is": "clean"})"));
}

}  // namespace
