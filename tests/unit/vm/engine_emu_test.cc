// The engine emu as a user meets it: messages with places, and options that change no result.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/unit/vm/commands_support.h"
#include "vm/cli/commands.h"

namespace tilevm::vm {
namespace {

RunOptions emulated(const std::string& file) {
  RunOptions options;
  options.program.file = file;
  options.backend = "emu";
  return options;
}

const std::string divide_text = R"(def divide<1>(i32* x_ptr, i32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[32])
    gy = ViewGlobal(y_ptr, shape=[32])
    x = LoadGlobal(gx, layout=spatial(32))
    StoreGlobal(Div(x, x), gy)
)";

}  // namespace

TEST_CASE("emu: a fault has the statement, the thread and the way to know more") {
  Streams streams(divide_text);
  RunOptions options = emulated("-");
  options.execution.data.inputs = {"x_ptr=zeros"};
  CHECK(run(options, streams.io) == Exit::fault);
  CHECK(contains(streams.err.str(), ":5:5: error: the kernel stopped: a division by zero"));
  CHECK(contains(streams.err.str(), "[TV0410]"));
  CHECK(contains(streams.err.str(), "thread 0 of block (0, 0, 0) of the emulated GPU"));
}

TEST_CASE("emu: a failed assertion is reported as in the simulator, wherever the element is") {
  // Elements of a thread are in words of 32; each place is tried where the next word begins.
  const std::string text = R"(
def check<2>(i32* at_ptr, i32* y_ptr):
    b = BlockIndices()
    at = LoadGlobal(ViewGlobal(at_ptr, shape=[2]), layout=replicated(32), offset=[b])
    i = Iota(i32, layout=spatial(32).local(70))
    different = Ne(i, at)
    Assert(different, "no element is there")
    StoreGlobal(i, ViewGlobal(y_ptr, shape=[2240]))
)";
  for (const int at : {0, 31, 32, 69, 70, 1100, 2239}) {
    CAPTURE(at);
    for (const char* backend : {"emu", "sim"}) {
      Streams streams(text);
      RunOptions options = emulated("-");
      options.backend = backend;
      options.execution.threads =
          1;  // the emulated GPU runs blocks at once; either may be the first
      options.execution.data.inputs = {fmt::format("at_ptr=full:{}", at)};
      CHECK(run(options, streams.io) == Exit::fault);
      CHECK(contains(streams.err.str(), ":7:12: error: assertion failed: no element is there"));
      CHECK(contains(streams.err.str(), fmt::format("element [{}] of `different` is 0", at)));
      CHECK(contains(streams.err.str(), "in block [0]"));
    }
  }
}

TEST_CASE("emu: orders of threads and blocks and the time of copies change no result") {
  const std::string file = std::string(TILEVM_SOURCE_DIR) + "/programs/matmul_f16_pipelined.tile";
  const auto hash_of = [&](RunOptions options) {
    options.program.defines = {"M=64", "N=64", "K=128"};
    Streams streams;
    REQUIRE(run(options, streams.io) == Exit::ok);
    return streams.out.str();
  };
  RunOptions simulated = emulated(file);
  simulated.backend = "sim";
  const std::string wanted = hash_of(simulated);
  for (const char* order : {"ascending", "descending", "random:5"}) {
    for (const char* time : {"latest", "earliest", "random:5"}) {
      RunOptions options = emulated(file);
      options.thread_order = options.block_order = order;
      options.completion = time;
      CHECK(hash_of(options) == wanted);
    }
  }
}

TEST_CASE("emu: shadow values are the simulator's alone") {
  Streams streams(shift_program);
  RunOptions options = emulated("-");
  options.shadow = true;
  CHECK(run(options, streams.io) == Exit::usage);
  CHECK(contains(streams.err.str(), "`--shadow` needs the simulator"));
}

}  // namespace tilevm::vm
