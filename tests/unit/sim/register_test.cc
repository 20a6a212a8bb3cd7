// Register tiles: views, casts, arithmetic in place, tiles as values.
#include <doctest/doctest.h>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/launch/plan.h"
#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

std::vector<std::uint8_t> count_up(std::size_t bytes) {
  std::vector<std::uint8_t> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::uint8_t>(i * 37 + 11);
  return result;
}

}  // namespace

TEST_CASE("bit j of a thread stays bit j of that thread through any chain of views") {
  const auto program = load(R"(
def f<1>(u8* p, u8* q):
    a = LoadGlobal(ViewGlobal(p, shape=[96]), layout=spatial(32).local(3))
    b = View(a, dtype=i6, layout=local(2, 1).column_spatial(4, 8).local(2, 1))
    c = View(b, dtype=u3, layout=spatial(32).local(8))
    d = View(c, dtype=u1, layout=local(24).spatial(32))
    e = View(d, dtype=u8, layout=spatial(32).local(3))
    StoreGlobal(e, ViewGlobal(q, shape=[96]))
)");
  std::vector<Buffer> memory{{"p", count_up(96)}, {"q", std::vector<std::uint8_t>(96)}};
  run_well(program, {0, 1}, memory);
  CHECK(memory[1].bytes == memory[0].bytes);
}

TEST_CASE("tiles are values: writing the source does not change its view, nor the reverse") {
  const auto program = load(R"(
def f<1>(i32* p, i32* q):
    g = ViewGlobal(q, shape=[6, 4])
    a = LoadGlobal(ViewGlobal(p, shape=[4]), layout=local(4))
    v = View(a, dtype=u32)
    w = View(a, dtype=i32)
    for i in range(2):
        Add(a, a, out=a)
        x = View(a, dtype=i32)
        Neg(w, out=w)
        StoreGlobal(x, g, offset=[i, 0:])
    StoreGlobal(View(v, dtype=i32), g, offset=[2, 0:])
    StoreGlobal(w, g, offset=[3, 0:])
    StoreGlobal(a, g, offset=[4, 0:])
)");
  std::vector<Buffer> memory{buffer<std::int32_t>("p", {1, 2, 3, 4}),
                             buffer("q", std::vector<std::int32_t>(24))};
  run_well(program, {0, 1}, memory);
  CHECK(values<std::int32_t>(memory[1]) == std::vector<std::int32_t>{2, 4, 6,  8,  4, 8, 12, 16,
                                                                     1, 2, 3,  4,  1, 2, 3,  4,
                                                                     4, 8, 12, 16, 0, 0, 0,  0});
}

TEST_CASE("a view of a tile that is never written again costs no registers") {
  const auto free = load(
      "def f<1>(u8* p):\n    a = LoadGlobal(ViewGlobal(p, shape=[96]), "
      "layout=spatial(32).local(3))\n"
      "    b = View(a, dtype=u4, layout=spatial(32).local(6))\n");
  const auto copied = load(
      "def f<1>(u8* p):\n    a = LoadGlobal(ViewGlobal(p, shape=[96]), "
      "layout=spatial(32).local(3))\n"
      "    b = View(a, dtype=u4, layout=spatial(32).local(6))\n    Neg(a, out=a)\n");
  CHECK(build_plan(free, 0).register_bytes == 128);
  CHECK(build_plan(copied, 0).register_bytes == 256);
}

TEST_CASE("a value goes through a wider type and back unchanged, every type that fits") {
  for (const char* narrow :
       {"i1", "u1", "i3", "u5", "i6", "i8", "u8", "f4e2m1", "f6e3m2", "f8e4m3"}) {
    for (const char* wide : {"f16", "f32", "f64", "bf16"}) {
      const auto program = load(std::string("def f<1>(") + narrow + "* p, " + narrow +
                                "* q):\n    a = LoadGlobal(ViewGlobal(p, shape=[256]), "
                                "layout=local(2).spatial(32).local(4))\n"
                                "    b = Cast(Cast(a, " +
                                wide + "), " + narrow +
                                ")\n"
                                "    StoreGlobal(b, ViewGlobal(q, shape=[256]))\n");
      const isa::DType type = *isa::parse_dtype(narrow);
      std::vector<Buffer> memory{{"p", std::vector<std::uint8_t>(std::size_t{32} * type.bits)},
                                 {"q", std::vector<std::uint8_t>(std::size_t{32} * type.bits)}};
      for (std::size_t i = 0; i < 256; ++i) {  // every code in its canonical form
        const auto code = isa::encode(type, isa::decode(type, i & isa::low_mask(type.bits)));
        isa::put_bits(memory[0].bytes.data(), i * type.bits, type.bits, code);
      }
      run_well(program, {0, 1}, memory);
      CHECK(memory[1].bytes == memory[0].bytes);
    }
  }
}

TEST_CASE("casts and arithmetic of 64-bit types follow the definitions of the types") {
  const auto program = load(R"(
def f<1>(i64* p, f64* q, i64* r):
    a = LoadGlobal(ViewGlobal(p, shape=[4]), layout=spatial(2).local(2))
    x = Cast(a, f64)
    StoreGlobal(Sub(Mul(x, x), x), ViewGlobal(q, shape=[4]))
    StoreGlobal(Neg(Mul(a, a)), ViewGlobal(r, shape=[4]))
)");
  const std::vector<std::int64_t> p{3, -7, std::int64_t{1} << 62, (std::int64_t{1} << 53) + 1};
  std::vector<Buffer> memory{buffer("p", p), buffer("q", std::vector<double>(4)),
                             buffer("r", std::vector<std::int64_t>(4))};
  run_well(program, {0, 1, 2}, memory);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto x = static_cast<double>(p[i]);
    CHECK(values<double>(memory[1])[i] == x * x - x);
    const auto square = static_cast<std::uint64_t>(p[i]) * static_cast<std::uint64_t>(p[i]);
    CHECK(values<std::uint64_t>(memory[2])[i] == 0 - square);
  }
}

TEST_CASE("init is converted to the element type as Cast does, in every thread and place") {
  const auto program = load(R"(
const T: dtype = f16
def f<1>(T* p, i32 n, f32 x):
    g = ViewGlobal(p, shape=[3, 24])
    StoreGlobal(AllocateRegister(T, layout=spatial(8).local(3), init=n), g, offset=[0, 0:])
    StoreGlobal(AllocateRegister(T, layout=spatial(8).local(3), init=x), g, offset=[1, 0:])
    StoreGlobal(AllocateRegister(T, layout=spatial(8).local(3)), g, offset=[2, 0:])
)");
  for (const char* name : {"f16", "i6", "u3", "f6e2m3", "f64", "u8"}) {
    const auto typed = load(std::string(program.source().text()), {{"T", name}});
    const isa::DType type = *isa::parse_dtype(name);
    std::vector<Buffer> memory{{"p", std::vector<std::uint8_t>(std::size_t{9} * type.bits, 0xff)}};
    run_well(typed, {0, isa::Scalar::i32(-100), isa::Scalar::f32(2.75F)}, memory,
             {.threads = 1, .checks = {.uninitialized = false}});
    const std::uint64_t expected[] = {isa::cast(isa::i32, type, static_cast<std::uint32_t>(-100)),
                                      isa::cast(isa::f32, type, 0x40300000), 0};
    for (std::size_t i = 0; i < 72; ++i) {
      CHECK(isa::get_bits(memory[0].bytes.data(), i * type.bits, type.bits) == expected[i / 24]);
    }
  }
}

TEST_CASE("a tile of many bits in each thread is worked on in pieces") {
  const auto program = load(R"(
def f<1>(u2* p, u2* q):
    a = LoadGlobal(ViewGlobal(p, shape=[4, 4000]), layout=spatial(4, 1).local(1, 4000))
    StoreGlobal(Cast(Add(Cast(a, u8), Cast(a, u8)), u2), ViewGlobal(q, shape=[4, 4000]))
)");
  std::vector<Buffer> memory{{"p", count_up(4000)}, {"q", std::vector<std::uint8_t>(4000)}};
  run_well(program, {0, 1}, memory);
  for (std::size_t i = 0; i < 16000; ++i) {
    const auto before = isa::get_bits(memory[0].bytes.data(), 2 * i, 2);
    REQUIRE(isa::get_bits(memory[1].bytes.data(), 2 * i, 2) == (2 * before & 3));
  }
}
