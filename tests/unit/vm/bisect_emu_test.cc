// A constant of emitted code is changed by a hook before the code is compiled: the emulated GPU
// then executes one statement differently, and --bisect must name it, with the element and the
// thread.
#include <doctest/doctest.h>

#include <functional>
#include <memory>

#include "tests/unit/vm/commands_support.h"
#include "vm/diff/bisect_render.h"
#include "vm/run/make_engine.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

/// One change of emitted text. It is made behind the prelude.
struct Edit {
  std::string old, by;
  int changed = 0;

  std::string apply(std::string text) {
    const std::size_t begin = text.find("#define for(");
    const std::size_t at = text.find(old, begin);
    if (begin == std::string::npos || at == std::string::npos) return text;
    ++changed;
    return text.replace(at, old.size(), by);
  }
};

struct Bisected {
  std::string text;  ///< text of the report
  std::uint64_t block = 0;
  int line = 0;
  std::string mnemonic;
  StatementDifference what;
};

/// Whether this machine can compile emitted code.
bool have_host_compiler() {
  const auto engine = make_engine("emu", {});
  if (engine) return true;
  MESSAGE("skipped: " << engine.error().message);
  return false;
}

Bisected bisect_edit(const std::string& text, const std::string& old, const std::string& by,
                     const BisectOptions& bounds = {.threads = 1}) {
  const auto source = std::make_shared<const SourceFile>("p.tile", text);
  const Loaded loaded = load(source, {}, *isa::parse_target("sm_90a"));
  REQUIRE(loaded.program);
  const DiffCase what{*loaded.program, *resolve_entry(*loaded.program, "", {})};
  const auto edit = std::make_shared<Edit>(Edit{old, by});
  EngineOptions options{.threads = 1};
  Engines engines;
  engines.push_back(*make_engine("sim", options));
  options.edit_text = [edit](std::string emitted) { return edit->apply(std::move(emitted)); };
  engines.push_back(*make_engine("emu", options));
  const Result<SeedRun> run = run_seed(what, engines, {});
  REQUIRE(run);
  CAPTURE(old);
  CHECK(edit->changed == 1);
  CHECK_FALSE(run->verdict.exact());
  const Result<BisectResult> result = bisect(what, engines, 0, 1, run->inputs, bounds);
  const std::string problem = result ? "" : result.error().message;
  REQUIRE_MESSAGE(result.ok(), problem);
  Bisected bisected{render_bisect(what, run->verdict, *result), 0, 0, "", UnknownDifference{}};
  if (!result->found) return bisected;
  isa::for_each_statement(what.program.kernel(result->found->kernel).body,
                          [&](const isa::Stmt& stmt) {
                            if (stmt.id() != result->found->statement) return;
                            bisected.line = what.program.source().locate(stmt.span.begin).line;
                            if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node)) {
                              bisected.mnemonic = isa::mnemonic(inst->inst);
                            }
                          });
  bisected.what = result->found->what;
  bisected.block = result->found->block;
  return bisected;
}

/// Loads, arithmetic, shared memory and a store, in a loop.
constexpr const char* mixed = R"(def mixed<2>(f16* x_ptr, f16* y_ptr, f32* z_ptr):
    b = BlockIndices()
    gx = ViewGlobal(x_ptr, shape=[2, 16, 16])
    gy = ViewGlobal(y_ptr, shape=[2, 16, 16])
    gz = ViewGlobal(z_ptr, shape=[2, 16, 8])
    s = AllocateShared(f16, shape=[16, 16])
    acc = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0.5)
    for i in range(3):
        n = i * 7
        x = LoadGlobal(gx, layout=spatial(16, 2).local(1, 8), offset=[b, 0:, 0:])
        y = Add(x, AllocateRegister(f16, layout=spatial(16, 2).local(1, 8), init=n))
        StoreShared(y, s)
        Synchronize()
        p = LoadShared(s, layout=column_local(2, 2).spatial(8, 4).local(1, 2))
        q = LoadShared(s, layout=local(2, 1).column_spatial(4, 8).local(2, 1), offset=[0:, 0:])
        Dot(p, q, acc, out=acc)
        StoreGlobal(y, gy, offset=[b, 0:, 0:])
        Synchronize()
    StoreGlobal(acc, gz, offset=[b, 0:, 0:])
)";

}  // namespace

TEST_CASE("sums of the emulated GPU are those of the simulator where nothing is changed") {
  if (!have_host_compiler()) return;
  for (const char* name :
       {"programs/transpose.tile", "programs/matmul_f16_pipelined.tile",
        "tests/filetests/run/wide_accesses.tile", "tests/filetests/run/sub_byte_neighbours.tile",
        "tests/filetests/run/semaphores.tile"}) {
    CAPTURE(name);
    const std::string path = std::string(TILEVM_SOURCE_DIR) + "/" + name;
    const auto source = std::make_shared<const SourceFile>(path, read_text(path));
    std::vector<frontend::Define> defines;
    if (std::string(name).find("matmul") != std::string::npos) {
      defines = {{"M", "128"}, {"N", "128"}, {"K", "128"}};
    }
    const Loaded loaded = load(source, defines, *isa::parse_target("sm_90a"));
    REQUIRE(loaded.program);
    DataOptions data;
    if (std::string(name).find("semaphores") != std::string::npos)
      data.inputs = {"turns_ptr=zeros"};
    const auto& kernels = loaded.program->program().kernels;
    const std::string first =
        loaded.program->program().pipelines.empty() ? kernels.front().name : "";
    const Result<Entry> entry = resolve_entry(*loaded.program, first, data);
    REQUIRE(entry);
    const DiffCase what{*loaded.program, *entry};
    Engines engines;
    engines.push_back(*make_engine("sim", {.threads = 2}));
    engines.push_back(*make_engine("emu", {.threads = 2}));
    const Result<std::vector<HostTensor>> inputs = make_tensors(what.entry, {});
    REQUIRE(inputs);
    const Result<BisectResult> result = bisect(what, engines, 0, 1, *inputs);
    const std::string problem = result ? "" : result.error().message;
    REQUIRE_MESSAGE(result.ok(), problem);
    CHECK(result->compared > 0);
    SeedVerdict verdict;
    verdict.engines = {"sim", "emu"};
    if (result->found) FAIL_CHECK(render_bisect(what, verdict, *result));
  }
}

TEST_CASE("a changed constant of emitted code is found at its statement") {
  if (!have_host_compiler()) return;
  const auto check = [](const std::string& old, const std::string& by, int line,
                        const std::string& mnemonic, const std::string& part) {
    CAPTURE(old);
    const Bisected found = bisect_edit(mixed, old, by);
    CHECK_MESSAGE(found.line == line, found.text);
    CHECK(found.mnemonic == mnemonic);
    CHECK_MESSAGE(contains(found.text, part), found.text);
  };
  check("0x3f000000", "0x42000000", 7, "AllocateRegister", "acc[0, 0], thread 0, place 0");
  check(" n = tv::mul(i, 7)", " n = tv::mul(i, 8)", 9, "", "n, thread 0: 7 in sim, 8 in emu");
}

TEST_CASE("products that a loop adds up are compared after the loop, as the code makes them") {
  if (!have_host_compiler()) return;
  constexpr const char* text = R"(def counts<2>(b1* a_ptr, b1* b_ptr, i32* y_ptr):
    b = BlockIndices()
    y = AllocateRegister(i32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0)
    for m in range(2):
        for k in range(3):
            a = LoadGlobal(ViewGlobal(a_ptr, shape=[16, 256]), layout=column_local(2, 2).spatial(8, 4).local(1, 32))
            c = LoadGlobal(ViewGlobal(b_ptr, shape=[256, 8]), layout=local(2, 1).column_spatial(4, 8).local(32, 1))
            Dot(a, c, y, out=y)
            if k > b:
                break
    StoreGlobal(y, ViewGlobal(y_ptr, shape=[2, 16, 8]), offset=[b, 0:, 0:])
)";
  const Bisected found = bisect_edit(text, "y[1] += 4u", "y[1] += 5u");
  CHECK_MESSAGE(found.line == 8, found.text);
  CHECK(found.mnemonic == "Dot");
  CHECK_MESSAGE(contains(found.text, "  after the loop in line 4, which adds its products up\n"),
                found.text);
  CHECK_FALSE(contains(found.text, "iteration"));
  CHECK_FALSE(contains(found.text, "reads"));
  CHECK_FALSE(contains(found.text, "not compared"));
}

TEST_CASE("a machine access at a wrong address is found, with the place in memory") {
  if (!have_host_compiler()) return;
  constexpr const char* text = R"(def moves<2>(f32* x_ptr, f32* y_ptr):
    b = BlockIndices()
    gx = ViewGlobal(x_ptr, shape=[2, 128])
    gy = ViewGlobal(y_ptr, shape=[2, 128])
    s = AllocateShared(f32, shape=[2, 128])
    x = LoadGlobal(gx, layout=spatial(32).local(4), offset=[b, 0:])
    StoreShared(x, s, offset=[1, 0:])
    Synchronize()
    z = LoadShared(s, layout=local(2).spatial(32).local(2), offset=[1, 0:])
    StoreGlobal(z, gy, offset=[b, 0:])
)";
  const Bisected store =
      bisect_edit(text, "s = shared_ + 0;", "s = shared_ + 4 - 4 + (b ? 8 : 0);");
  CHECK_MESSAGE(store.line > 0, store.text);
}

TEST_CASE("a difference in a later block is found where only sums of blocks fit the memory") {
  if (!have_host_compiler()) return;
  constexpr const char* text = R"(def steps<40>(i32* y_ptr):
    b = BlockIndices()
    y = AllocateRegister(i32, layout=spatial(32), init=b)
    for i in range(9):
        n = b * 2
        y = Add(y, AllocateRegister(i32, layout=spatial(32), init=n))
    StoreGlobal(y, ViewGlobal(y_ptr, shape=[40, 32]), offset=[b, 0:])
)";
  const Bisected found =
      bisect_edit(text, "n = tv::mul(b, 2)", "n = tv::mul(b, 2) + (b == 33 && i == 7)",
                  {.memory = 16 * 50, .threads = 1});
  CHECK_MESSAGE(found.line == 5, found.text);
  CHECK(found.block == 33);
  CHECK(contains(found.text, "in iteration 8 of the loop in line 4, i = 7"));
  CHECK(contains(found.text, "n, thread 0: 66 in sim, 67 in emu"));
}
