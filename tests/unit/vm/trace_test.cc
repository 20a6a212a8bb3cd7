#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"
#include "vm/data/hash.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

constexpr const char* looping =
    "def f<2>(i32* x_ptr, i32* y_ptr):\n"
    "    b = BlockIndices()\n"
    "    gx = ViewGlobal(x_ptr, shape=[2, 4])\n"
    "    sum = AllocateRegister(i32, layout=spatial(4).replicated(2))\n"
    "    sum = AllocateRegister(i32, layout=spatial(4).replicated(2), init=0)\n"
    "    for i in range(2):\n"
    "        n = b * 10 + i\n"
    "        t = LoadGlobal(gx, layout=spatial(4).replicated(2), offset=[i, 0:])\n"
    "        sum = Add(sum, t)\n"
    "    StoreGlobal(sum, ViewGlobal(y_ptr, shape=[2, 4]), offset=[b, 0:])\n";

TraceOptions trace_options(const std::string& block) {
  TraceOptions options;
  options.program.file = "-";
  options.execution.data.inputs = {"x_ptr=iota"};
  options.block = block;
  return options;
}

std::string hash_of(const std::vector<std::int32_t>& values) {
  HostTensor tensor{isa::i32, {static_cast<std::int64_t>(values.size())}, {}};
  tensor.data.resize(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.set_code(i, static_cast<std::uint32_t>(values[i]));
  }
  return format_hash(content_hash(tensor));
}

}  // namespace

TEST_CASE("a trace tells what each statement of a block gave, in the order in which they ran") {
  Streams streams(looping);
  CHECK(trace(trace_options("1"), streams.io) == Exit::ok);
  const std::string out = streams.out.str();
  INFO(out);
  CHECK(out.starts_with("f\n     1  line 2    BlockIndices -> b = 1\n"));
  CHECK(contains(out, "line 4    AllocateRegister -> sum: i32[4], hash " + hash_of({0, 0, 0, 0}) +
                          ", 4 undefined\n"));
  CHECK(contains(out, "line 6    i = 0\n"));
  CHECK(contains(out, "line 7    n = 11\n"));
  CHECK(contains(out, "line 8    LoadGlobal -> t: i32[4], hash " + hash_of({4, 5, 6, 7}) + "\n"));
  CHECK(contains(out, "line 9    Add -> sum: i32[4], hash " + hash_of({4, 6, 8, 10}) + "\n"));
  CHECK(contains(out, "line 10   StoreGlobal\n"));
  CHECK(!contains(out, "b = 0"));
}

TEST_CASE("a trace is cut at its limit, and is one JSON object if asked for") {
  Streams streams(looping);
  TraceOptions options = trace_options("0");
  options.limit = 3;
  CHECK(trace(options, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), "... only 3 statements are shown; --limit shows more\n"));
  Streams json(looping);
  options.json = true;
  CHECK(trace(options, json.io) == Exit::ok);
  CHECK(contains(json.out.str(), R"("cut": true)"));
  CHECK(contains(json.out.str(), R"("mnemonic": "BlockIndices", "scalars": {"b": "0"})"));
}

TEST_CASE("a trace of a block that does not exist, or of a run that faults, says so") {
  Streams streams(looping);
  CHECK(trace(trace_options("7"), streams.io) == Exit::usage);
  CHECK(contains(streams.err.str(), "no launch has a block 7, 0, 0; the grid is"));
  for (const char* block : {"", "x", "1,", "1,2,3,4", "-1"}) {
    Streams wrong(looping);
    CHECK(trace(trace_options(block), wrong.io) == Exit::usage);
    CHECK(contains(wrong.err.str(), "X,Y or X,Y,Z"));
  }
  Streams faulty(
      "def f<1>(i32* p):\n    x = BlockIndices()\n    y = 3 / x\n"
      "    StoreGlobal(AllocateRegister(i32, layout=local(1), init=y), ViewGlobal(p, "
      "shape=[1]))\n");
  TraceOptions options = trace_options("0");
  options.execution.data.inputs.clear();
  CHECK(trace(options, faulty.io) == Exit::fault);
  CHECK(contains(faulty.out.str(), "line 2"));
  CHECK(contains(faulty.err.str(), "TV0403"));
}
