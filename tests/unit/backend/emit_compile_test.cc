// What is emitted compiles for every target, and stays in registers. Skips without a CUDA compiler.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "backend/compile/toolchain.h"
#include "backend/emit/emit.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

bool have_compiler() {
  const auto compiler = describe_compiler(CompilerChoice::automatic);
  if (compiler) return true;
  MESSAGE("skipped: " << compiler.error().message);
  return false;
}

Result<Compiled> compile(const isa::VerifiedProgram& program, std::string target) {
  CompileRequest request;
  request.source = emit_cuda(program).text;
  request.target = std::move(target);
  request.extra_options = {"-Xptxas", "-v"};
  return compile_cuda(request);
}

void check_compiles(const isa::VerifiedProgram& program, const std::string& target) {
  const Result<Compiled> compiled = compile(program, target);
  const std::string problem = compiled ? "" : compiled.error().message;
  CHECK_MESSAGE(compiled.ok(), target << ": " << problem);
  if (!compiled) return;
  CHECK_MESSAGE(compiled->log.find("warning") == std::string::npos, compiled->log);
}

TEST_CASE("figure 2 compiles for every target without spills or a stack") {
  if (!have_compiler()) return;
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"}) {
    const Result<Compiled> compiled = compile(load_program("figure2.tile"), target);
    const std::string problem = compiled ? "" : compiled.error().message;
    REQUIRE_MESSAGE(compiled.ok(), target << ": " << problem);
    CHECK_MESSAGE(
        compiled->log.find("0 bytes stack frame, 0 bytes spill stores") != std::string::npos,
        compiled->log);
  }
}

TEST_CASE("the programs that ship compile") {
  if (!have_compiler()) return;
  for (const char* name :
       {"matmul_f16_i6.tile", "vector_add.tile", "transpose.tile", "matmul_f16_pipelined.tile"}) {
    check_compiles(load_program(name), "sm_90a");
  }
}

TEST_CASE("accesses of all widths, semaphores and counters compile") {
  if (!have_compiler()) return;
  for (const char* name : {"wide_accesses", "semaphores", "atomic_add"}) {
    const std::string path = fmt::format("{}/tests/filetests/run/{}.tile", TILEVM_SOURCE_DIR, name);
    check_compiles(make_program(read_text(path)), "sm_90a");
  }
}

/// A program that touches every instruction and operator in unusual forms.
constexpr const char* unusual_program = R"(
def odd<4, 2>(i5* p, f6e3m2* q, f64* r, b3* s, i64 n, u32 m, f32 x, bool flag):
    int, while_ = BlockIndices()
    g = ViewGlobal(p, shape=[n, 7, 8], layout=strides(56, 8, 1))
    h = ViewGlobal(q, shape=[16, 8], layout=memory_layout([16, 8], [2, 8, 8], [64, 8, 1]).swizzle(0, 3, 3))
    k = ViewGlobal(r, shape=[m])
    e = ViewGlobal(s, shape=[16, 8])
    a = LoadGlobal(g, layout=local(1, 2).spatial(8, 4), offset=[n / 2, int:, while_:])
    b = Neg(Mul(Sub(Add(a, a), a), a))
    c = Cast(b, f6e3m2)
    d = Cast(c, b3)
    StoreGlobal(c, h)
    StoreGlobal(d, e)
    v = View(c, dtype=u1, layout=local(12).spatial(32))
    t = AllocateRegister(f64, layout=spatial(32), init=x / 3.0)
    u = AllocateRegister(f64, layout=spatial(32), init=flag)
    for NULL in range(m, m + 9, 4):
        StoreGlobal(Mul(t, u), k, offset=[NULL:])
    if flag && (n & 1) == 0 || !(x < 1.0):
        StoreGlobal(Neg(t), k, offset=[m % 3:])
)";

TEST_CASE("unusual programs compile without a warning") {
  if (!have_compiler()) return;
  check_compiles(make_program(unusual_program), "sm_80");
}

TEST_CASE("a program's hostile names and file names compile") {
  if (!have_compiler()) return;
  const auto program = make_program(
      "def printf<1>(i32* threadIdx, i32* EOF):\n    tv = ViewGlobal(threadIdx, shape=[32]) # \\\n"
      "    StoreGlobal(LoadGlobal(tv, layout=spatial(32)), tv)\n",
      {}, "a \"quoted\" \\ n\xc3\xa4me\n.tile");
  check_compiles(program, "sm_90a");
}

}  // namespace
}  // namespace tilevm::backend
