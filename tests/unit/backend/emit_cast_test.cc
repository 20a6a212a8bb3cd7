// What is emitted for casts: chains that are looked through, sums that are part of a cast.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "backend/compile/toolchain.h"
#include "backend/emit/emit.h"
#include "isa/type/dtype.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

/// A kernel that makes 16 elements of `q` in each of 32 threads from a lane stream of bytes `b`.
std::string lane_stream_kernel(const std::string& name, const isa::DType& type,
                               const std::string& body) {
  const int bits = type.bits;
  return fmt::format(
             "def {}<1>(u8* in_ptr, f16* half_ptr, bf16* brain_ptr, i8* byte_ptr):\n"
             "    b = LoadGlobal(ViewGlobal(in_ptr, shape=[{}]), layout=spatial(32).local({}))\n"
             "    raw = View(b, dtype=u1, layout=spatial(32, 1, 1).local(1, 1, {}).local(1, 2, 1)"
             ".local(1, 1, 16))\n"
             "    seq = ConvertLayout(raw, layout=spatial(32, 1, 1).local(1, 1, 16).local(1, 2, 1)"
             ".local(1, 1, {}))\n"
             "    q = View(seq, dtype={}, layout=spatial(32).local(32))\n",
             name, 128 * bits, 4 * bits, bits, bits, to_string(type)) +
         body;
}

/// The emitted text without the prelude; long lines are broken, so any white space is one space.
std::string own_text(const std::string& program) {
  const CudaSource source = emit_cuda(make_program(program));
  std::istringstream words(source.text.substr(source.prelude_size));
  std::string text;
  for (std::string word; words >> word;) text += word + " ";
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string store_half =
    "    StoreGlobal(Cast(q, f16), ViewGlobal(half_ptr, shape=[1024]))\n";

TEST_CASE("a cast takes its bits from the beginning of a chain, which is not emitted") {
  const auto type = isa::unsigned_int(4);
  const std::string text = own_text(lane_stream_kernel("f", type, store_half));
  CHECK(has(text, "tv::and_xor(b[i_], 0xf000fu, 0x64006400u)"));
  for (const char* link : {"raw[", "seq[", "q["}) CHECK_FALSE(has(text, link));
  const std::string shown = own_text(lane_stream_kernel("f", type, store_half + "    Print(q)\n"));
  CHECK(has(shown, "tv::u32 q["));
  CHECK(has(shown, "tv::and_xor(b[i_], 0xf000fu, 0x64006400u)"));
  for (const char* link : {"raw[", "seq["}) CHECK_FALSE(has(shown, link));
}

TEST_CASE("a chain begins behind what may change before it is read") {
  const std::string text = own_text(R"(
def f<1>(u8* p, f16* h):
    b = LoadGlobal(ViewGlobal(p, shape=[128]), layout=spatial(32).local(4))
    q = View(b, dtype=u4, layout=spatial(32).local(8))
    LoadGlobal(ViewGlobal(p, shape=[256]), layout=spatial(32).local(4), offset=[128:], out=b)
    StoreGlobal(Cast(q, f16), ViewGlobal(h, shape=[256]))
    StoreGlobal(Cast(View(b, dtype=u4, layout=spatial(32).local(8)), f16), ViewGlobal(h, shape=[256]))
)");
  CHECK(has(text, "tv::copy_words<1>(q, b);"));
  CHECK(has(text, "tv::and_xor(q[0], "));
  CHECK_FALSE(has(text, "tv::and_xor(b[0], "));
}

/// The sum of the lane-stream kernel with u4 weights.
std::string sum_text(const std::string& body) {
  return own_text(lane_stream_kernel("f", isa::unsigned_int(4), body));
}

TEST_CASE("a cast adds a constant") {
  const std::string zero =
      "    zero = AllocateRegister(f16, layout=spatial(32).local(32), init=8)\n";
  const std::string store = "    StoreGlobal(c, ViewGlobal(half_ptr, shape=[1024]))\n";
  const std::string cast = "    a = Cast(q, f16)\n";
  // -1024 - 8
  CHECK(has(sum_text(zero + cast + "    c = Sub(a, zero)\n" + store), "0xe408e408u)"));
  CHECK(has(sum_text(zero + cast + "    c = Add(a, zero)\n" + store), "0xe3f0e3f0u)"));
  for (const std::string& other :
       {zero + cast + "    c = Sub(zero, a)\n" + store,
        zero + cast + "    c = Sub(a, zero)\n    c = Add(c, a)\n" + store,
        zero + "    zero = Add(zero, zero)\n" + cast + "    c = Sub(a, zero)\n" + store,
        zero + cast + "    for i in range(3):\n        c = Sub(a, zero)\n    " + store}) {
    const std::string text = sum_text(other);
    CHECK(has(text, "0xe400e400u)"));
    CHECK(has(text, "tv::binary_tile<tv::Sub, tile::f16, 32>"));
  }
}

TEST_CASE("a cast to the same type is nothing where only arithmetic reads it") {
  const auto text = [](const std::string& body, const std::string& type = "f32") {
    return own_text("def f<1>(" + type + "* p, " + type +
                    "* r):\n    x = LoadGlobal(ViewGlobal(p, shape=[64]), layout=spatial(32)"
                    ".local(2))\n    y = Cast(x, " +
                    type + ")\n" + body);
  };
  const std::string store = "    StoreGlobal(z, ViewGlobal(r, shape=[64]))\n";
  const std::string view = "    v = View(y, layout=local(2).spatial(32))\n";
  for (const std::string& body : {"    z = Add(y, x)\n" + store, "    z = Fma(x, x, y)\n" + store,
                                  view + "    z = Mul(v, v)\n" + store}) {
    CHECK_FALSE(has(text(body), "tv::cast_tile"));
    CHECK(has(text(body), "tv::copy_words<2>(y, x);"));
  }
  // A NaN stays what it is in all of these, and a tf32 may have bits without meaning.
  for (const std::string& body :
       {"    z = Add(y, x)\n    StoreGlobal(y, ViewGlobal(r, shape=[64]))\n" + store,
        "    z = Add(y, x)\n    Print(y)\n" + store,
        view + "    z = Mul(v, v)\n    StoreGlobal(v, ViewGlobal(r, shape=[64]))\n" + store,
        "    z = Add(y, x)\n    w = View(y, dtype=u32)\n    Print(w)\n" + store,
        "    z = Max(y, x)\n" + store}) {
    CHECK(has(text(body), "tv::cast_tile<tile::f32, tile::f32, 2>"));
  }
  CHECK(has(text("    z = Add(y, x)\n" + store, "tf32"), "tv::cast_tile"));
}

TEST_CASE("casts of every type compile, from both orders of bits") {
  std::string program;
  for (const isa::DType& type : isa::all_dtypes()) {
    if (type.bits > 8) continue;
    const std::string name = to_string(type);
    program += lane_stream_kernel(
        "lanes_" + name, type,
        store_half +
            "    StoreGlobal(Cast(q, bf16), ViewGlobal(brain_ptr, shape=[1024]))\n"
            "    StoreGlobal(Cast(q, i8), ViewGlobal(byte_ptr, shape=[1024]))\n");
    program += fmt::format(
        "def order_{0}<1>({0}* p, f16* h, bf16* b):\n"
        "    q = LoadGlobal(ViewGlobal(p, shape=[288]), layout=spatial(32).local(9))\n"
        "    StoreGlobal(Cast(q, f16), ViewGlobal(h, shape=[288]))\n"
        "    StoreGlobal(Cast(q, bf16), ViewGlobal(b, shape=[288]))\n",
        name);
  }
  for (const isa::Target& target : {isa::Target{80, false}, isa::Target{90, true}}) {
    CompileRequest request;
    request.source = emit_cuda(make_program(program, target)).text;
    request.target = to_string(target);
    request.extra_options = {"-Xptxas", "-v"};
    const Result<Compiled> compiled = compile_cuda(request);
    if (!compiled && compiled.error().kind == ErrorKind::unavailable) {
      MESSAGE("skipped: " << compiled.error().message);
      return;
    }
    const std::string problem = compiled ? "" : compiled.error().message;
    REQUIRE_MESSAGE(compiled.ok(), problem);
    CHECK_MESSAGE(!has(compiled->log, "warning"), compiled->log);
  }
}

}  // namespace
}  // namespace tilevm::backend
