// Probes in emitted text, and the memory in which a launch records them.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include <fmt/format.h>

#include "backend/compile/toolchain.h"
#include "backend/emit/emit.h"
#include "backend/launch/probe_buffer.h"
#include "tests/unit/backend/emit_support.h"
#include "tests/unit/backend/toolchain_support.h"
#include "tests/unit/contains.h"

namespace tilevm::backend {
namespace {

constexpr const char* small_program = R"(def small<2>(f16* x_ptr, f32* y_ptr, i32 n):
    b = BlockIndices()
    s = AllocateShared(f16, shape=[64])
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[2, 64]), layout=spatial(32).local(2), offset=[b, 0:])
    StoreShared(x, s)
    Synchronize()
    for i in range(n):
        k = i + 1
        y = Cast(LoadShared(s, layout=local(2).spatial(32)), f32)
        StoreGlobal(y, ViewGlobal(y_ptr, shape=[2, 64]), offset=[b, 0:])
    v = View(x, dtype=u16, layout=spatial(32).local(2))
    StoreGlobal(v, ViewGlobal(x_ptr, dtype=u16, shape=[2, 64]), offset=[b, 0:])
)";

CudaSource with_probes(const isa::VerifiedProgram& program) {
  return emit_cuda(select(program, {.probes = true}));
}

std::string own_text(const CudaSource& source) { return source.text.substr(source.prelude_size); }

TEST_CASE("text without probes has nothing of them") {
  const auto program = make_program(small_program);
  const CudaSource plain = emit_cuda(program);
  CHECK(plain.text == emit_cuda(select(program, SelectOptions{})).text);
  CHECK_FALSE(contains(plain.text, "Probe"));
  CHECK_FALSE(contains(own_text(plain), "probe"));
  CHECK(plain.kernels[0].parameters.size() == 3);
}

TEST_CASE("each statement that writes ends with its record") {
  const CudaSource source = with_probes(make_program(small_program));
  const std::string text = own_text(source);
  CHECK(source.kernels[0].parameters.back().role == CudaParameter::Role::probes);
  CHECK(contains(text, "tv::u8* probes_)"));
  CHECK(contains(text, "tv::Probe probe_ = tv::probe(probes_, shared_, 128);"));
  for (const char* line :
       {"probe_.scalar(static_cast<tv::u64>(b));", "probe_.tile<16, 2>(x);",
        "probe_.store_bytes<4>(", "probe_.tile<32, 2>(y);",
        "probe_.scalar(static_cast<tv::u64>(k));", "probe_.scalar(static_cast<tv::u64>(i));"}) {
    CAPTURE(line);
    CHECK(contains(text, line));
  }
  CHECK(contains(text, "probe_.tile<16, 2>(v)"));  // the view has registers of its own
  // All accesses of memory go through the probe.
  CHECK_FALSE(contains(text, "tv::store_bytes"));
}

TEST_CASE("with probes a loop puts its products together once, as without, and then records them") {
  const auto program = make_program(R"(def counts<1>(b1* a_ptr, b1* b_ptr, i32* y_ptr, i32 n):
    y = AllocateRegister(i32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0)
    for k in range(n):
        a = LoadGlobal(ViewGlobal(a_ptr, shape=[16, 256]), layout=column_local(2, 2).spatial(8, 4).local(1, 32))
        b = LoadGlobal(ViewGlobal(b_ptr, shape=[256, 8]), layout=local(2, 1).column_spatial(4, 8).local(32, 1))
        Dot(a, b, y, out=y)
    StoreGlobal(y, ViewGlobal(y_ptr, shape=[16, 8]))
)");
  const std::string plain = own_text(emit_cuda(program)), probed = own_text(with_probes(program));
  const std::string in_step = "y[0] = y[0] + 4u * sum_[0]", after_loop = "y[0] += 4u * dot";
  CHECK(contains(plain, after_loop));
  CHECK_FALSE(contains(plain, in_step));
  CHECK_FALSE(contains(probed, in_step));
  CHECK(contains(probed, after_loop));
  // The product is the seventh statement; its record follows what the loop put together.
  const std::string record = "probe_.tile<32, 4>(y);\n  probe_.record(7);";
  CHECK(probed.find(after_loop) < probed.rfind(record));
  CHECK(probed.rfind(record) != std::string::npos);
}

TEST_CASE("the plan says which statements record") {
  const auto program = make_program(small_program);
  const isa::ProbePlan plan = select(program, {.probes = true}).kernels[0].probes;
  std::string modes;
  isa::for_each_statement(program.kernel(0).body, [&](const isa::Stmt& stmt) {
    modes += "-jr"[static_cast<int>(plan[stmt.id()])];
  });
  // BlockIndices, AllocateShared, ViewGlobal, LoadGlobal, StoreShared, Synchronize, for, k,
  // LoadShared, Cast, ViewGlobal, StoreGlobal, View, ViewGlobal, StoreGlobal
  CHECK(modes == "r--rr-rrrr-rr-r");
}

TEST_CASE("an update of memory records what it adds, and not what it finds") {
  const auto program = make_program(R"(def count<2>(i32* x_ptr):
    x = ViewGlobal(x_ptr, shape=[2])
    n = AtomicAdd(x, 3)
    n = AtomicAdd(x, n, offset=[1])
    StoreGlobal(AllocateRegister(i32, layout=local(1), init=n), x)
)");
  const std::string text = own_text(with_probes(program));
  CHECK(contains(text, "(probe_.atomic_add("));
  CHECK(contains(text, "(tv::atomic_add("));  // after it, `n` is not what was added
  CHECK_FALSE(contains(text, "probe_.scalar("));
}

TEST_CASE("a view that machine code does not have makes no record") {
  const std::string text = own_text(with_probes(load_program("figure2.tile")));
  CHECK(contains(text, "(b);"));
  CHECK_FALSE(contains(text, "(b1);"));  // i6 of the bits of b, which the cast to b2 reads
  CHECK(contains(text, "(b2);"));
}

TEST_CASE("programs with probes compile, at every level of ptxas") {
  const auto compiler = describe_compiler(CompilerChoice::automatic);
  if (!compiler) {
    MESSAGE("skipped: " << compiler.error().message);
    return;
  }
  const auto compile = [](const CudaSource& source, std::optional<int> level) {
    CompileRequest request;
    request.source = source.text;
    request.level = level;
    const Result<Compiled> compiled = compile_cuda(request);
    const std::string problem = compiled ? compiled->log : compiled.error().message;
    CHECK_MESSAGE(compiled.ok(), problem);
    CHECK_MESSAGE(problem.find("warning") == std::string::npos, problem);
    return compiled ? compiled->image : std::string();
  };
  const isa::Target target = *isa::parse_target("sm_90a");
  for (const char* name : {"matmul_f16_pipelined.tile", "matmul_f16_i6.tile", "transpose.tile"}) {
    CAPTURE(name);
    compile(with_probes(load_program(name, target)), std::nullopt);
    if (compiles_first_only()) break;
  }
  const std::string run = std::string(TILEVM_SOURCE_DIR) + "/tests/filetests/run/";
  for (const char* name : {"semaphores", "async_copy", "bulk_copy"}) {
    CAPTURE(name);
    if (compiles_first_only()) break;
    compile(with_probes(make_program(read_text(run + name + ".tile"), target)), std::nullopt);
  }
  const CudaSource plain = emit_cuda(load_program("matmul_f16_i6.tile", target));
  CHECK(compile(plain, 0) != compile(plain, 3));
}

// --- The memory of records ----------------------------------------------------------------------

template <class T>
void put(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST_CASE("records and kept values are read back") {
  const auto program = make_program(small_program);
  isa::ProbeLog log;
  log.window = {.first_block = 1, .blocks = 1, .records = 3, .target = {{1, 1}}};
  auto bytes = make_probe_buffer(program, log, {{0x1000, 64}, {0x2000, 128}});
  const std::size_t records = 64 + 2 * 16, kept = records + 4 * 16;
  REQUIRE(bytes.size() == kept + 32 * 65536);
  // A block that made four records, of which three have room; the second is the load of
  // statement 3.
  put(bytes, records, std::uint32_t{4});
  put(bytes, records + 8, std::uint64_t{77});
  for (std::uint32_t i = 0; i < 3; ++i) {
    put(bytes, records + 16 + i * 16, std::uint64_t{100 + i});
    put(bytes, records + 24 + i * 16, std::uint32_t{i == 1 ? 3U : i});
  }
  put(bytes, kept + 5 * 65536, std::uint32_t{1});
  put(bytes, kept + 5 * 65536 + 4, std::uint32_t{0x3c003c00});
  REQUIRE(read_probe_buffer(program, bytes, log));
  REQUIRE(log.blocks.size() == 1);
  CHECK(log.blocks[0].count == 4);
  CHECK(log.blocks[0].rest == 77);
  REQUIRE(log.blocks[0].records.size() == 3);
  CHECK(log.blocks[0].records[1].sum == 101);
  CHECK(log.blocks[0].records[1].statement == 3);
  REQUIRE(log.dump.words.size() == 32);
  CHECK(log.dump.words[5] == std::vector<std::uint32_t>{0x3c003c00});
  CHECK_FALSE(log.dump.cut);

  // These words are a write to memory if the statement has no result.
  put(bytes, records + 24 + 16, std::uint32_t{4});
  put(bytes, kept + 5 * 65536, std::uint32_t{4});
  put(bytes, kept + 5 * 65536 + 8, std::uint32_t{1});
  REQUIRE(read_probe_buffer(program, bytes, log));
  REQUIRE(log.dump.writes[5].size() == 1);
  CHECK(log.dump.writes[5][0].address == 0x1'3c003c00);

  put(bytes, kept + 7 * 65536, std::uint32_t{1U << 20});
  REQUIRE(read_probe_buffer(program, bytes, log));
  CHECK(log.dump.cut);
}

TEST_CASE("a launch that wrote over its records is reported") {
  const auto program = make_program(small_program);
  isa::ProbeLog log;
  log.window = {.first_block = 0, .blocks = 2, .records = 3};
  auto bytes = make_probe_buffer(program, log, {});
  REQUIRE(read_probe_buffer(program, bytes, log));
  put(bytes, 0, std::uint64_t{9});
  CHECK_FALSE(read_probe_buffer(program, bytes, log));
  CHECK_FALSE(read_probe_buffer(program, {1, 2, 3}, log));
}

}  // namespace
}  // namespace tilevm::backend
