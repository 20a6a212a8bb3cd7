// Loads, stores, views of memory and their faults.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <numeric>

#include "isa/type/bits.h"
#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

std::vector<std::uint8_t> noise(std::size_t bytes, std::uint64_t seed = 1) {
  std::vector<std::uint8_t> result(bytes);
  for (auto& byte : result) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::uint8_t>(seed >> 56);
  }
  return result;
}

std::uint64_t element(const Buffer& buffer, std::size_t k, unsigned bits) {
  return isa::get_bits(buffer.bytes.data(), k * bits, bits);
}

}  // namespace

TEST_CASE("a vector of odd size is added, and nothing behind it is touched") {
  const auto program = load(
      "def add<(n + 255) / 256>(f32* a_ptr, f32* b_ptr, f32* c_ptr, i32 n):\n"
      "    t = BlockIndices()\n"
      "    a = LoadGlobal(ViewGlobal(a_ptr, shape=[n]), layout=spatial(64).local(4), offset=[t * "
      "256:])\n"
      "    b = LoadGlobal(ViewGlobal(b_ptr, shape=[n]), layout=spatial(64).local(4), offset=[t * "
      "256:])\n"
      "    StoreGlobal(Add(a, b), ViewGlobal(c_ptr, shape=[n]), offset=[t * 256:])\n");
  std::vector<float> a(1000), b(1000);
  std::iota(a.begin(), a.end(), 1.0F);
  std::iota(b.begin(), b.end(), 0.5F);
  for (const std::int32_t n : {1, 255, 256, 257, 999}) {
    std::vector<Buffer> memory{buffer("a", a), buffer("b", b),
                               buffer("c", std::vector<float>(1000, -1.0F))};
    run_well(program, {0, 1, 2, isa::Scalar::i32(n)}, memory);
    const auto c = values<float>(memory[2]);
    for (std::size_t i = 0; i < c.size(); ++i) {
      CHECK(c[i] == (i < static_cast<std::size_t>(n) ? a[i] + b[i] : -1.0F));
    }
  }
}

TEST_CASE("outside of a view's extents loads give zero and stores are skipped, on every side") {
  const auto program = load(
      "def f<1>(i32* p, i32* q, i32 y, i32 x):\n"
      "    g = ViewGlobal(p, shape=[4, 5])\n"
      "    t = LoadGlobal(g, layout=spatial(2, 2).local(1, 2), offset=[y:, x:])\n"
      "    StoreGlobal(t, ViewGlobal(q, shape=[2, 4]))\n"
      "    StoreGlobal(AllocateRegister(i32, layout=spatial(2, 2).local(1, 2), init=7), g, "
      "offset=[y:, x:])\n");
  for (const int y : {-2, -1, 0, 2, 3, 4, 1000000, -2147483647 - 1}) {
    for (const int x : {-4, -1, 0, 1, 2, 4, 5, 2147483647}) {
      std::vector<std::int32_t> source(20);
      std::iota(source.begin(), source.end(), 1);
      std::vector<Buffer> memory{buffer("p", source),
                                 buffer("q", std::vector<std::int32_t>(8, -1))};
      run_well(program, {0, 1, isa::Scalar::i32(y), isa::Scalar::i32(x)}, memory);
      auto stored = source;
      std::vector<std::int32_t> loaded;
      for (std::int64_t r = y; r < std::int64_t{y} + 2; ++r) {
        for (std::int64_t c = x; c < std::int64_t{x} + 4; ++c) {
          const bool inside = r >= 0 && r < 4 && c >= 0 && c < 5;
          loaded.push_back(inside ? source[static_cast<std::size_t>(r * 5 + c)] : 0);
          if (inside) stored[static_cast<std::size_t>(r * 5 + c)] = 7;
        }
      }
      CHECK(values<std::int32_t>(memory[1]) == loaded);
      CHECK(values<std::int32_t>(memory[0]) == stored);
    }
  }
}

TEST_CASE("stores narrower than a byte leave their neighbours alone, also from several threads") {
  const auto program = load(
      "const T: dtype = i6\n"
      "def f<21>(T* p, T* q):\n    t = BlockIndices()\n"
      "    x = LoadGlobal(ViewGlobal(p, shape=[63]), layout=local(3), offset=[3 * t:])\n"
      "    StoreGlobal(x, ViewGlobal(q, shape=[64]), offset=[3 * t + 1:])\n");
  for (const int threads : {1, 4}) {
    std::vector<Buffer> memory{{"p", noise(48)}, {"q", noise(48, 7)}};
    const auto before = memory;
    run_well(program, {0, 1}, memory, {.threads = threads});
    CHECK(element(memory[1], 0, 6) == element(before[1], 0, 6));
    for (std::size_t k = 0; k < 63; ++k) {
      CHECK(element(memory[1], k + 1, 6) == element(before[0], k, 6));
    }
  }
}

TEST_CASE("a tile goes from any memory layout to any other, in every width") {
  const std::vector<std::string> layouts = {"row_major",
                                            "column_major",
                                            "strides(1, 8)",
                                            "strides(9, 1)",
                                            "row_major(4, 8).swizzle(0, 2, 3)",
                                            "memory_layout([4, 8], [4, 2, 4], [8, 4, 1])",
                                            "memory_layout([4, 8], [2, 2, 8], [16, 1, 2])"};
  const auto offset_in = [](std::size_t layout, std::int64_t y, std::int64_t x) -> std::int64_t {
    switch (layout) {
      case 0:
      case 5:
        return 8 * y + x;
      case 1:
        return y + 4 * x;
      case 2:
        return y + 8 * x;
      case 3:
        return 9 * y + x;
      case 4: {
        const std::int64_t o = 8 * y + x;
        return o ^ ((o >> 3) & 3);
      }
      default:
        return 16 * (y / 2) + y % 2 + 2 * x;
    }
  };
  for (const char* type : {"u1", "i3", "u4", "i6", "u7", "i8", "f16", "f32", "f64"}) {
    const unsigned bits = isa::parse_dtype(type)->bits;
    for (std::size_t from = 0; from < layouts.size(); ++from) {
      for (std::size_t to = 0; to < layouts.size(); ++to) {
        const auto program =
            load(std::string("def f<1>(") + type + "* p, " + type +
                 "* q):\n    t = LoadGlobal(ViewGlobal(p, shape=[4, 8], layout=" + layouts[from] +
                 "), layout=local(2, 2).spatial(2, 2).local(1, 2))\n"
                 "    StoreGlobal(t, ViewGlobal(q, shape=[4, 8], layout=" +
                 layouts[to] + "))\n");
        std::vector<Buffer> memory{{"p", noise(64 * bits / 8)}, {"q", noise(64 * bits / 8, 3)}};
        auto expected = memory[1];
        for (std::int64_t y = 0; y < 4; ++y) {
          for (std::int64_t x = 0; x < 8; ++x) {
            const auto k = static_cast<std::size_t>(offset_in(from, y, x));
            const auto m = static_cast<std::size_t>(offset_in(to, y, x));
            isa::put_bits(expected.bytes.data(), m * bits, bits, element(memory[0], k, bits));
          }
        }
        run_well(program, {0, 1}, memory);
        CHECK(memory[1].bytes == expected.bytes);
      }
    }
  }
}

TEST_CASE("strides may be known only at run time, zero, or change from view to view") {
  const auto program = load(
      "def f<1>(i32* p, i32* q):\n"
      "    for i in range(4):\n"
      "        g = ViewGlobal(p, shape=[2, 3], layout=strides(i, 1))\n"
      "        t = LoadGlobal(g, layout=local(2, 3))\n"
      "        StoreGlobal(t, ViewGlobal(q, shape=[4, 2, 3]), offset=[i, 0:, 0:])\n");
  std::vector<Buffer> memory{buffer<std::int32_t>("p", {10, 11, 12, 13, 14, 15}),
                             buffer("q", std::vector<std::int32_t>(24))};
  run_well(program, {0, 1}, memory);
  const auto q = values<std::int32_t>(memory[1]);
  for (std::int32_t i = 0; i < 4; ++i) {
    for (std::int32_t y = 0; y < 2; ++y) {
      for (std::int32_t x = 0; x < 3; ++x) {
        CHECK(q[static_cast<std::size_t>(6 * i + 3 * y + x)] == 10 + i * y + x);
      }
    }
  }
}

TEST_CASE("a negative stride runs backwards") {
  const auto program = load(
      "def f<1>(i32* p, i32* q, i32 s):\n"
      "    t = LoadGlobal(ViewGlobal(p, shape=[2, 3], layout=strides(3, s)), layout=local(1, 3), "
      "offset=[1:, 0:])\n"
      "    StoreGlobal(t, ViewGlobal(q, shape=[1, 3]))\n");
  std::vector<Buffer> memory{buffer<std::int32_t>("p", {0, 1, 2, 3, 4, 5}),
                             buffer("q", std::vector<std::int32_t>(3))};
  run_well(program, {0, 1, isa::Scalar::i32(-1)}, memory);
  CHECK(values<std::int32_t>(memory[1]) == std::vector<std::int32_t>{3, 2, 1});
}

TEST_CASE("threads at even strides, upward and downward, in runs and in one piece") {
  // Rows of 3 by runs of 2: layouts whose threads follow each other in memory, or do not.
  for (const char* layout : {"local(3, 1).spatial(1, 8).local(1, 2)", "spatial(3, 8).local(1, 2)",
                             "spatial(1, 8).local(3, 2)", "local(3, 2).spatial(1, 8)"}) {
    for (const std::int32_t s : {1, -1, 2}) {
      const auto program = load(std::string("def f<1>(i16* p, i16* q, i32 s):\n"
                                            "    L = ViewGlobal(p, shape=[99, 16], "
                                            "layout=strides(16, s))\n"
                                            "    t = LoadGlobal(L, layout=") +
                                layout +
                                ", offset=[1:, 0:])\n"
                                "    StoreGlobal(t, ViewGlobal(q, shape=[99, 16], "
                                "layout=strides(32, s)), offset=[1:, 0:])\n");
      std::vector<std::int16_t> p(128), wanted(256, -1);
      std::iota(p.begin(), p.end(), std::int16_t{100});
      for (int i = 1; i < 4; ++i) {
        for (int j = 0; j < 16; ++j) {
          wanted[static_cast<std::size_t>(32 * i + s * j)] =
              p[static_cast<std::size_t>(16 * i + s * j)];
        }
      }
      std::vector<Buffer> memory{buffer("p", p), buffer("q", std::vector<std::int16_t>(256, -1))};
      run_well(program, {0, 1, isa::Scalar::i32(s)}, memory);
      CHECK(values<std::int16_t>(memory[1]) == wanted);
    }
  }
}

TEST_CASE("replicas all load, and each element is stored once") {
  const auto program = load(
      "def f<1>(i32* p, i32* q):\n"
      "    t = LoadGlobal(ViewGlobal(p, shape=[8]), "
      "layout=replicated(2).spatial(4).replicated(2).local(2))\n"
      "    StoreGlobal(Add(t, t), ViewGlobal(q, shape=[8]))\n");
  std::vector<Buffer> memory{buffer<std::int32_t>("p", {1, 2, 3, 4, 5, 6, 7, 8}),
                             buffer("q", std::vector<std::int32_t>(8))};
  run_well(program, {0, 1}, memory);
  CHECK(values<std::int32_t>(memory[1]) == std::vector<std::int32_t>{2, 4, 6, 8, 10, 12, 14, 16});
}

TEST_CASE("workspaces start as zeros and are shared by all blocks of a launch") {
  const auto program = load(
      "def f<4>(i32* q):\n    t = BlockIndices()\n"
      "    w = AllocateGlobal(i32, shape=[4, 2])\n"
      "    v = AllocateGlobal(i32, shape=[2])\n"
      "    x = LoadGlobal(w, layout=local(2), offset=[t, 0:])\n"
      "    StoreGlobal(AllocateRegister(i32, layout=local(2), init=t + 1), w, offset=[t, 0:])\n"
      "    y = LoadGlobal(w, layout=local(2), offset=[t, 0:])\n"
      "    z = LoadGlobal(v, layout=local(2))\n"
      "    StoreGlobal(Add(Add(x, y), z), ViewGlobal(q, shape=[4, 2]), offset=[t, 0:])\n");
  std::vector<Buffer> memory{buffer("q", std::vector<std::int32_t>(8, -1))};
  const Report report = run(program, {0}, memory);
  REQUIRE(report.fault);
  CHECK(report.fault->diagnostic.code == Code::uninitialized_read);
  run_well(program, {0}, memory, {.threads = 1, .checks = {.uninitialized = false}});
  CHECK(values<std::int32_t>(memory[0]) == std::vector<std::int32_t>{1, 1, 2, 2, 3, 3, 4, 4});
}

TEST_CASE("elements inside the view but outside of the buffer are one fault with all facts") {
  const auto program = load(
      "def f<3>(f16* p, i32 n):\n    b = BlockIndices()\n"
      "    g = ViewGlobal(p, shape=[n, 8])\n"
      "    x = LoadGlobal(g, layout=spatial(2, 4).local(1, 2), offset=[2 * b:, 0:])\n");
  std::vector<Buffer> memory{{"numbers", noise(54)}};
  CHECK(!run(program, {0, isa::Scalar::i32(3)}, memory).fault);
  const Report report = run(program, {0, isa::Scalar::i32(100)}, memory);
  REQUIRE(report.fault.has_value());
  const Diagnostic& diagnostic = report.fault->diagnostic;
  CHECK(diagnostic.code == Code::out_of_bounds);
  CHECK(text_at(program, diagnostic.span).find("LoadGlobal") != std::string::npos);
  CHECK(diagnostic.message ==
        "`LoadGlobal` touches memory outside of buffer `numbers`: 5 of 16 elements of the tile, "
        "first `g[3, 3]`, at byte 54 of 54");
  CHECK(report.fault->block == std::vector<std::int64_t>{1});
  CHECK(report.fault->thread == 5);
  REQUIRE(diagnostic.notes.size() == 2);
  CHECK(diagnostic.notes[0].has_span);
  CHECK(diagnostic.notes[1].message == "in block [1], thread 5");
}

TEST_CASE("what reaches beyond the buffer: a view's extents, or its strides") {
  const auto note = [](const std::string& view, const std::string& tile) {
    const auto program =
        load("def f<1>(i8* p):\n    g = ViewGlobal(p, " + view +
             ")\n    StoreGlobal(AllocateRegister(i8, layout=local(" + tile + "), init=1), g)\n");
    std::vector<Buffer> memory{{"p", noise(16)}};
    const Report report = run(program, {0}, memory);
    REQUIRE(report.fault.has_value());
    return report.fault->diagnostic.notes.at(0).message;
  };
  const std::string extents =
      "`g` is viewed here; a view's extents must not reach beyond its buffer";
  CHECK(note("shape=[5, 4]", "5, 4") == extents);
  CHECK(note("shape=[4, 4], layout=strides(8, 1)", "4, 4") ==
        "the 16 elements of this view fit the buffer, which has 16, but its strides [8, 1] reach "
        "beyond it; dense ones are [4, 1]");
  CHECK(note("shape=[4, 5], layout=strides(8, 1)", "4, 5") == extents);
  // A layout of several modes has no strides by dimension.
  CHECK(note("shape=[4, 4], layout=memory_layout([4, 4], [2, 2, 4], [16, 4, 1])", "4, 4") ==
        extents);
}

TEST_CASE("a store outside of the buffer faults, above and below it, strided and swizzled") {
  const auto faults = [](const std::string& view, int offset) {
    const auto program = load("def f<1>(i8* p, i32 n, i32 s):\n    g = " + view +
                              "\n    StoreGlobal(AllocateRegister(i8, layout=local(2, 2), init=1), "
                              "g, offset=[n:, 0:])\n");
    std::vector<Buffer> memory{{"p", noise(16)}};
    const Report report = run(program, {0, isa::Scalar::i32(offset), isa::Scalar::i32(-4)}, memory);
    return report.fault && report.fault->diagnostic.code == Code::out_of_bounds;
  };
  const std::string rows = "ViewGlobal(p, shape=[8, 4])";
  CHECK(!faults(rows, 2));
  CHECK(faults(rows, 3));
  CHECK(!faults(rows, 8));  // outside of the view: skipped
  const std::string backwards = "ViewGlobal(p, shape=[8, 4], layout=strides(s, 1))";
  CHECK(faults(backwards, 0));
  const std::string swizzled =
      "ViewGlobal(p, shape=[8, 4], layout=row_major(8, 4).swizzle(0, 1, 3))";
  CHECK(!faults(swizzled, 2));
  CHECK(faults(swizzled, 3));
}

TEST_CASE("extents and strides that are evaluated in the run are checked") {
  const auto code_for = [](const std::string& view, std::int64_t n) {
    const auto program = load("def f<1>(i8* p, i64 n):\n    g = " + view +
                              "\n    x = LoadGlobal(g, layout=local(2, 2))\n");
    std::vector<Buffer> memory{{"p", noise(16)}};
    const Report report = run(program, {0, isa::Scalar::i64(n)}, memory);
    return report.fault ? std::optional(report.fault->diagnostic.code) : std::nullopt;
  };
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(code_for("ViewGlobal(p, shape=[n, 4])", -1) == Code::bad_shape);
  CHECK(code_for("ViewGlobal(p, shape=[n, 4])", huge) == Code::bad_shape);
  CHECK(code_for("ViewGlobal(p, shape=[n, n, n])", std::int64_t{1} << 30) == Code::bad_shape);
  CHECK(code_for("ViewGlobal(p, shape=[n, 4])", 0) == std::nullopt);
  CHECK(code_for("ViewGlobal(p, shape=[2, 2], layout=strides(n, 1))", huge) == Code::bad_shape);
  CHECK(code_for("ViewGlobal(p, shape=[1, 2], layout=strides(n, 1))", huge) == std::nullopt);
  CHECK(code_for("ViewGlobal(p, shape=[n - n, 2], layout=strides(n, 1))", huge) == std::nullopt);
  CHECK(code_for("ViewGlobal(p, shape=[2, 2], layout=strides(n, 1))", std::int64_t{1} << 48) ==
        Code::out_of_bounds);
}

TEST_CASE("results, counters and the reported fault do not depend on the number of threads") {
  const auto program = load(
      "def f<64, 3>(i32* p, i32* q, i32 bad):\n    x, y = BlockIndices()\n"
      "    t = LoadGlobal(ViewGlobal(p, shape=[64, 3, 32]), layout=spatial(32), offset=[x, y, "
      "0:])\n"
      "    r = 1 / (x + 100 * y - bad) + 1 / (x - 50 - bad)\n"
      "    s = AllocateRegister(i32, layout=spatial(32), init=x)\n"
      "    StoreGlobal(Mul(Add(t, s), t), ViewGlobal(q, shape=[64, 3, 32]), offset=[x, y, 0:])\n");
  std::optional<Counters> counters;
  std::optional<std::vector<std::uint8_t>> bytes;
  for (const int threads : {1, 2, 3, 8, 0}) {
    std::vector<Buffer> memory{{"p", noise(24576)}, {"q", noise(24576, 5)}};
    const Counters now =
        run_well(program, {0, 1, isa::Scalar::i32(-1000)}, memory, {.threads = threads});
    if (!counters) counters = now;
    if (!bytes) bytes = memory[1].bytes;
    CHECK(now == *counters);
    CHECK(memory[1].bytes == *bytes);
    for (int repeat = 0; repeat < 5; ++repeat) {
      const Report report = run(program, {0, 1, isa::Scalar::i32(7)}, memory, {.threads = threads});
      REQUIRE(report.fault.has_value());
      CHECK(report.fault->block == std::vector<std::int64_t>{7, 0});
      CHECK(text_at(program, report.fault->diagnostic.span).starts_with("1 / (x + 100"));
    }
  }
}
