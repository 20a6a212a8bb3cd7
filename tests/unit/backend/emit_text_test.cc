// What the emitter writes, without a compiler. TILEVM_BLESS=1 rewrites the expected texts.
#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "backend/emit/code_writer.h"
#include "backend/emit/emit.h"
#include "backend/emit/emit_scalar.h"
#include "backend/emit/prelude.h"
#include "backend/ptx/emit_mma.h"
#include "backend/select/names.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

std::string own_text(const isa::VerifiedProgram& program) {
  const CudaSource source = emit_cuda(program);
  return source.text.substr(source.prelude_size);
}

void check_golden(const std::string& name, const std::string& text) {
  const std::string path =
      std::string(TILEVM_SOURCE_DIR) + "/tests/unit/backend/golden/" + name + ".cu";
  if (std::getenv("TILEVM_BLESS") != nullptr) std::ofstream(path, std::ios::binary) << text;
  CHECK(text == read_text(path));
}

/// The inner loop of the paper's Figure 2.
constexpr const char* matmul_program = R"(
def matmul<16, 8>(f16* a_ptr, u8* b_ptr, f16* c_ptr):
    bi, bj = BlockIndices()
    ga = ViewGlobal(a_ptr, shape=[256, 512])
    gb = ViewGlobal(b_ptr, shape=[32, 8, 96])
    gc = ViewGlobal(c_ptr, shape=[256, 64])
    acc = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0.0)
    for bk in range(32):
        a = LoadGlobal(ga, layout=column_local(2, 2).spatial(8, 4).local(1, 2),
                       offset=[bi * 16:, bk * 16:])
        b = LoadGlobal(gb, layout=local(3).spatial(32), offset=[bk, bj, 0:])
        b1 = View(b, dtype=i6, layout=local(2, 1).column_spatial(4, 8).local(2, 1))
        Dot(a, Cast(b1, f16), acc, out=acc)
    StoreGlobal(Cast(acc, f16), gc, offset=[bi * 16:, bj * 8:])
)";

TEST_CASE("a matrix product is emitted as expected") {
  check_golden("matmul", own_text(make_program(matmul_program)));
}

constexpr const char* scalars_program = R"(
def scalars<2>(i32* p, i32 n, f32 scale):
    t = BlockIndices()
    g = ViewGlobal(p, dtype=i32, shape=[n, 32])
    total = 0
    for i in range(n, unroll=4):
        if i == 3:
            continue
        elif i > t * 10:
            break
        else:
            total = total + i / 3
    for j in range(n, 0, -n, unroll=1):
        j = j + 1
        total = total - j
    while total > 100:
        total = total >> 1
    x = AllocateRegister(i32, layout=spatial(32), init=total)
    y = AllocateRegister(f32, layout=spatial(32), init=scale * 2.0)
    z = Add(x, Cast(y, i32))
    StoreGlobal(z, g, offset=[t, 0:])
)";

TEST_CASE("scalars and control flow are emitted as expected") {
  check_golden("scalars", own_text(make_program(scalars_program)));
}

constexpr const char* narrow_program = R"(
def narrow<1>(u3* p, u3* q, i64 n):
    g = ViewGlobal(p, shape=[n, 8], layout=column_major)
    h = ViewGlobal(q, shape=[16, 8])
    w = AllocateGlobal(u3, shape=[16, 8])
    a = LoadGlobal(g, layout=replicated(2).spatial(8, 4).local(2, 2), offset=[n - 16:, 0:])
    StoreGlobal(Neg(a), w)
    b = LoadGlobal(w, layout=replicated(2).spatial(8, 4).local(2, 2))
    StoreGlobal(Mul(a, b), h)
)";

TEST_CASE("narrow elements, replicas and workspaces are emitted as expected") {
  check_golden("narrow", own_text(make_program(narrow_program)));
}

constexpr const char* order_program = R"(
def order<4, 2>(u32* p, i32 n):
    b, c = BlockIndices()
    g = ViewGlobal(p, shape=[n, 2])
    turn = AllocateGlobal(i32, shape=[2], init=0)
    swizzled = AllocateGlobal(i32, shape=[8, 4], layout=row_major(8, 4).swizzle(0, 2, 2), init=0)
    LockSemaphore(turn, b, offset=[c])
    ReleaseSemaphore(swizzled, -1, offset=[b, 0])
    count = AtomicAdd(g, 5, offset=[n - 1, c])
    while count < 3:
        count = AtomicAdd(g, count, offset=[n - 1, c])
    ReleaseSemaphore(turn, b + 1, offset=[c])
)";

TEST_CASE("semaphores and counters are emitted as expected") {
  const isa::VerifiedProgram program = make_program(order_program);
  check_golden("order", own_text(program));
  const CudaSource source = emit_cuda(program);
  REQUIRE(source.kernels[0].parameters.size() == 4);
  CHECK(source.kernels[0].parameters[2].zeroed);
  CHECK(!emit_cuda(make_program(narrow_program)).kernels[0].parameters[3].zeroed);
}

/// Vectors of 16 bytes, matrices as they are and transposed, a swizzle, pieces of copies.
constexpr const char* accesses_program = R"(
def accesses<8>(f16* p, u8* q, f16* r):
    t = BlockIndices()
    gp = ViewGlobal(p, shape=[256, 64])
    gq = ViewGlobal(q, shape=[16, 1024])
    gr = ViewGlobal(r, shape=[256, 64])
    s = AllocateShared(f16, shape=[2, 16, 64], layout=row_major(2, 16, 64).swizzle(3, 3, 3))
    w = AllocateShared(u8, shape=[2, 1024])
    CopyAsync(s, gp, offset=[t * 16:, 0:], shared_offset=[t % 2, 0:, 0:])
    CopyAsync(w, gq, offset=[t, 0:], shared_offset=[t % 2, 0:])
    CopyAsyncCommitGroup()
    CopyAsyncWaitGroup(0)
    Synchronize()
    a = LoadShared(s, layout=local(1, 4).column_local(2, 2).spatial(8, 4).local(1, 2), offset=[t % 2, 0:, 0:])
    b = LoadShared(s, layout=local(1, 8).local(2, 1).column_spatial(4, 8).local(2, 1), offset=[t % 2, 0:, 0:])
    c = LoadShared(w, layout=local(2).spatial(32).local(16), offset=[t % 2, 0:])
    Synchronize()
    StoreShared(a, s, offset=[0, 0:, 0:])
    Synchronize()
    StoreGlobal(b, gr, offset=[t * 16:, 0:])
    StoreGlobal(c, gq, offset=[t, 0:])
    StoreGlobal(LoadShared(s, layout=local(2, 2).spatial(8, 4).local(1, 8), offset=[0, 0:, 0:]), gr, offset=[t * 16 + 128:, 0:])
)";

TEST_CASE("wide accesses are emitted as expected") {
  check_golden("accesses", own_text(make_program(accesses_program)));
}

TEST_CASE("each tensor-core instruction is called as the PTX manual writes it") {
  std::string text;
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    const std::string function = mma_function(shape);
    const std::size_t begin = function.find("  asm(");
    text += function.substr(begin, function.find("\n      :") - begin) + "\n";
  }
  check_golden("mma", text);
}

TEST_CASE("the text begins with the prelude and depends on nothing but the program") {
  const isa::VerifiedProgram program = make_program(narrow_program);
  const CudaSource source = emit_cuda(program);
  CHECK(source.text == emit_cuda(make_program(narrow_program)).text);
  CHECK(source.text.find(prelude_device) < source.prelude_size);
  for (const auto part :
       {prelude_memory, prelude_element, prelude_arithmetic, prelude_dot, prelude_scalar}) {
    CHECK(source.text.find(part) < source.prelude_size);
  }
  CHECK(source.text.find("asm", source.prelude_size) == std::string::npos);
  CHECK(source.text.find("#include") == std::string::npos);
}

TEST_CASE("a launch learns the parameters: the program's in order, then the workspaces") {
  const CudaSource source = emit_cuda(make_program(narrow_program));
  REQUIRE(source.kernels.size() == 1);
  const CudaKernel& kernel = source.kernels[0];
  CHECK(kernel.threads == 64);
  REQUIRE(kernel.parameters.size() == 4);
  CHECK(kernel.parameters[0].role == CudaParameter::Role::pointer);
  CHECK(kernel.parameters[2].role == CudaParameter::Role::scalar);
  CHECK(kernel.parameters[2].bytes() == 8);
  CHECK(kernel.parameters[3].role == CudaParameter::Role::workspace);
  CHECK(kernel.parameters[3].workspace_bytes == 48);
  CHECK(source.text.find(" " + kernel.entry + "(") != std::string::npos);
}

TEST_CASE("names of programs never clash with those of C++, of CUDA or of the emitter") {
  NameTable names;
  CHECK(names.unique("acc") == "acc");
  CHECK(names.unique("acc") == "acc_2");
  CHECK(names.unique("acc_2") == "acc_2_2");
  CHECK(names.unique("int") == "int_v");
  CHECK(names.unique("threadIdx") == "threadIdx_v");
  CHECK(names.unique("INT_MAX") == "INT_MAX_v");
  CHECK(names.unique("N") == "N");
  CHECK(names.unique("__device__") == "v_device");
  CHECK(names.unique("i0_") == "i0");
  CHECK(names.unique("\xc3\xa4") == "v");
  CHECK(names.unique("") == "v_2");
  CHECK(names.unique(std::string(1000, 'x')).size() < 100);
}

TEST_CASE("quoting and comments cannot break out") {
  CHECK(quote_file("a\"b\\c\nd") == "\"a'b/c?d\"");
  CodeWriter writer("");
  writer.comment("path\\");
  writer.comment("a\nint b;");
  writer.comment("what?\?/");
  CHECK(writer.text() == "// path\\.\n// a?int b;\n// what?\?/.\n");
}

TEST_CASE("every line of code belongs to the line of the program") {
  CodeWriter writer("a.tile");
  writer.at(7);
  writer.line("one();");
  writer.line("two();");
  writer.at(9);
  writer.line("three();");
  CHECK(writer.text() == "#line 7 \"a.tile\"\none();\n#line 7\ntwo();\n#line 9\nthree();\n");
}

TEST_CASE("literals keep their type and their value") {
  using isa::Scalar;
  using isa::ScalarKind;
  CHECK(scalar_literal(Scalar::i32(-5)) == "-5");
  CHECK(scalar_literal(Scalar::i32(INT32_MIN)) == "(-2147483647 - 1)");
  CHECK(scalar_literal(Scalar::i64(INT64_MIN)) == "(-9223372036854775807ll - 1)");
  CHECK(scalar_literal({ScalarKind::u32, 7}) == "7u");
  CHECK(scalar_literal({ScalarKind::u64, ~std::uint64_t{0}}) == "18446744073709551615ull");
  CHECK(scalar_literal(Scalar::f32(1.0F)) == "tv::f32_value(0x3f800000u)");
  CHECK(scalar_literal(Scalar::of(true)) == "true");
}

/// The line of the program that a compiler names for the first line of code with these words.
int program_line_of(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    if (line.starts_with("#line ")) {
      number = std::stoi(line.substr(6)) - 1;
    } else if (line.find(words) != std::string::npos) {
      return number;
    }
  }
  return -1;
}

TEST_CASE("declarations and what elif tests count as the lines that they are made of") {
  const std::string text =
      own_text(make_program("def f<4>(i32* p, i32 n):\n"
                            "    t = BlockIndices()\n"
                            "    x = AllocateRegister(i32, layout=spatial(32), init=0)\n"
                            "    if n == 1:\n"
                            "        x = x + 1\n"
                            "    elif n == t:\n"
                            "        x = x + 2\n"
                            "    y = Cast(x, f32)\n"
                            "    StoreGlobal(Cast(y, i32), ViewGlobal(p, shape=[32]))\n"));
  CHECK_EQ(program_line_of(text, "tv::u32 x[1]"), 3);
  CHECK_EQ(program_line_of(text, "if (n == 1)"), 4);
  CHECK_EQ(program_line_of(text, "else if (n == t)"), 6);
  CHECK_EQ(program_line_of(text, "tv::u32 y[1]"), 8);
}

}  // namespace
}  // namespace tilevm::backend
