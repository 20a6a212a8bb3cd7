// The first different statement is found where one engine is the simulator and the other runs
// another text: the same statements with one other constant.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "isa/type/number.h"
#include "tests/unit/vm/commands_support.h"
#include "vm/diff/bisect_render.h"
#include "vm/run/make_engine.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

/// Runs another program than it is given.
class OtherProgram final : public Engine {
 public:
  explicit OtherProgram(isa::VerifiedProgram other)
      : other_(std::move(other)), simulator_(*make_engine("sim", {.threads = 1})) {}
  [[nodiscard]] std::string_view name() const override { return "other"; }
  [[nodiscard]] std::string device() const override { return "a test"; }
  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram&, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    return simulator_->run(other_, entry, tensors, report);
  }
  [[nodiscard]] std::optional<Failure> run_probed(const isa::VerifiedProgram&, const Entry& entry,
                                                  std::vector<HostTensor>& tensors,
                                                  ProbeRun& probes) override {
    return simulator_->run_probed(other_, entry, tensors, probes);
  }

 private:
  isa::VerifiedProgram other_;
  std::unique_ptr<Engine> simulator_;
};

isa::VerifiedProgram verified(const std::string& text) {
  const auto source = std::make_shared<const SourceFile>("p.tile", text);
  const Loaded loaded = load(source, {}, *isa::parse_target("sm_90a"));
  REQUIRE(loaded.program);
  return *loaded.program;
}

/// The text with one value for every `@`.
std::string with_value(std::string text, const std::string& value) {
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
    text.replace(at, 1, value);
  }
  return text;
}

struct Found {
  DiffCase what;
  SeedRun run;
  BisectResult result;
  std::string text;
};

/// Bisects a text with two values for `@`.
Found bisect_values(const std::string& text, const std::string& right, const std::string& wrong,
                    const BisectOptions& options = {.threads = 1}) {
  const isa::VerifiedProgram program = verified(with_value(text, right));
  const DiffCase what{program, *resolve_entry(program, "", {})};
  Engines engines;
  engines.push_back(*make_engine("sim", {.threads = 1}));
  engines.push_back(std::make_unique<OtherProgram>(verified(with_value(text, wrong))));
  Result<SeedRun> run = run_seed(what, engines, {});
  REQUIRE(run);
  REQUIRE_FALSE(run->verdict.exact());
  Result<BisectResult> result = bisect(what, engines, 0, 1, run->inputs, options);
  REQUIRE(result);
  std::string rendered = render_bisect(what, run->verdict, *result);
  return {what, *std::move(run), *std::move(result), std::move(rendered)};
}

int line_of(const Found& found) {
  REQUIRE(found.result.found);
  const isa::Kernel& kernel = found.what.program.kernel(found.result.found->kernel);
  int line = 0;
  isa::for_each_statement(kernel.body, [&](const isa::Stmt& stmt) {
    if (stmt.id() != found.result.found->statement) return;
    line = found.what.program.source().locate(stmt.span.begin).line;
  });
  return line;
}

constexpr const char* tiles = R"(def tiles<3>(f32* x_ptr, f32* y_ptr):
    b = BlockIndices()
    gx = ViewGlobal(x_ptr, shape=[3, 64])
    gy = ViewGlobal(y_ptr, shape=[3, 64])
    s = AllocateShared(f32, shape=[2, 64])
    sum = AllocateRegister(f32, layout=spatial(32).local(2), init=0)
    for i in range(4):
        x = LoadGlobal(gx, layout=spatial(32).local(2), offset=[b, 0:])
        y = Add(x, AllocateRegister(f32, layout=spatial(32).local(2), init=i))
        Add(sum, y, out=sum)
    StoreShared(sum, s, offset=[1, 0:])
    Synchronize()
    z = LoadShared(s, layout=local(2).spatial(32), offset=[1, 0:])
    StoreGlobal(z, gy, offset=[b, 0:])
)";

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), by);
}

}  // namespace

TEST_CASE("a tile's first other value is found with its thread, register and iteration") {
  const std::string text = replaced(tiles, "init=i)", "init=[i, i + (i / 2) * @])");
  const Found found = bisect_values(text, "0", "b");
  CHECK(line_of(found) == 9);
  // Block 0 adds 0 in both; block 1 differs from the third iteration on, in every second element.
  CHECK(found.result.found->block == 1);
  const auto* tile = std::get_if<TileDifference>(&found.result.found->what);
  REQUIRE(tile != nullptr);
  CHECK(tile->thread == 0);
  CHECK(tile->place == 1);
  CHECK(tile->different == 32);
  CHECK(tile->elements == 64);
  CHECK(isa::format_value(isa::f32, tile->a) == "2");
  CHECK(isa::format_value(isa::f32, tile->b) == "3");
  REQUIRE(found.result.found->loops.size() == 1);
  CHECK(found.result.found->loops[0].iteration == 3);
  CHECK(contains(found.text, "p.tile:9:"));
  CHECK(contains(found.text, "in block [1] of tiles, launch 1"));
  CHECK(contains(found.text, "        y = Add(x, "));
  CHECK(contains(found.text, "^~~~"));
  CHECK(contains(found.text, "in iteration 3 of the loop in line 7, i = 2"));
  CHECK(contains(found.text,
                 "thread 0, place 1 (register 1, bit 0): 0x40000000 (2) in sim, "
                 "0x40400000 (3) in other; 32 of 64 values differ"));
}

TEST_CASE("operands of the first different statement are shown") {
  const std::string text = replaced(tiles, "y = Add(x,", "y = @(x,");
  const Found found = bisect_values(text, "Add", "Sub");
  CHECK(line_of(found) == 9);
  CHECK(found.result.found->loops.at(0).iteration == 2);  // + 0 and - 0 are the same
  CHECK(contains(found.text, "  reads x[0] = 0x"));
  CHECK(contains(found.text, "  reads AllocateRegister(f32, ..)[0] = 0x3f800000 (1)"));
}

TEST_CASE("a load from a wrong place is found at the load") {
  const Found found = bisect_values(
      replaced(tiles, "offset=[b, 0:])\n        y", "offset=[b / @, 0:])\n        y"), "1", "2");
  CHECK(line_of(found) == 8);
  CHECK(found.result.found->block == 1);
}

TEST_CASE("a store to a wrong place is found at the store, with the places") {
  const Found global =
      bisect_values(replaced(tiles, "gy, offset=[b, 0:]", "gy, offset=[b, @:]"), "0", "b * 4");
  CHECK(line_of(global) == 14);
  const auto* write = std::get_if<WriteDifference>(&global.result.found->what);
  REQUIRE(write != nullptr);
  CHECK(write->a);
  CHECK_FALSE(write->b);
  CHECK(contains(global.text, "byte 256 of y_ptr, element [1, 0]: 0x"));
  CHECK(contains(global.text, "nothing by other"));

  const Found shared =
      bisect_values(replaced(tiles, "s, offset=[1, 0:])\n    Syn", "s, offset=[@, 0:])\n    Syn"),
                    "1", "1 - b % 2");
  CHECK(line_of(shared) == 11);
  CHECK(contains(shared.text, "of shared memory, byte "));
}

TEST_CASE("scalars, and ways through the program, are compared too") {
  constexpr const char* text = R"(def way<2>(i32* y_ptr):
    b = BlockIndices()
    n = 3 + b * @
    k = 0
    for i in range(n):
        k = k + i
    StoreGlobal(AllocateRegister(i32, layout=local(1), init=k), ViewGlobal(y_ptr, shape=[2]), offset=[b:])
)";
  const Found scalar = bisect_values(text, "0", "1");
  CHECK(line_of(scalar) == 3);
  CHECK(scalar.result.found->block == 1);
  CHECK(contains(scalar.text, "n, thread 0: 3 in sim, 4 in other"));

  const Found path =
      bisect_values(replaced(replaced(text, "b * @", "0"), "range(n)", "range(n + @)"), "0", "2");
  CHECK(path.result.found->block == 0);
  CHECK(contains(path.text,
                 "the way through the program is another: next is AllocateRegister in "
                 "line 7 in sim, loop in line 5 in other"));
}

TEST_CASE("copies and releases are compared by what they write") {
  constexpr const char* text = R"(def copies<1>(f16* x_ptr, f16* y_ptr, i32* t_ptr):
    gx = ViewGlobal(x_ptr, shape=[40, 64])
    gy = ViewGlobal(y_ptr, shape=[16, 64])
    s = AllocateShared(f16, shape=[16, 64])
    CopyAsync(s, gx, offset=[@:, 0:])
    CopyAsyncCommitGroup()
    CopyAsyncWaitGroup(0)
    Synchronize()
    StoreGlobal(LoadShared(s, layout=spatial(16, 4).local(1, 16)), gy)
    ReleaseSemaphore(ViewGlobal(t_ptr, shape=[2]), 1 + 0 * @, offset=[1])
)";
  const Found copy = bisect_values(text, "0", "30");
  CHECK(line_of(copy) == 5);
  CHECK(std::holds_alternative<WriteDifference>(copy.result.found->what));

  const Found release =
      bisect_values(replaced(replaced(text, "[@:", "[0:"), "1 + 0 * @", "@"), "1", "2");
  CHECK(line_of(release) == 10);
  CHECK(contains(release.text,
                 "byte 4 of t_ptr, element [1]: 0x00000001, thread 0 by sim, "
                 "0x00000002, thread 0 by other"));
}

namespace {

/// Block 4 of 6 adds another number in iteration 2 of 40; each block makes 200 records.
constexpr const char* long_blocks = R"(def longer<6>(f32* x_ptr, f32* y_ptr):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[6, 64]), layout=spatial(32).local(2), offset=[b, 0:])
    for i in range(40):
        n = (b / 4) * (i % 4 / 2) * @
        m = n + i
        f = AllocateRegister(f32, layout=spatial(32).local(2), init=m)
        x = Add(x, f)
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[6, 64]), offset=[b, 0:])
)";

void check_block_4(const Found& found, std::uint64_t records) {
  CHECK_MESSAGE(line_of(found) == 5, found.text);
  CHECK(found.result.found->block == 4);
  CHECK(found.result.found->loops.at(0).iteration == 3);
  CHECK(found.result.compared == records);
  CHECK_MESSAGE(found.result.left_out.empty(), found.text);
  CHECK(contains(found.text, "n, thread 0: 0 in sim, 1 in other"));
}

}  // namespace

TEST_CASE("where records of all blocks do not fit, sums say which block has the difference") {
  constexpr std::uint64_t records = 6 * (2 + 40 * 5 + 1);
  check_block_4(bisect_values(long_blocks, "0", "1"), records);
  // A sum for each block; then a window of the records of block 4.
  check_block_4(bisect_values(long_blocks, "0", "1", {.memory = 16 * 210, .threads = 1}), records);
}

namespace {

/// Blocks 4 and 5 of 6 differ in their second record of four.
constexpr const char* short_blocks = R"(def shorter<6>(i32* y_ptr):
    b = BlockIndices()
    n = b / 4 * @
    y = AllocateRegister(i32, layout=spatial(32), init=n)
    StoreGlobal(y, ViewGlobal(y_ptr, shape=[6, 32]), offset=[b, 0:])
)";

}  // namespace

TEST_CASE("where not even the sums of all blocks fit, further runs have those of the others") {
  const Found found = bisect_values(short_blocks, "0", "1", {.memory = 16 * 4, .threads = 1});
  CHECK(line_of(found) == 3);
  CHECK(found.result.found->block == 4);
  CHECK(found.result.compared == 6 * 4);
  CHECK(found.result.left_out.empty());
}

TEST_CASE("a difference beyond the records that fit is reported") {
  const std::string late = replaced(long_blocks, "(i % 4 / 2)", "(i / 39)");
  const Found found = bisect_values(late, "0", "1", {.memory = 16 * 32, .threads = 1});
  CHECK_FALSE(found.result.found);
  CHECK(contains(found.text, "not compared: what block 4 of `longer` does after 31 records\n"));
  CHECK(contains(found.text, "not compared: what block 5 of `longer` does after 31 records\n"));
}

TEST_CASE("what is not compared when the time is over is reported") {
  using std::chrono::milliseconds;
  const Found sums = bisect_values(short_blocks, "0", "1",
                                   {.memory = 16 * 4, .time = milliseconds{-1}, .threads = 1});
  CHECK_FALSE(sums.result.found);
  CHECK(contains(sums.text, "not compared: 2 of 6 blocks of `shorter`: the time was over"));
  const Found records = bisect_values(long_blocks, "0", "1",
                                      {.memory = 16 * 210, .time = milliseconds{-1}, .threads = 1});
  CHECK_FALSE(records.result.found);
  CHECK(contains(records.text,
                 "not compared: 2 blocks of `longer` whose sums differ: the time was over"));
}

/// Blocks that take turns: each adds its x to what the one before it left, block 3 adds one more if
/// the value for `@` is 1. `sum` is how a block finds what was left.
std::string turns(const std::string& sum) {
  return replaced(R"(def turns<6>(f32* x_ptr, f32* y_ptr):
    b = BlockIndices()
    t = AllocateGlobal(i32, shape=[1], init=0)
    y = ViewGlobal(y_ptr, shape=[64])
    s = AllocateShared(f32, shape=[64])
    all = Iota(i32, layout=spatial(32).local(2))
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[6, 64]), layout=spatial(32).local(2), offset=[b, 0:])
    LockSemaphore(t, b)
SUM
    n = b / 3 * (1 - b / 4) * @
    x = Add(x, AllocateRegister(f32, layout=spatial(32).local(2), init=n))
    StoreGlobal(Add(sum, x), y)
    ReleaseSemaphore(t, b + 1)
)",
                  "SUM", sum);
}

TEST_CASE("where blocks wait for one another, what a block reads of memory is not a culprit") {
  const std::vector<std::string> loads{
      "    sum = LoadGlobal(y, layout=spatial(32).local(2))",
      "    sum = Gather(y, all, dim=0)",
      "    first = LoadScalar(y, offset=[0])\n    Synchronize()\n"
      "    sum = AllocateRegister(f32, layout=spatial(32).local(2), init=first)",
      "    CopyAsync(s, y)\n    CopyAsyncCommitGroup()\n    CopyAsyncWaitGroup(0)\n"
      "    Synchronize()\n    sum = LoadShared(s, layout=spatial(32).local(2))",
  };
  for (const std::string& load : loads) {
    CAPTURE(load);
    const Found found = bisect_values(turns(load), "0", "1", {.memory = 16 * 80, .threads = 1});
    CAPTURE(found.text);
    CHECK(found.result.found->block == 3);
    CHECK(line_of(found) == 10 + std::count(load.begin(), load.end(), '\n'));
  }
}

TEST_CASE("--bisect of the command finds nothing where all is exact, and reports JSON") {
  Streams streams(shift_program);
  DiffOptions options;
  options.program.file = "-";
  options.backends = "sim,sim";
  options.bisect = true;
  options.json = true;
  CHECK(diff(options, streams.io) == Exit::ok);
  CHECK_FALSE(contains(streams.out.str(), "\"bisect\""));
}

TEST_CASE("JSON of the first difference has its place and both values") {
  const Found found = bisect_values(replaced(tiles, "init=i)", "init=i * @)"), "1", "2");
  const std::string json = bisect_json(found.what, found.run.verdict, found.result).text();
  CHECK(contains(json, R"("found": true)"));
  CHECK(contains(json, R"("mnemonic": "Add")") == false);  // the fill comes first
  CHECK(contains(json, R"("mnemonic": "AllocateRegister")"));
  CHECK(contains(json, R"("line": 9)"));
  CHECK(contains(json, R"("loops": [{"line": 7, "iteration": 2, "var": "i", "value": "1"}])"));
  CHECK(contains(json, R"("kind": "tile")"));
}
