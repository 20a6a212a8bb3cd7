// Figures 2 and 9 of the Tilus paper, and Dots of other shapes, against a plain loop over the exact
// model of one output element.
#include <doctest/doctest.h>

#include <algorithm>

#include "isa/numeric/mma_rules.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/mma/mma_model.h"
#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

/// Random codes of f16 or bf16: mostly moderate, a few subnormal, huge, Inf or NaN.
std::vector<std::uint16_t> floats(std::size_t n, std::uint64_t seed, bool wild) {
  std::vector<std::uint16_t> codes(n);
  for (auto& code : codes) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto random = static_cast<std::uint16_t>(seed >> 48);
    code = wild && random % 64 == 0 ? static_cast<std::uint16_t>(seed >> 32)
                                    : static_cast<std::uint16_t>((random & 0x8fff) | 0x3000);
  }
  return codes;
}

/// c[m, n] += sum of a[m, k] * b[k, n] as a chain of instructions of depth `step`.
std::vector<std::uint32_t> product(const isa::DType& type, std::size_t m, std::size_t n,
                                   std::size_t k, std::size_t step,
                                   const std::vector<std::uint16_t>& a,
                                   const std::vector<std::uint16_t>& b) {
  const auto rule = *isa::mma_rule({}, type, type, isa::f32);
  std::vector<std::uint32_t> c(m * n, 0);
  for (std::size_t y = 0; y < m; ++y) {
    for (std::size_t x = 0; x < n; ++x) {
      for (std::size_t at = 0; at < k; at += step) {
        std::vector<std::uint64_t> row, column;
        for (std::size_t i = at; i < at + step; ++i) {
          row.push_back(a[y * k + i]);
          column.push_back(b[i * n + x]);
        }
        c[y * n + x] =
            static_cast<std::uint32_t>(mma_reference(rule, type, type, row, column, c[y * n + x]));
      }
    }
  }
  return c;
}

const char* const figures = R"(
const M, N, K, BM, BN, BK = 48, 24, 64, 16, 8, 16
def matmul<M / BM, N / BN>(f16* a_ptr, u8* transformed_b_ptr, f16* c_ptr):
    bi, bj = BlockIndices() # block index
    ga = ViewGlobal(a_ptr, dtype=f16, shape=[M, K])
    gb = ViewGlobal(transformed_b_ptr, dtype=u8, shape=[K/BK, N/BN, BK*BN*6/8])
    gc = ViewGlobal(c_ptr, dtype=f16, shape=[M, N])
    acc = AllocateRegister(f32, layout=[local(2, 1).spatial(8, 4).local(1, 2)], init=0.0)
    for bk in range(K / BK):
        a = LoadGlobal(ga, layout=column_local(2, 2).spatial(8, 4).local(1, 2), offset=[bi * BM:, bk * BK:])
        b = LoadGlobal(gb, layout=local(3).spatial(32), offset=[bk, bj, 0:])
        b1 = View(b, dtype=i6, layout=local(2, 1).column_spatial(4, 8).local(2, 1))
        b2 = Cast(b1, dtype=f16)
        Dot(a, b2, acc, out=acc)
    acc = Cast(acc, f16)
    StoreGlobal(acc, gc, offset=[bi * BM:, bj * BN:])

def transform_b<K / BK, N / BN>(i6* b_ptr, u8* transformed_b_ptr):
    bk, bj = BlockIndices()
    b_in = ViewGlobal(b_ptr, dtype=i6, shape=[K, N])
    b_out = ViewGlobal(transformed_b_ptr, dtype=u8, shape=[K / BK, N / BN, BK * BN * 6 / 8])
    b = LoadGlobal(b_in, layout=local(2, 1).column_spatial(4, 8).local(2, 1), offset=[bk*BK:, bj*BN:])
    b = View(b, dtype=u8, layout=local(3).spatial(32))
    StoreGlobal(b, b_out, offset=[bk, bj, 0:])
)";

}  // namespace

TEST_CASE("the paper's figures 2 and 9 compute what a plain loop over the model computes") {
  constexpr std::size_t m = 48, n = 24, k = 64;
  const auto program = load(figures);
  const auto a = floats(m * k, 1, true);
  const auto b = floats(k * n, 2, false);  // any bits serve as packed i6
  std::vector<Buffer> memory{buffer("a", a),
                             buffer("b", b),
                             {"tb", std::vector<std::uint8_t>(k * n * 6 / 8)},
                             {"c", std::vector<std::uint8_t>(m * n * 2)}};
  const auto transformed = run_kernel(program, 1, {1, 2}, memory, {.threads = 2});
  REQUIRE(transformed.ok());
  REQUIRE(!transformed->fault);
  run_well(program, {0, 2, 3}, memory, {.threads = 2});

  std::vector<std::uint16_t> widened(k * n);
  for (std::size_t i = 0; i < widened.size(); ++i) {
    const auto code = isa::get_bits(memory[1].bytes.data(), i * 6, 6);
    widened[i] = static_cast<std::uint16_t>(isa::cast(isa::signed_int(6), isa::f16, code));
  }
  const auto sums = product(isa::f16, m, n, k, 16, a, widened);
  std::vector<std::uint16_t> expected(m * n);
  std::transform(sums.begin(), sums.end(), expected.begin(), [](std::uint32_t sum) {
    return static_cast<std::uint16_t>(isa::cast(isa::f32, isa::f16, sum));
  });
  CHECK(values<std::uint16_t>(memory[3]) == expected);
}

TEST_CASE("a Dot of several fragments and warps, with replicated operands, in f16 and bf16") {
  constexpr std::size_t m = 64, n = 32, k = 48;
  const char* const text = R"(
const T: dtype = f16
def f<1>(T* a_ptr, T* b_ptr, f32* c_ptr):
    a = LoadGlobal(ViewGlobal(a_ptr, shape=[64, 48]), layout=spatial(2, 1).replicated(2).local(2, 3).column_local(2, 2).spatial(8, 4).local(1, 2))
    b = LoadGlobal(ViewGlobal(b_ptr, shape=[48, 32]), layout=replicated(2).spatial(1, 2).local(3, 2).local(2, 1).column_spatial(4, 8).local(2, 1))
    c = AllocateRegister(f32, layout=spatial(2, 2).local(2, 2).local(2, 1).spatial(8, 4).local(1, 2), init=0.0)
    d = Dot(a, b, c)
    g = ViewGlobal(c_ptr, shape=[128, 32])
    StoreGlobal(d, g)
    StoreGlobal(c, g, offset=[64:, 0:])
)";
  for (const isa::DType& type : {isa::f16, isa::bf16}) {
    const auto program = load(text, {{"T", isa::to_string(type)}});
    const auto a = floats(m * k, 3, true), b = floats(k * n, 4, true);
    std::vector<Buffer> memory{buffer("a", a), buffer("b", b),
                               buffer("c", std::vector<std::uint32_t>(2 * m * n, 1))};
    run_well(program, {0, 1, 2}, memory);
    auto expected = product(type, m, n, k, 16, a, b);
    expected.resize(2 * m * n, 0);  // c itself stays zero
    CHECK(values<std::uint32_t>(memory[2]) == expected);
  }
}

TEST_CASE("a k that is not a multiple of 16 uses the instruction of depth 8") {
  const auto program = load(R"(
def f<1>(f16* a_ptr, f16* b_ptr, f32* c_ptr):
    a = LoadGlobal(ViewGlobal(a_ptr, shape=[16, 24]), layout=local(1, 3).local(2, 1).spatial(8, 4).local(1, 2))
    b = LoadGlobal(ViewGlobal(b_ptr, shape=[24, 8]), layout=local(3, 1).column_spatial(4, 8).local(2, 1))
    c = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0.0)
    StoreGlobal(Dot(a, b, c), ViewGlobal(c_ptr, shape=[16, 8]))
)");
  const auto a = floats(std::size_t{16} * 24, 5, false), b = floats(std::size_t{24} * 8, 6, false);
  std::vector<Buffer> memory{buffer("a", a), buffer("b", b),
                             buffer("c", std::vector<std::uint32_t>(128))};
  run_well(program, {0, 1, 2}, memory);
  CHECK(values<std::uint32_t>(memory[2]) == product(isa::f16, 16, 8, 24, 8, a, b));
}
