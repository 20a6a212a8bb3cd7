// `tilevm run --ring` and `tilevm diff --ring`: programs by their formulas, whatever rounding does.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/vm/commands_support.h"
#include "vm/naive/ring.h"
#include "vm/ring/formula.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

/// y is a row of 64 numbers, once combined by `first` and once by `second`.
std::string two_entries(const std::string& first, const std::string& second) {
  const auto kernel = [](const std::string& name, const std::string& body) {
    return "def " + name +
           "<1>(f32* x_ptr, f32* y_ptr):\n"
           "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[64]), layout=spatial(32).local(2))\n" +
           body + "    StoreGlobal(y, ViewGlobal(y_ptr, shape=[64]))\n\n";
  };
  return kernel("a", first) + kernel("b", second) +
         "pipeline main(x: f32[64]) -> (y: f32[64]):\n    a(x, y)\n\n"
         "pipeline reference(x: f32[64]) -> (y: f32[64]):\n    b(x, y)\n";
}

struct Ran {
  Exit exit;
  std::string out, err;
};

Ran compare_entries(const std::string& text) {
  const ScratchFolder folder;
  DiffOptions options;
  options.program.file = write_text(folder / "two.tile", text);
  options.execution.entry = "main";
  options.ring = "default";
  options.against = "reference";
  Streams streams;
  const Exit exit = diff(options, streams.io);
  return {exit, streams.out.str(), streams.err.str()};
}

/// Whether two bodies compute one formula.
bool agree(const std::string& first, const std::string& second) {
  const Ran ran = compare_entries(two_entries(first, second));
  INFO(ran.out << ran.err);
  REQUIRE((ran.exit == Exit::ok || ran.exit == Exit::fault));
  REQUIRE(ran.err.empty());
  return ran.exit == Exit::ok;
}

}  // namespace

TEST_CASE("roundings are not a part of a formula") {
  CHECK(agree("    y = (x + 1.0) * x\n", "    y = x * x + x\n"));
  CHECK(agree("    y = x * 0.1\n", "    y = Cast(Cast(x, f16), f32) * 0.1\n"));
  CHECK(agree("    y = x / 3.0\n", "    y = x * (1.0 / (x - x + 3.0))\n"));
  CHECK(agree("    y = Rsqrt(x * x)\n", "    y = RcpApprox(SqrtApprox(x * x))\n"));
}

TEST_CASE("another formula is found, and where") {
  const Ran ran = compare_entries(two_entries("    y = x * 2.0\n", "    y = x + 2.0\n"));
  CHECK(ran.exit == Exit::fault);
  CHECK(
      contains(ran.out, "y: another formula in 64 of 64 elements, modulo 4294967087; first [0]:"));
  CHECK(!agree("    y = x * 0.1\n", "    y = x * 0.100000024\n"));
  CHECK(!agree("    y = Sin(x)\n", "    y = Cos(x)\n"));
}

TEST_CASE("exponents add up, so that a softmax of parts is a softmax") {
  CHECK(agree("    y = Exp2(x + 3.0)\n", "    y = Exp2(x) * 8.0\n"));
  CHECK(agree("    y = Sqrt(Exp2(x + 3.0))\n", "    y = Sqrt(Exp2(x) * 8.0)\n"));
  CHECK(agree("    y = Exp(x)\n", "    y = Ex2Approx(x * 1.44269504)\n"));
  CHECK(agree("    y = Sigmoid(x)\n", "    y = 1.0 / (Exp2(x * -1.44269504) + 1.0)\n"));
  CHECK(agree("    y = Exp(x - Reduce(x, max, dims=0, keep_dims=true))\n",
              "    y = Exp(x) / Exp(Reduce(x, max, dims=0, keep_dims=true))\n"));
  // An exponent is not a number of the ring that powers are in.
  CHECK(!agree("    y = Exp2(Exp2(x) + Exp2(x))\n", "    y = Exp2(Exp2(x))\n"));
}

TEST_CASE("integers, conditions and infinities are what their bits say") {
  const std::string clamped = "    y = Where(x < 0.0, x * 0.0, x)\n";
  const Ran ran = compare_entries(two_entries(clamped, "    y = Max(x, x * 0.0)\n"));
  CHECK(ran.exit == Exit::ok);
  CHECK(contains(ran.out, "rounding decides in `main`, which formulas do not show:\n"));
  CHECK(contains(ran.out, "`Lt` gives u1 of f32\n"));
  // exp(-inf) is 0 also here.
  CHECK(agree("    y = Exp(Where(x < 0.0, x * 0.0 - inf, x))\n",
              "    y = Where(x < 0.0, x * 0.0, Exp(x))\n"));
}

TEST_CASE("residues stay with elements in memory, and are lost where bits become another type") {
  const std::string by_shared =
      "    s = AllocateShared(f32, shape=[64])\n"
      "    StoreShared(x * 0.1, s)\n"
      "    Synchronize()\n"
      "    y = LoadShared(s, layout=spatial(32).local(2))\n";
  CHECK(agree(by_shared, "    y = x * 0.1\n"));
  const std::string by_bits =
      "    bits = View(x * 0.1, dtype=u32, layout=spatial(32).local(2))\n"
      "    y = View(bits, dtype=f32, layout=spatial(32).local(2))\n";
  CHECK(!agree(by_bits, "    y = x * 0.1\n"));
}

TEST_CASE("a run shows the formula of each output beside its bits") {
  const ScratchFolder folder;
  RunOptions options;
  options.program.file =
      write_text(folder / "two.tile", two_entries("    y = x + 0.1 - 0.1\n", "    y = x\n"));
  const auto formula = [&](const std::string& entry) {
    options.execution.entry = entry;
    options.ring = "4294965887";
    Streams streams;
    CHECK(run(options, streams.io) == Exit::ok);
    const std::string out = streams.out.str();
    const std::size_t at = out.find("formula ");
    REQUIRE(at != std::string::npos);
    CHECK(contains(out, " modulo 4294965887\n"));
    return out.substr(at, 24);
  };
  CHECK(formula("main") == formula("reference"));
}

TEST_CASE("a modulus is a prime whose exponents differ enough") {
  for (const std::string text : {"4294967086", "15", "4294967311", "65537", "seven", "-3"}) {
    const auto ring = parse_ring(text);
    CAPTURE(text);
    REQUIRE(!ring);
    CHECK(contains(ring.error().message, "4294967087"));
  }
  const auto ring = parse_ring("default");
  REQUIRE(ring);
  CHECK(ring->p() == 4'294'967'087);
  CHECK(ring->q() == 2'147'483'543);
}
