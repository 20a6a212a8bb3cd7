#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"
#include "vm/data/npy.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

RunOptions options_for(const std::string& file) {
  RunOptions options;
  options.program.file = file;
  options.execution.threads = 1;
  return options;
}

}  // namespace

TEST_CASE("run shows shape, hash and corner of an output") {
  Streams streams(shift_program);
  RunOptions options = options_for("-");
  options.execution.data.inputs = {"a_ptr=iota"};
  CHECK(run(options, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), "c_ptr: f32[6], hash "));
  CHECK(contains(streams.out.str(), "from 0 to 10"));
  CHECK(contains(streams.out.str(), "0   2   4   6   8  10"));
  CHECK(streams.err.str().empty());
}

TEST_CASE("run writes .npy files") {
  const ScratchFolder folder;
  Streams streams(shift_program);
  RunOptions options = options_for("-");
  options.execution.data = {{"a_ptr=full:1.5"}, {"c_ptr=" + folder / "c.npy"}};
  CHECK(run(options, streams.io) == Exit::ok);
  const Result<HostArray> c = read_npy(folder / "c.npy");
  REQUIRE(c);
  CHECK(c->shape == isa::Shape{6});
  CHECK(c->code(5) == 0x40400000);  // 3.0
}

TEST_CASE("run --json prints one object with the outputs") {
  Streams streams(shift_program);
  RunOptions options = options_for("-");
  options.json = true;
  options.stats = true;
  options.execution.data.inputs = {"a_ptr=iota"};
  CHECK(run(options, streams.io) == Exit::ok);
  const std::string out = streams.out.str();
  CHECK(out.starts_with(R"({"schema": 1, "command": "run")"));
  CHECK(contains(out, R"("outputs": [{"name": "c_ptr", "dtype": "f32", "shape": [6], "hash": ")"));
  CHECK(contains(out, R"("min": 0, "max": 10)"));
  CHECK(contains(out, R"("diagnostics": [], "status": 0})"));
  CHECK(streams.err.str().empty());
}

TEST_CASE("errors are one JSON object too") {
  Streams streams("def f<1>(i32* p):\n    g = ViewGlobal(q, shape=[1])\n");
  RunOptions options = options_for("-");
  options.json = true;
  CHECK(run(options, streams.io) == Exit::fault);
  CHECK(contains(streams.out.str(), R"("code": "TV0101")"));
  CHECK(contains(streams.out.str(), R"("line": 2, "column": 20)"));
  CHECK(contains(streams.out.str(), R"("status": 1})"));
  Streams missing;
  options.program.file = "no/such/file.tile";
  CHECK(run(options, missing.io) == Exit::usage);
  CHECK(contains(missing.out.str(), R"("error": "cannot open `no/such/file.tile`)"));
}

TEST_CASE("a fault of the run is shown with its place, and exits with 1") {
  Streams streams(
      "def f<1>(i32* p):\n    g = ViewGlobal(p, shape=[9])\n"
      "    StoreGlobal(AllocateRegister(i32, layout=local(9), init=1), g)\n");
  RunOptions options = options_for("-");
  options.execution.data.outputs = {"p=i32[4]=unused.npy"};
  CHECK(run(options, streams.io) == Exit::fault);
  CHECK(contains(streams.err.str(), "<stdin>:3:"));
  CHECK(contains(streams.err.str(), "TV0401"));
}

TEST_CASE("the checks of the simulator can be chosen") {
  const std::string racing =
      "def f<1>(i32* x_ptr):\n"
      "    g = ViewGlobal(x_ptr, shape=[4, 8])\n"
      "    s = AllocateShared(i32, shape=[4, 8])\n"
      "    StoreShared(LoadGlobal(g, layout=spatial(4, 8)), s)\n"
      "    StoreGlobal(LoadShared(s, layout=column_spatial(4, 8)), g)\n";
  for (const auto& [checks, status] :
       std::vector<std::pair<std::string, Exit>>{{"all", Exit::fault},
                                                 {"races", Exit::fault},
                                                 {"bounds,races", Exit::fault},
                                                 {"in_flight", Exit::ok},
                                                 {"bounds", Exit::ok},
                                                 {"none", Exit::ok}}) {
    Streams streams(racing);
    RunOptions options = options_for("-");
    options.checks = checks;
    CHECK_MESSAGE(run(options, streams.io) == status, checks);
  }
}

TEST_CASE("what can be mistyped is a usage error that says what there is") {
  Streams streams(shift_program);
  RunOptions options = options_for("-");
  options.backend = "simm";
  CHECK(run(options, streams.io) == Exit::usage);
  CHECK(contains(streams.err.str(), "unknown engine `simm`; did you mean `sim`?"));
  options.backend = "emu";
  options.thread_order = "upward";
  CHECK(run(options, streams.io) == Exit::usage);
  CHECK(contains(streams.err.str(), "unknown thread order `upward`"));
  options.thread_order = "ascending";
  options.backend = "sim";
  options.checks = "bonds";
  CHECK(run(options, streams.io) == Exit::usage);
  CHECK(contains(streams.err.str(), "did you mean `bounds`?"));
  options.checks = "bounds";
  options.program.target = "sm_91";
  CHECK(run(options, streams.io) == Exit::usage);
  options.program.target.clear();
  options.program.defines = {"N"};
  CHECK(run(options, streams.io) == Exit::usage);
  CHECK(contains(streams.err.str(), "-D NAME=VALUE"));
}

TEST_CASE("a define that the program does not have is an error of the command line") {
  Streams streams(shift_program);
  RunOptions options = options_for("-");
  options.program.defines = {"NN=3"};
  CHECK(run(options, streams.io) == Exit::usage);
  CHECK(contains(streams.err.str(), "TV0116"));
}
