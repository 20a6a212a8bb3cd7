// The operand fragments of matrix instructions as products of factors, element by element against
// the closed formulas of the PTX manual (chapter mma, wgmma; r is the 32-bit register, j the
// element in it):
//   A  row = t/4 + 8 * (r % (m/8)),  k = 4e * (r / (m/8)) + e * (t%4) + j
//   B  n = t/4,                      k = 4e * r + e * (t%4) + j
//   C  row = t/4 + 8 * (i/2),        col = 2 * (t%4) + i%2
#include <doctest/doctest.h>

#include "tests/unit/isa/layout_testing.h"

using namespace tilevm;
using namespace tilevm::isa;
using namespace tilevm::isa::testing;

namespace {

struct NamedFragment {
  const char* text;
  std::int64_t m, k;  ///< rows of A, extent of k
  std::int64_t e;     ///< elements per register; 1 for 64-bit elements too
};

const NamedFragment fragments_a[] = {
    {"local(2, 1).spatial(8, 4).local(1, 2)", 16, 8, 2},            // m16n8k8 f16, bf16
    {"column_local(2, 2).spatial(8, 4).local(1, 2)", 16, 16, 2},    // m16n8k16 f16, bf16
    {"local(2, 1).spatial(8, 4)", 16, 4, 1},                        // m16n8k4 tf32, f64
    {"column_local(2, 2).spatial(8, 4)", 16, 8, 1},                 // m16n8k8 tf32, f64
    {"spatial(8, 4)", 8, 4, 1},                                     // m8n8k4 f64
    {"column_local(2, 4).spatial(8, 4)", 16, 16, 1},                // m16n8k16 f64
    {"spatial(8, 4).local(1, 4)", 8, 16, 4},                        // m8n8k16 s8
    {"local(2, 1).spatial(8, 4).local(1, 4)", 16, 16, 4},           // m16n8k16 s8, fp8
    {"column_local(2, 2).spatial(8, 4).local(1, 4)", 16, 32, 4},    // m16n8k32 s8, fp8
    {"spatial(8, 4).local(1, 8)", 8, 32, 8},                        // m8n8k32 s4
    {"local(2, 1).spatial(8, 4).local(1, 8)", 16, 32, 8},           // m16n8k32 s4
    {"column_local(2, 2).spatial(8, 4).local(1, 8)", 16, 64, 8},    // m16n8k64 s4, e2m1
    {"spatial(8, 4).local(1, 32)", 8, 128, 32},                     // m8n8k128 b1
    {"local(2, 1).spatial(8, 4).local(1, 32)", 16, 128, 32},        // m16n8k128 b1
    {"column_local(2, 2).spatial(8, 4).local(1, 32)", 16, 256, 32}  // m16n8k256 b1
};

const NamedFragment fragments_b[] = {
    {"column_spatial(4, 8).local(2, 1)", 0, 8, 2},                  // m16n8k8 f16, bf16
    {"local(2, 1).column_spatial(4, 8).local(2, 1)", 0, 16, 2},     // m16n8k16 f16, bf16
    {"column_spatial(4, 8)", 0, 4, 1},                              // m16n8k4 tf32, f64; m8n8k4 f64
    {"local(2, 1).column_spatial(4, 8)", 0, 8, 1},                  // m16n8k8 tf32, f64
    {"local(4, 1).column_spatial(4, 8)", 0, 16, 1},                 // m16n8k16 f64
    {"column_spatial(4, 8).local(4, 1)", 0, 16, 4},                 // k16 s8, fp8
    {"local(2, 1).column_spatial(4, 8).local(4, 1)", 0, 32, 4},     // k32 s8, fp8
    {"column_spatial(4, 8).local(8, 1)", 0, 32, 8},                 // k32 s4
    {"local(2, 1).column_spatial(4, 8).local(8, 1)", 0, 64, 8},     // k64 s4, e2m1
    {"column_spatial(4, 8).local(32, 1)", 0, 128, 32},              // k128 b1
    {"local(2, 1).column_spatial(4, 8).local(32, 1)", 0, 256, 32},  // k256 b1
    {"local(4, 1).column_spatial(4, 8).local(2, 1)", 0, 32, 2},     // sparse m16n8k32 f16
    {"local(4, 1).column_spatial(4, 8).local(4, 1)", 0, 64, 4}      // sparse m16n8k64 8-bit
};

/// Compares every (t, i) with a formula.
template <class F>
void check_fragment(const char* text, const Shape& shape, std::int64_t threads, F formula) {
  CAPTURE(text);
  const auto l = read_layout(text);
  CHECK(to_string(l) == text);
  CHECK(l.shape() == shape);
  CHECK(l.num_threads() == threads);
  REQUIRE(l.num_threads() * l.num_locals() == l.size());
  bool equal = true;
  for (std::int64_t t = 0; t < l.num_threads(); ++t) {
    for (std::int64_t i = 0; i < l.num_locals(); ++i) {
      const Index expected = formula(t, i);
      equal = equal && l.element(t, i) == expected && l.local_of(expected) == i &&
              l.threads_of(expected) == std::vector<std::int64_t>{t};
    }
  }
  CHECK(equal);
}

/// Row and k of an A fragment for one warp.
Index place_a(const NamedFragment& f, std::int64_t t, std::int64_t i) {
  const std::int64_t r = i / f.e, j = i % f.e, halves = f.m / 8;
  return {t / 4 + 8 * (r % halves), 4 * f.e * (r / halves) + f.e * (t % 4) + j};
}

}  // namespace

TEST_CASE("every A fragment of mma.sync is its product of factors") {
  for (const NamedFragment& f : fragments_a) {
    check_fragment(f.text, {f.m, f.k}, 32, [&](auto t, auto i) { return place_a(f, t, i); });
  }
}

TEST_CASE("every B fragment of mma.sync is its product of factors") {
  for (const NamedFragment& f : fragments_b) {
    check_fragment(f.text, {f.k, 8}, 32, [&](std::int64_t t, std::int64_t i) {
      return Index{4 * f.e * (i / f.e) + f.e * (t % 4) + i % f.e, t / 4};
    });
  }
}

TEST_CASE("the accumulator fragments of mma.sync are their products of factors") {
  const auto formula = [](std::int64_t t, std::int64_t i) {
    return Index{t / 4 + 8 * (i / 2), 2 * (t % 4) + i % 2};
  };
  check_fragment("local(2, 1).spatial(8, 4).local(1, 2)", {16, 8}, 32, formula);
  check_fragment("spatial(8, 4).local(1, 2)", {8, 8}, 32, formula);
}

TEST_CASE("the accumulators of wgmma are products of factors for every width") {
  for (std::int64_t n = 8; n <= 256; n += 8) {
    const std::string columns = "local(1, " + std::to_string(n / 8) + ")";
    const auto written =
        read_layout("spatial(4, 1)." + columns + ".local(2, 1).spatial(8, 4).local(1, 2)");
    check_fragment(to_string(written).c_str(), {64, n}, 128, [](std::int64_t t, std::int64_t i) {
      return Index{16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (t % 4) + i % 2};
    });
  }
}

TEST_CASE("A operands of wgmma in registers are four stacked mma fragments") {
  const NamedFragment fragments[] = {
      {"spatial(4, 1).column_local(2, 2).spatial(8, 4).local(1, 2)", 16, 16, 2},
      {"spatial(4, 1).column_local(2, 2).spatial(8, 4)", 16, 8, 1},
      {"spatial(4, 1).column_local(2, 2).spatial(8, 4).local(1, 4)", 16, 32, 4}};
  for (const NamedFragment& f : fragments) {
    check_fragment(f.text, {64, f.k}, 128, [&](std::int64_t t, std::int64_t i) {
      Index place = place_a(f, t % 32, i);
      place[0] += 16 * (t / 32);
      return place;
    });
  }
}
