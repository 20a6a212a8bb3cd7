// Counters as people and programs read them.
#include "vm/run/stats.h"

#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

RunOptions counting(const std::string& file) {
  RunOptions options;
  options.program.file = file;
  options.stats = true;
  options.execution.threads = 2;
  return options;
}

/// Half of what lies in a sector is of no use; in shared memory two banks hold everything.
const std::string program = R"(def f<3>(f32* a_ptr, i6* c_ptr):
    t = BlockIndices()
    ga = ViewGlobal(a_ptr, shape=[64, 2])
    gc = ViewGlobal(c_ptr, shape=[192])
    s = AllocateShared(f32, shape=[64], layout=strides(16))
    a = LoadGlobal(ga, layout=local(2).spatial(32), offset=[0:, 0])
    StoreShared(a, s)
    Synchronize()
    b = LoadShared(s, layout=local(2).spatial(32))
    StoreGlobal(Cast(b, i6), gc, offset=[t * 64:])
)";

}  // namespace

TEST_CASE("the table tells what each line costs and where the most is wasted") {
  Streams streams(program);
  CHECK(run(counting("-"), streams.io) == Exit::ok);
  const std::string text = streams.err.str();
  CHECK(contains(text, "f: 3 blocks of 32 threads in 1 launch\n"));
  // 2 requests of 8 sectors a block, where 4 would do.
  CHECK(contains(text,
                 "  LoadGlobal      6:5         3    768         6       48         8.00     24  "
                 "50 %        0\n"));
  CHECK(contains(text,
                 "most wasted in global memory: LoadGlobal at 6:5 takes 2.00 times the "
                 "sectors it needs"));
  CHECK(contains(text,
                 "most wasted in shared memory: StoreShared at 7:5 takes 16.00 times the "
                 "wavefronts it needs"));
  CHECK(contains(text, "  executed by blocks: "));
  CHECK(contains(text, "atomics"));
  CHECK_FALSE(contains(text, " \n"));
}

TEST_CASE("instructions of the special function unit have a table, and a sum in JSON") {
  const std::string text_of_program =
      "def f<1>(f32* y_ptr):\n    x = Cast(Iota(i32, layout=spatial(64).local(2), dim=0), f32)\n"
      "    StoreGlobal(Ex2Approx(x), ViewGlobal(y_ptr, shape=[128]))\n";
  Streams streams(text_of_program);
  CHECK(run(counting("-"), streams.io) == Exit::ok);
  CHECK(contains(streams.err.str(), "  Ex2Approx              3:17         1             4\n"));
}

TEST_CASE("a table without atomic stores has no column for them") {
  Streams streams(shift_program);
  CHECK(run(counting("-"), streams.io) == Exit::ok);
  CHECK(contains(streams.err.str(), "LoadGlobal"));
  CHECK_FALSE(contains(streams.err.str(), "atomics"));
  CHECK_FALSE(contains(streams.err.str(), "shared memory"));
  CHECK_FALSE(contains(streams.err.str(), "tensor cores"));
}

TEST_CASE("the same numbers stand in JSON") {
  Streams streams(program);
  RunOptions options = counting("-");
  options.json = true;
  CHECK(run(options, streams.io) == Exit::ok);
  const std::string text = streams.out.str();
  CHECK(contains(text, R"("kernels": [{"kernel": "f", "launches": 1, "blocks": 3, "threads": 32)"));
  CHECK(contains(text, R"("global_load": {"requests": 6, "bytes": 768, "sectors": 48, )"
                       R"("ideal_sectors": 24, "atomics": 0})"));
  CHECK(contains(text, R"("shared_load": {"requests": 6, "bytes": 768, "wavefronts": 96, )"
                       R"("ideal_wavefronts": 6, "bank_conflicts": 90, "atomics": 0})"));
  CHECK(contains(text, R"({"line": 6, "column": 5, "instruction": "LoadGlobal", "executions": 3)"));
  CHECK(contains(text, R"("LoadShared": 3)"));
  CHECK(streams.err.str().empty());
}

TEST_CASE("launches of one kernel are added, tensor-core instructions are named") {
  const std::string folder = std::string(TILEVM_SOURCE_DIR) + "/programs/";
  Streams streams;
  RunOptions options = counting(folder + "matmul_f16_i6.tile");
  options.program.defines = {"M=32", "N=16", "K=48"};
  options.json = true;
  CHECK(run(options, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), R"("tensor_cores": {"m16n8k16 f32.f16.f16.f32": 12})"));
  std::vector<KernelStats> kernels;
  sim::Counters counters;
  counters.blocks = 2;
  add_launch(kernels, 1, counters);
  add_launch(kernels, 0, counters);
  add_launch(kernels, 1, counters);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].kernel == 1);
  CHECK(kernels[0].launches == 2);
  CHECK(kernels[0].counters.blocks == 4);
}
