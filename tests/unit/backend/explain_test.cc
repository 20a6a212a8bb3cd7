// What selection says of the forms that it chose, and what the compiler made of the quantized
// template.
#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "backend/compile/toolchain.h"
#include "backend/emit/emit.h"
#include "backend/export/compile_report.h"
#include "frontend/syntax/includes.h"
#include "tests/unit/backend/emit_support.h"
#include "tests/unit/backend/toolchain_support.h"

namespace tilevm::backend {
namespace {

/// "LoadGlobal 4 x 16 bytes" ..; an obstacle follows a semicolon.
std::vector<std::string> remarks_of(const isa::VerifiedProgram& program) {
  std::vector<std::string> lines;
  const CudaSource source = emit_cuda(program);
  for (const CudaKernel& kernel : source.kernels) {
    for (const Remark& remark : kernel.remarks) {
      std::string line = std::string(isa::mnemonic(remark.stmt->inst)) + " " + remark.text;
      if (!remark.missed.empty()) line += "; " + remark.missed;
      const LineColumn at = program.source().locate(remark.culprit.begin);
      if (remark.culprit != Span{}) line += fmt::format(" at {}:{}", at.line, at.column);
      lines.push_back(line);
    }
  }
  return lines;
}

void check_remarks(const std::string& text, const std::vector<std::string>& expected) {
  CHECK(remarks_of(make_program(text, {90, true})) == expected);
}

TEST_CASE("accesses say how wide they are, and what keeps them from more") {
  check_remarks(R"(
def k<4>(f16* p, i32 n):
    i = BlockIndices()
    g = ViewGlobal(p, shape=[64, 64])
    h = ViewGlobal(p, shape=[n, n])
    a = LoadGlobal(g, layout=spatial(32, 1).local(1, 8), offset=[0:, i * 8:])
    StoreGlobal(a, g, offset=[32:, i * 4:])
    StoreGlobal(a, h)
)",
                {"LoadGlobal 1 x 16 bytes",
                 "StoreGlobal 1 x 8 + 8 bytes; the offset of dimension 1 is only known to be a "
                 "multiple of 4: `i * 4` at 7:36",
                 "StoreGlobal 8 x 2 bytes, bounds tested; the extent of dimension 1 may be any "
                 "number: `n` at 5:33"});
}

TEST_CASE("shared memory, copies, casts and products say what they are made of") {
  check_remarks(
      R"(
def k<1>(f16* p, u8* q, f16* c):
    g = ViewGlobal(p, shape=[16, 32])
    s = AllocateShared(f16, shape=[16, 16])
    CopyAsync(s, g)
    CopyAsyncWaitGroup(0)
    Synchronize()
    a = LoadShared(s, layout=column_local(2, 2).spatial(8, 4).local(1, 2))
    bytes = LoadGlobal(ViewGlobal(q, shape=[128]), layout=spatial(32).local(4))
    i = View(bytes, dtype=i8, layout=local(2, 1).column_spatial(4, 8).local(2, 1))
    b = Cast(i, f16)
    acc = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0.0)
    d = Dot(a, b, acc)
    e = Exp(Add(d, acc))
    StoreGlobal(Cast(e, f16), ViewGlobal(c, shape=[16, 8]))
)",
      {"CopyAsync 1 x cp.async 16", "LoadShared 1 x ldmatrix.x4", "LoadGlobal 1 x 4 bytes",
       "View nothing: what reads it takes the bits of `bytes`", "Cast 1.25 instructions an element",
       "Dot 1 x mma.sync.m16n8k16 f32.f16.f16.f32 a warp", "Add 4 x 1 element", "Exp 4 x 1 element",
       "Cast 2 x 2 elements",
       "StoreGlobal 2 x 4 bytes; neighbours in memory do not follow one another in a "
       "thread"});
}

TEST_CASE("bits of packed elements are combined a word at a time") {
  const std::string far = "neighbours in memory do not follow one another in a thread";
  check_remarks(R"(
def k<1>(u4* p, u4* q):
    a = LoadGlobal(ViewGlobal(p, shape=[1024]), layout=local(4).spatial(32).local(8))
    b = And(a, Xor(a, AllocateRegister(u4, layout=local(4).spatial(32).local(8), init=8)))
    StoreGlobal(b, ViewGlobal(q, shape=[1024]))
)",
                {"LoadGlobal 4 x 4 bytes; " + far, "Xor 4 x 32 bits", "And 4 x 32 bits",
                 "StoreGlobal 4 x 4 bytes; " + far});
}

TEST_CASE("a product of transposed fragments is reported as that of the transposes") {
  check_remarks(R"(
def k<1>(f16* p, f32* q):
    g = ViewGlobal(p, shape=[16, 16])
    a = LoadGlobal(g, layout=local(1, 2).spatial(8, 4).local(1, 2), offset=[0:, 0:])
    b = LoadGlobal(g, layout=local(2, 2).column_spatial(4, 8).local(2, 1), offset=[0:, 0:])
    acc = AllocateRegister(f32, layout=local(1, 2).column_spatial(4, 8).local(2, 1), init=0.0)
    StoreGlobal(Dot(a, b, acc), ViewGlobal(q, shape=[8, 16]))
)",
                {"LoadGlobal 2 x 4 bytes; neighbours in memory do not follow one another in a "
                 "thread",
                 "LoadGlobal 8 x 2 bytes; neighbours in memory do not follow one another in a "
                 "thread",
                 "Dot 1 x mma.sync.m16n8k16 f32.f16.f16.f32 a warp, of the transposes",
                 "StoreGlobal 4 x 4 bytes; neighbours in memory do not follow one another in a "
                 "thread"});
}

TEST_CASE("a product without tensor cores is reported as chains") {
  check_remarks(R"(
def k<1>(f32* p):
    g = ViewGlobal(p, shape=[4, 4])
    a = LoadGlobal(g, layout=local(4, 4))
    StoreGlobal(Dot(a, a, AllocateRegister(f32, layout=local(4, 4), init=0.0)), g)
)",
                {"LoadGlobal 4 x 16 bytes", "Dot 16 chains of 4 multiply-adds in f32",
                 "StoreGlobal 4 x 16 bytes"});
}

TEST_CASE("the remarks of a compiler give registers, stack and spills") {
  const std::string log =
      "ptxas info    : Compiling entry function 'a_kernel' for 'sm_90a'\n"
      "ptxas info    : Function properties for a_kernel\n"
      "    48 bytes stack frame, 52 bytes spill stores, 60 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 48 bytes cumulative stack size\n"
      "ptxas info    : Compiling entry function 'b_kernel' for 'sm_90a'\n"
      "ptxas info    : Used 32 registers\n";
  CHECK(find_register_use(log, "a_kernel") == RegisterUse{255, 48, 52, 60});
  CHECK(find_register_use(log, "b_kernel") == RegisterUse{32, 0, 0, 0});
  CHECK_FALSE(find_register_use(log, "c_kernel").has_value());
}

TEST_CASE("registers of a thread end where a multiprocessor's do") {
  CHECK(max_registers(1) == 255);
  CHECK(max_registers(256) == 255);
  CHECK(max_registers(288) == 224);
  CHECK(max_registers(512) == 128);
  CHECK(max_registers(1024) == 64);
}

TEST_CASE("the blocks of a multiprocessor are those that its scarcest part holds") {
  const auto residency = [](std::int64_t threads, std::int64_t shared, std::int64_t registers,
                            int sm) {
    CudaKernel kernel;
    kernel.threads = threads;
    kernel.shared_bytes = shared;
    const Residency found = find_residency(kernel, registers, {sm, false});
    return std::string(found.limit) + " " + std::to_string(found.blocks);
  };
  CHECK(residency(128, 0, 111, 90) == "registers 4");
  CHECK(residency(128, 0, 255, 90) == "registers 2");
  CHECK(residency(1024, 0, 64, 90) == "registers 1");
  CHECK(residency(256, 0, 32, 90) == "registers 8");
  CHECK(residency(128, 100 * 1024, 32, 90) == "shared memory 2");
  CHECK(residency(128, 227 * 1024, 32, 90) == "shared memory 1");
  CHECK(residency(128, 113 * 1024, 32, 90) == "shared memory 2");
  CHECK(residency(1024, 0, 16, 86) == "threads 1");
  CHECK(residency(32, 0, 16, 86) == "blocks 16");
  CHECK(residency(32, 0, 16, 120) == "blocks 24");
}

TEST_CASE("memory barriers take shared memory, too") {
  CudaKernel kernel;
  kernel.threads = 128;
  kernel.shared_bytes = 113 * 1024;
  kernel.barrier_bytes = 128;
  CHECK(find_residency(kernel, 32, {90, false}).blocks == 1);
}

TEST_CASE("a NaN among the constants behind a cast is not part of it") {
  const auto text_with = [](const std::string& value) {
    return "def k<1>(u4* q, f16* y):\n"
           "    x = LoadGlobal(ViewGlobal(q, shape=[32, 4]), layout=spatial(32, 1).local(1, 4))\n"
           "    f = AllocateRegister(f16, layout=replicated(32).local(1, 4), init=[2, 2, " +
           value + ", " + value +
           "])\n"
           "    StoreGlobal(Mul(Cast(x, f16), f), ViewGlobal(y, shape=[32, 4]))\n";
  };
  const auto multiplies = [&](const std::string& value) {
    const CudaSource source = emit_cuda(make_program(text_with(value), {90, true}));
    return source.text.find("tv::Mul") != std::string::npos;
  };
  CHECK_FALSE(multiplies("4"));
  CHECK(multiplies("0.0 / 0.0"));
}

/// programs/quantized_matmul/few_rows.tile as it is measured, with weights of a type.
isa::VerifiedProgram quantized(const std::string& type) {
  const std::string folder = std::string(TILEVM_SOURCE_DIR) + "/programs/quantized_matmul/";
  const std::string name = "few_rows.tile";
  const auto source = frontend::with_includes(
      std::make_shared<const SourceFile>(name, read_text(folder + name)), name,
      [&](const std::string& path, const std::string&) -> Result<frontend::FoundFile> {
        return frontend::FoundFile{path, path, read_text(folder + path)};
      });
  return make_program(frontend::flattened(*source), {90, true}, name,
                      {{"N", "8192"},
                       {"K", "8192"},
                       {"BN", "224"},
                       {"WARPS", "4"},
                       {"STAGES", "4"},
                       {"SPLIT", "1"},
                       {"Q", type}});
}

/// The parts of the report that the speed of `matmul` rests on.
void check_quantized(const std::string& type, const isa::VerifiedProgram& program,
                     const CudaKernel& emitted) {
  INFO(type);
  const isa::Kernel& kernel = program.kernel(emitted.kernel);
  const int bits = std::stoi(type.substr(1, 1));
  const int width = std::gcd(28 * bits, 16);  // of a thread's weights in a tile
  const auto named = [&](isa::VarId var, const char* name) {
    return kernel.variable(var).name == name;
  };
  int seen = 0;
  for (const Remark& remark : emitted.remarks) {
    INFO(remark.text);
    if (const auto* copy = std::get_if<isa::CopyAsync>(&remark.stmt->inst)) {
      if (!named(copy->dst.var, "sq")) continue;
      CHECK(remark.text == "1 x cp.async.bulk " + std::to_string(28 * 128 * bits));
    } else if (const auto* load = std::get_if<isa::LoadShared>(&remark.stmt->inst)) {
      if (named(load->src.var, "ss") || named(load->src.var, "whole")) continue;
      const bool weights = named(load->src.var, "sq");
      CHECK(remark.text ==
            (weights ? std::to_string(28 * bits / width) + " x " + std::to_string(width) + " bytes"
                     : "8 x ldmatrix.x4"));
    } else if (remark.text.ends_with("instructions an element")) {
      // The product of the weights with `unit`, of which the cast is a part.
      CHECK(std::holds_alternative<isa::Mul>(remark.stmt->inst));
      CHECK(std::stod(remark.text) <= (type[0] == 'f' ? 2.7 : 1.8));
    } else {
      continue;
    }
    ++seen;
  }
  CHECK(seen >= 5);
}

TEST_CASE("the quantized template moves and casts weights as it is made to, without spills") {
  const auto compiler = describe_compiler(CompilerChoice::automatic);
  if (!compiler) MESSAGE("registers are not looked at: " << compiler.error().message);
  for (const char* type :
       {"u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "i4", "f6e3m2", "f8e4m3"}) {
    const isa::VerifiedProgram program = quantized(type);
    const CudaSource source = emit_cuda(program);
    const CudaKernel& matmul = source.kernels[2];
    REQUIRE(matmul.entry == "matmul_kernel");
    check_quantized(type, program, matmul);
    if (!compiler || (compiles_first_only() && std::string_view(type) != "u1")) continue;
    CompileRequest request;
    request.source = source.text;
    request.extra_options.emplace_back(report_option);
    const Result<Compiled> compiled = compile_cuda(request);
    REQUIRE_MESSAGE(compiled.ok(), compiled.error().message);
    const auto use = find_register_use(compiled->log, matmul.entry);
    REQUIRE(use.has_value());
    CHECK_MESSAGE(use->registers <= 128, type);
    CHECK_MESSAGE(use->stack_bytes == 0, type);
  }
}

}  // namespace
}  // namespace tilevm::backend
