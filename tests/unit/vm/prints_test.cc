// Prints as text and as JSON, and their comparison.
#include "vm/run/prints.h"

#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

const std::string printing = R"(def k<2, 1>(f32* x_ptr, bool flag, u64 n):
    bi, bj = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[2, 3]), layout=local(2, 3))
    Print(x)
    if bi == 1:
        Print(n + 1,
              "a \"label\"\n")
        Print(flag)
        Print(Cast(
            x, f8e4m3))
)";

RunOptions print_options(bool json = false) {
  RunOptions options;
  options.program.file = "-";
  options.execution.data.inputs = {"x_ptr=iota", "flag=true", "n=18446744073709551614"};
  options.json = json;
  return options;
}

std::string shown(const std::string& text, bool json = false) {
  Streams streams(text);
  RunOptions options = print_options(json);
  const Exit status = run(options, streams.io);
  INFO(streams.err.str());
  CHECK(status == Exit::ok);
  return streams.out.str();
}

}  // namespace

TEST_CASE("prints are shown with their place, block, name and type") {
  CHECK(shown(printing) == R"(line 4, k block [0, 0]: x: f32[2, 3]
  0  1  2
  3  4  5
line 4, k block [1, 0]: x: f32[2, 3]
  0  1  2
  3  4  5
line 6, k block [1, 0], "a \"label\"\n": n + 1: u64 = 18446744073709551615
line 8, k block [1, 0]: flag: bool = true
line 9, k block [1, 0]: Cast( x, f8e4m3): f8e4m3[2, 3]
  0  1  2
  3  4  5
)");
}

TEST_CASE("prints are part of the JSON object") {
  const std::string out = shown(printing, true);
  CHECK(contains(out, R"("prints": [{"kernel": "k", "line": 4, "block": [0, 0], "name": "x", )"
                      R"("dtype": "f32", "shape": [2, 3], "shown": [2, 3], )"
                      R"("values": [0, 1, 2, 3, 4, 5]})"));
  CHECK(contains(out, R"("name": "n + 1", "label": "a \"label\"\n", "dtype": "u64", )"
                      R"("value": 18446744073709551615})"));
  CHECK(contains(out, R"("dtype": "bool", "value": true})"));
  CHECK(contains(out, R"("prints_cut": 0)"));
}

TEST_CASE(
    "large tiles are shown by their corners, with their indices where there are more than two "
    "dimensions") {
  const std::string out = shown(R"(def k<1>(f32* x_ptr, bool flag, u64 n):
    g = ViewGlobal(x_ptr, shape=[2, 20, 30])
    x = LoadGlobal(g, layout=spatial(2, 1, 1).local(1, 20, 30))
    Print(x)
    Print(View(x, dtype=f32, layout=spatial(2).local(600)))
    Print(LoadGlobal(g, layout=replicated(2).local(20), offset=[0, 0, 0:]))
)");
  CHECK(contains(out,
                 "x: f32[2, 20, 30]\n"
                 "  [0]:\n"
                 "       0     1     2     3  ...    26    27    28    29\n"));
  CHECK(contains(out,
                 "      90    91    92    93  ...   116   117   118   119\n"
                 "    ...\n"
                 "     480   481   482   483  ...   506   507   508   509\n"));
  CHECK(contains(out, "  [1]:\n     600"));
  CHECK(contains(out, ": f32[1200]\n     0     1     2     3  ...  1196  1197  1198  1199\n"));
  CHECK(contains(out,
                 "   0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15\n"
                 "  16  17  18  19\n"));
}

TEST_CASE("what was dropped is counted below the prints of its launch") {
  const std::string out = shown(R"(def k<1>(f32* x_ptr, bool flag, u64 n):
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[4]), layout=local(4))
    for i in range(16387):
        Print(i)
)");
  CHECK(contains(out, "i: i32 = 16383\n3 prints of k not shown: a block prints 256 KiB at most"));
}

TEST_CASE("prints are shown before the fault that follows them") {
  Streams streams(R"(def k<4>(f32* x_ptr, bool flag, u64 n):
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[4]), layout=local(4))
    b = BlockIndices()
    Print(b)
    Print(1 / (b - 2))
)");
  CHECK(run(print_options(), streams.io) == Exit::fault);
  CHECK(contains(streams.out.str(), "line 4, k block [2]: b: i32 = 2\n"));
  CHECK_FALSE(contains(streams.out.str(), "block [3]"));
  CHECK(contains(streams.err.str(), "TV0403"));
}

TEST_CASE("launches of a pipeline print in their order") {
  Streams streams(R"(def first<1>(i32* p):
    g = ViewGlobal(p, shape=[1])
    x = AllocateRegister(i32, layout=local(1), init=8)
    Print(x)
    StoreGlobal(Add(x, x), g)

def second<1>(i32* p):
    Print(LoadGlobal(ViewGlobal(p, shape=[1]), layout=local(1)), "then")

pipeline main() -> (t: i32[1]):
    first(t)
    second(t)
    first(t)
)");
  RunOptions options;
  options.program.file = "-";
  CHECK(run(options, streams.io) == Exit::ok);
  CHECK(streams.out.str().starts_with(
      "line 4, first block [0]: x: i32[1]\n  8\n"
      "line 8, second block [0], \"then\": LoadGlobal(ViewGlobal(p, shape=[1]), layout=local(1)): "
      "i32[1]\n  16\n"
      "line 4, first block [0]: x: i32[1]\n  8\n"));
}

TEST_CASE("diff compares prints too") {
  Streams streams(printing);
  DiffOptions options;
  options.program.file = "-";
  options.execution.data = print_options().execution.data;
  options.backends = "sim,sim";
  CHECK(diff(options, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), "prints: exact (5)\n"));
}

TEST_CASE("the first print that differs is named") {
  const auto source = std::make_shared<const SourceFile>("t.tile", R"(def k<4>():
    b = BlockIndices()
    Print(b)
    Print(AllocateRegister(f32, layout=spatial(4), init=b))
)");
  const Loaded loaded = load(source, {}, {});
  REQUIRE(loaded.program);
  const auto engine = make_engine("sim", {});
  REQUIRE(engine);
  RunReport report;
  std::vector<HostTensor> tensors;
  const auto entry = resolve_entry(*loaded.program, "", {});
  REQUIRE(entry);
  CHECK_FALSE((*engine)->run(*loaded.program, *entry, tensors, report));
  Prints other = report.prints;
  CHECK_FALSE(compare_prints(*loaded.program, report.prints, other));
  CHECK(count_prints(*loaded.program, other) == 8);

  other[0].blocks[1].records[16 + 8 + 7] ^= 0x40;
  auto difference = compare_prints(*loaded.program, report.prints, other);
  REQUIRE(difference);
  CHECK(contains(difference->a, "line 4, k block [1]: "));
  CHECK(contains(difference->a, "f32[4]\n  1  1  1  1\n"));
  CHECK_FALSE(contains(difference->b, "  1  1  1  1\n"));

  other = report.prints;
  other[0].blocks.pop_back();
  difference = compare_prints(*loaded.program, report.prints, other);
  REQUIRE(difference);
  CHECK(contains(difference->a, "block [3]: b: i32 = 3"));
  CHECK(difference->b == "nothing\n");

  other = report.prints;
  other[0].dropped = 5;
  difference = compare_prints(*loaded.program, report.prints, other);
  REQUIRE(difference);
  CHECK(difference->a.empty());
  CHECK(contains(difference->b, "5 prints of k not shown"));
}
