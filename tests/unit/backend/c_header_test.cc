// The C header of compiled kernels: compiled by the host's C and C++ compilers against a stand-in
// for cuda.h that shows what a launch is given, and run.
#include "backend/export/c_header.h"

#include <filesystem>
#include <random>
#include <sstream>

#include <fmt/format.h>

#include "backend/compile/fatbin.h"
#include "backend/export/c_expr.h"
#include "backend/host/tool_search.h"
#include "tests/unit/backend/emit_support.h"
#include "tests/unit/backend/toolchain_support.h"

namespace tilevm::backend {
namespace {

constexpr const char* stand_in = R"(#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 } CUresult;
typedef enum { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 } CUfunction_attribute;
typedef struct CUfunc_st* CUfunction;
typedef struct CUmod_st* CUmodule;
typedef struct CUstream_st* CUstream;
typedef unsigned long long CUdeviceptr;
static inline CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  *module = NULL;
  printf("image %.5s\n", (const char*)image);
  return CUDA_SUCCESS;
}
static inline CUresult cuModuleGetFunction(CUfunction* f, CUmodule module, const char* name) {
  (void)module;
  *f = NULL;
  printf("get %s\n", name);
  return CUDA_SUCCESS;
}
static inline CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value) {
  (void)f;
  printf("attribute %d = %d\n", (int)a, value);
  return CUDA_SUCCESS;
}
static inline CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char byte, size_t n, CUstream s) {
  (void)s;
  printf("set %llu..%llu to %d\n", p, p + n, byte);
  return CUDA_SUCCESS;
}
typedef uint64_t cuuint64_t;
typedef uint32_t cuuint32_t;
typedef struct { cuuint64_t opaque[16]; } CUtensorMap;
typedef enum { CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6 } CUtensorMapDataType;
typedef enum { CU_TENSOR_MAP_INTERLEAVE_NONE } CUtensorMapInterleave;
typedef enum { CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B = 3 } CUtensorMapSwizzle;
typedef enum { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 } CUtensorMapL2promotion;
typedef enum {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
} CUtensorMapFloatOOBfill;
static inline CUresult cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* tensor,
    const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  cuuint32_t d;
  if ((uintptr_t)map % 64 != 0 || interleave != 0 || steps[0] != 1 || extents[0] - 1 >= 1000000) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  memset(map, 77, 128);
  printf("map type %d of %d at %d, swizzle %d, promotion %d, fill %d:", (int)type, (int)rank,
         (int)(uintptr_t)tensor, (int)swizzle, (int)promotion, (int)fill);
  for (d = 0; d < rank; ++d) printf(" %d/%u", (int)extents[d], box[d]);
  for (d = 0; d + 1 < rank; ++d) printf(", %d bytes", (int)strides[d]);
  printf("\n");
  return CUDA_SUCCESS;
}
static inline CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z,
                                      unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                      CUstream stream, void** arguments, void** extra) {
  (void)f; (void)stream; (void)extra;
  printf("launch %u %u %u of %u %u %u with %u:", x, y, z, bx, by, bz, shared);
  for (; *arguments != NULL; ++arguments) {
    uint32_t word;
    memcpy(&word, *arguments, 1);
    printf(" %u", word & 0xff);
  }
  printf("\n");
  return CUDA_SUCCESS;
}
)";

std::string header_of(const isa::VerifiedProgram& program, const std::string& image = "") {
  const Result<std::string> text =
      c_header(program, {emit_cuda(program)}, {"my-kernels", {"sm_90a"}, image});
  REQUIRE_MESSAGE(text, text.error().message);
  return *text;
}

/// A compiler and the flags of one language.
struct Language {
  const char* compiler;
  const char* flags;
  const char* file;
};
constexpr Language c99{"cc", "-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Werror", "main.c"};
constexpr Language cpp{"c++", "-std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror", "main.cc"};

/// Output of a program that includes `header` as k.h; nothing, and a visible skip, without a
/// compiler.
std::optional<std::string> output_of(const Language& language, const std::string& header,
                                     const std::string& main) {
  const Result<std::string> shell = find_named_program("sh", "sh");
  const Result<std::string> compiler = find_named_program(language.compiler, language.compiler);
  if (!shell || !compiler) {
    skip("a header", "there is no compiler `" + std::string(language.compiler) + "`");
    return {};
  }
  const TemporaryFolder folder = *TemporaryFolder::make();
  REQUIRE(write_whole_file(folder.path() + "/cuda.h", stand_in));
  REQUIRE(write_whole_file(folder.path() + "/k.h", header));
  REQUIRE(write_whole_file(folder.path() + "/" + language.file,
                           "#include \"k.h\"\nint main(void) {\n" + main + "return 0;\n}\n"));
  const std::string command =
      fmt::format("{} {} -I. {} -o main && ./main", *compiler, language.flags, language.file);
  const Result<ProcessResult> result =
      run_process({.program = *shell,
                   .arguments = {"-c", command},
                   .folder = folder.path(),
                   .dropped_variables = {},
                   .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100)});
  REQUIRE_MESSAGE(result, result.error().message);
  CHECK_MESSAGE(result->exit_status == 0, result->output);
  return result->output;
}

/// Names that mean something to C, to cuda.h or to the header itself.
constexpr const char* awkward =
    R"(def int<cdiv(n, 16), uint64_t>(f16* register, i32 n, i64 uint64_t, bool x, u8* workspace):
    g = ViewGlobal(register, shape=[n])
    s = AllocateShared(f16, shape=[64, 1024])
    w = AllocateGlobal(i32, shape=[10])
    v = AllocateGlobal(i32, shape=[100])

def int_launch<1>(f16* cuMemsetD8Async, f32 stream):
    g = ViewGlobal(cuMemsetD8Async, shape=[4])
)";

TEST_CASE("a launch gets what the program says, whatever its names are") {
  std::string text = awkward;
  text.replace(text.find("cdiv(n, 16)"), 11, "(n + 15) / 16");
  const std::string header = header_of(make_program(text), "IMAGE");
  for (const Language& language : {c99, cpp}) {
    const auto output = output_of(language, header, R"(
  CUmodule module;
  CUfunction function;
  unsigned grid[3];
  my_kernels_load(&module);
  my_kernels_int_v_load(&function, module);
  my_kernels_int_v_launch(function, NULL, 7, 33, 2, true, 9, 256);
  my_kernels_int_launch_load(&function, module);
  my_kernels_int_launch_launch(function, NULL, 5, 0.0f);
  printf("%d ", my_kernels_int_v_grid(0, 1, true, grid) == CUDA_ERROR_INVALID_VALUE);
  printf("%d ", my_kernels_int_v_grid(1, 65535, true, grid) == CUDA_SUCCESS);
  printf("%d ", my_kernels_int_v_grid(1, 65536, true, grid) == CUDA_ERROR_INVALID_VALUE);
  printf("%d ", my_kernels_int_v_grid(-2147483647 - 1, 1, true, grid) == CUDA_SUCCESS);
  printf("%s %d %d %d\n", my_kernels_int_v_entry, my_kernels_int_v_threads,
         my_kernels_int_v_shared, my_kernels_int_v_workspace);
)");
    if (!output) return;
    CHECK(*output ==
          "image IMAGE\n"
          "get int_kernel\n"
          "attribute 8 = 131072\n"
          "launch 3 2 1 of 1 1 1 with 131072: 7 33 2 1 9 0 0\n"
          "get int_launch_kernel\n"
          "launch 1 1 1 of 1 1 1 with 0: 5 0\n"
          "1 1 1 0 int_kernel 1 131072 768\n");
  }
}

TEST_CASE("a launch makes the tensor maps of its views and passes them on") {
  const std::string header = header_of(make_program(R"(
def k<1>(f16* x_ptr, u8* map_, i32 n, i32 extents):
    x = ViewGlobal(x_ptr, shape=[n, 2 * extents])
    y = ViewGlobal(map_, shape=[n / extents])
    s = AllocateShared(f16, shape=[16, 64], layout=memory_layout([16, 64], [16, 64], [64, 1]).swizzle(3, 3, 3))
    t = AllocateShared(u8, shape=[32])
    full = AllocateBarrier(arrivals=1)
    Synchronize()
    with single_thread():
        ArriveExpect(full, bytes=2048 + 32)
        CopyAsyncTensorGlobalToShared(s, x, barrier=full, fill_nan=true)
        CopyAsyncTensorGlobalToShared(t, y, barrier=full)
    WaitBarrier(full, 0)
)",
                                                    {90, true}),
                                       "");
  for (const Language& language : {c99, cpp}) {
    const auto output = output_of(language, header, R"(
  my_kernels_k_launch(NULL, NULL, 4096, 8192, 320, 40);
  printf("%d", my_kernels_k_launch(NULL, NULL, 4096, 8192, 320, 0) == CUDA_ERROR_INVALID_VALUE);
  printf("%d\n", my_kernels_k_launch(NULL, NULL, 4096, 8192, 320, -1) == CUDA_SUCCESS);
)");
    if (!output) return;
    CHECK(*output ==
          "map type 6 of 2 at 4096, swizzle 3, promotion 2, fill 1: 80/64 320/16, 160 bytes\n"
          "map type 0 of 1 at 8192, swizzle 0, promotion 2, fill 0: 8/32\n"
          "launch 1 1 1 of 32 1 1 with 2176: 0 0 64 40 77 77\n"
          "10\n");
  }
}

TEST_CASE("a pipeline's launches get tensors, temporary memory and values from its arguments") {
  const std::string header = header_of(make_program(R"(
def scale<cdiv(n, 32)>(u8* x_ptr, u8* y_ptr, i32 n, f32 factor):
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[n]), layout=local(1))
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[n]))

def sum<1>(u8* x_ptr, u8* y_ptr):
    w = AllocateGlobal(i32, shape=[10])
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[1]), layout=local(1))
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[1]))

pipeline main(n: i32, inout x: u8[n], factor: f32):
    t = AllocateGlobal(u8, shape=[n / 2, 2])
    scale(x, t, 2 * n, 0.5)
    scale(t, x, n, factor)
    sum(t, x)
)"),
                                       "");
  for (const Language& language : {c99, cpp}) {
    const auto output = output_of(language, header, R"(
  my_kernels_main_functions functions;
  size_t bytes = 0;
  my_kernels_main_load(&functions, NULL);
  printf("%d ", my_kernels_main_memory(600, 1.0f, &bytes) == CUDA_SUCCESS);
  printf("%d\n", (int)bytes);
  my_kernels_main_launch(&functions, NULL, 600, 16, 1.0f, 32);
  printf("%d ", my_kernels_main_memory(1, 1.0f, &bytes) == CUDA_ERROR_INVALID_VALUE);
  printf("%d\n", my_kernels_main_launch(&functions, NULL, -4, 16, 1.0f, 32) == CUDA_SUCCESS);
)");
    if (!output) return;
    // 600 elements are padded to 768 bytes, and the workspace of `sum` follows; a launch shows the
    // lowest bytes of its arguments.
    CHECK(*output ==
          "get scale_kernel\n"
          "get sum_kernel\n"
          "1 1024\n"
          "launch 38 1 1 of 1 1 1 with 0: 16 32 176 0\n"
          "launch 19 1 1 of 1 1 1 with 0: 32 16 88 0\n"
          "launch 1 1 1 of 1 1 1 with 0: 32 16 32\n"
          "1 0\n");
  }
}

TEST_CASE("the header compiles against NVIDIA's cuda.h") {
  const Result<std::string> nvcc = find_tool("nvcc");
  const std::string include =
      nvcc ? (std::filesystem::path(*nvcc).parent_path().parent_path() / "include").string() : "";
  const Result<std::string> compiler = find_named_program("cc", "cc");
  if (!compiler || !std::filesystem::exists(include + "/cuda.h")) {
    skip("NVIDIA's cuda.h", "the toolkit's headers or a C compiler are missing");
    return;
  }
  const TemporaryFolder folder = *TemporaryFolder::make();
  REQUIRE(
      write_whole_file(folder.path() + "/k.h", header_of(make_program(
                                                             R"(def k<n / m>(f16* p, i32 n, i32 m):
    g = ViewGlobal(p, shape=[n])
    s = AllocateShared(f16, shape=[64, 1024])
)"),
                                                         "IMAGE")));
  REQUIRE(write_whole_file(folder.path() + "/main.c", "#include \"k.h\"\n"));
  const Result<ProcessResult> result =
      run_process({.program = *compiler,
                   .arguments = {"-std=c99", "-Wall", "-Wextra", "-Werror", "-isystem", include,
                                 "-fsyntax-only", "main.c"},
                   .folder = folder.path(),
                   .dropped_variables = {},
                   .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100)});
  REQUIRE_MESSAGE(result, result.error().message);
  CHECK_MESSAGE(result->exit_status == 0, result->output);
}

// --- Expressions ----------------------------------------------------------------------------

using isa::Expr;
using isa::Scalar;
using isa::ScalarKind;

/// Random trees over one variable of each kind of integer.
class Expressions {
 public:
  Expr expression(int depth) {
    if (depth == 0 || draw(6) == 0) return leaf();
    if (const int kind = draw(12); kind < 2) {
      return Expr::convert(expression(depth - 1), static_cast<ScalarKind>(draw(5)));
    } else if (kind < 4) {
      return Expr::unary(static_cast<isa::ScalarUnary>(draw(3)), expression(depth - 1));
    }
    const auto op = static_cast<isa::ScalarBinary>(draw(18));
    Expr a = expression(depth - 1);
    return Expr::binary(op, std::move(a), expression(depth - 1));
  }

  /// Zero, one, the extremes and random bits, at random.
  Scalar value(ScalarKind kind) {
    constexpr std::uint64_t corners[] = {0,     1,          2,          31,         32,
                                         63,    64,         0x7fffffff, 0x80000000, 0xffffffff,
                                         ~0ull, 1ull << 63, ~0ull >> 1, 7};
    const std::uint64_t bits = draw(2) == 0 ? corners[draw(14)] : random_();
    return isa::convert({ScalarKind::u64, bits}, kind);
  }

 private:
  Expr leaf() {
    const int kind = draw(5);
    const auto type = static_cast<ScalarKind>(kind);
    if (draw(3) == 0) return Expr::constant(value(type));
    return Expr::variable(isa::VarId{kind}, "v", type);
  }
  int draw(int choices) { return static_cast<int>(random_() % static_cast<unsigned>(choices)); }
  std::mt19937_64 random_{12345};
};

TEST_CASE("an expression has the value in C that it has in the program") {
  constexpr int count = 400, points = 20;
  Expressions random;
  std::string header =
      "#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n" + c_expression_helpers("h");
  std::string main, expected;
  for (int i = 0; i < count; ++i) {
    const Expr expr = random.expression(5);
    header += fmt::format(
        "static void f{}(bool v0, int32_t v1, uint32_t v2, int64_t v3, uint64_t v4) {{\n"
        "  int fault = 0;\n  uint64_t value = (uint64_t){};\n"
        "  (void)v0; (void)v1; (void)v2; (void)v3; (void)v4;\n"
        "  if (fault) puts(\"fault\"); else printf(\"%llx\\n\", (unsigned long long)value);\n}}\n",
        i, c_expression(expr, "h", [](isa::VarId var) { return fmt::format("v{}", var.index); }));
    for (int p = 0; p < points; ++p) {
      std::vector<Scalar> values;
      for (int kind = 0; kind < 5; ++kind) {
        values.push_back(random.value(static_cast<ScalarKind>(kind)));
      }
      main += fmt::format("f{}({}, (int32_t){}u, {}u, (int64_t){}u, {}u);\n", i, values[0].bits,
                          values[1].bits, values[2].bits, values[3].bits, values[4].bits);
      const auto value = isa::evaluate(
          expr, [&](isa::VarId var) { return values[static_cast<std::size_t>(var.index)]; });
      expected += value ? fmt::format("{:x}\n", value->bits) : "fault\n";
    }
  }
  for (const Language& language : {c99, cpp}) {
    Language plain = language;
    // What a compiler remarks on random expressions is right.
    plain.flags = language.file == c99.file ? "-std=c99 -w" : "-std=c++17 -w";
    const auto output = output_of(plain, header, main);
    if (output) CHECK(*output == expected);
  }
}

TEST_CASE("a program whose kernels cannot stand in a header gets the reason") {
  const auto error_of = [](const std::string& text) {
    const isa::VerifiedProgram program = make_program(text);
    const Result<std::string> header = c_header(program, {emit_cuda(program)}, {"k", {}, ""});
    REQUIRE_FALSE(header);
    CHECK(header.error().kind == ErrorKind::program);
    return header.error().message;
  };
  CHECK(contains(error_of("def k<1>(i32 n):\n    Print(AllocateRegister(i32, layout=local(1), "
                          "init=n))\n"),
                 "there is no header for `k`: it prints"));
  CHECK(contains(error_of("def k<n + (s > 0.5)>(f16* p, i32 n, f32 s):\n"
                          "    g = ViewGlobal(p, shape=[n])\n"),
                 "there is no header for `k`: its grid computes with f32"));
}

}  // namespace
}  // namespace tilevm::backend
