// `tilevm prove --batch-invariant`: rows that keep their bits in every batch, and what breaks it.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/vm/commands_support.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

struct Ran {
  Exit exit;
  std::string out, err;
};

Ran prove_text(const std::string& text, const std::string& range) {
  Streams streams(text);
  ProveOptions options;
  const ScratchFolder folder;
  options.program.file = write_text(folder / "p.tile", text);
  options.batch = range;
  const Exit exit = prove(options, streams.io);
  return {exit, streams.out.str(), streams.err.str()};
}

/// Sums of rows; `sum` is a statement that makes `y` of the rows `x`.
std::string row_sums(const std::string& sum, bool takes_n = false) {
  const std::string n_pointer = takes_n ? "i32* n_ptr, " : "", n = takes_n ? "n, " : "";
  return "const M = 4\n"
         "def sums<1>(" +
         n_pointer +
         "f32* x_ptr, f32* y_ptr):\n"
         "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[M, 64]), layout=local(8, 1).spatial(1, "
         "32).local(1, 2), offset=[0:, 0:])\n" +
         sum +
         "    StoreGlobal(y, ViewGlobal(y_ptr, shape=[M, 1]), offset=[0:, 0:])\n"
         "pipeline main(" +
         (takes_n ? "n: i32[1], " : "") +
         "x: f32[M, 64]) -> (y: f32[M, 1]):\n"
         "    sums(" +
         n + "x, y)\n";
}

}  // namespace

TEST_CASE("a sum of each row does not depend on the others") {
  const Ran ran =
      prove_text(row_sums("    y = Reduce(x, add, dims=1, keep_dims=true)\n"), "M=1..8");
  INFO(ran.out << ran.err);
  CHECK(ran.exit == Exit::ok);
  CHECK(contains(ran.out,
                 "batch-invariant: for M=1..8 each row has the bits that it has for M=1, whatever "
                 "the numbers are; 36 elements of 8 sizes compared as expressions\n"));
  CHECK(contains(ran.out, "rows: x; shared by all rows: none\n"));
}

TEST_CASE("the smallest batch may have several rows") {
  const Ran ran =
      prove_text(row_sums("    y = Reduce(x, add, dims=1, keep_dims=true)\n"), "M=3..5");
  INFO(ran.out << ran.err);
  CHECK(ran.exit == Exit::ok);
}

TEST_CASE("a sum in another order for large batches is named, even where its bits are equal") {
  const std::string sum =
      "    z = ConvertLayout(x, local(8, 2).spatial(1, 32)) if M > 4 else x\n"
      "    y = Reduce(z, add, dims=1, keep_dims=true)\n";
  const Ran ran = prove_text(row_sums(sum), "M=1..8");
  INFO(ran.out << ran.err);
  CHECK(ran.exit == Exit::fault);
  CHECK(contains(ran.out, "row 0 of `y` depends on the batch: for M=5 it is computed otherwise"));
  CHECK(contains(ran.out, "5:5: `Reduce` is the first statement that gives what M=1 does not\n"));
}

/// Whether the batch decides how a row of `y` is computed.
bool depends(const std::string& statements) {
  const Ran ran = prove_text(row_sums(statements), "M=1..6");
  INFO(ran.out << ran.err);
  REQUIRE(ran.err.empty());
  REQUIRE((ran.exit == Exit::ok || ran.exit == Exit::fault));
  return ran.exit == Exit::fault;
}

TEST_CASE("a row that sees the others is named, whatever the numbers are") {
  const std::string sum = "    r = Reduce(x, add, dims=1, keep_dims=true)\n";
  const std::string largest = "    m = Reduce(r, max, dims=0, keep_dims=true)\n";
  CHECK(depends(sum + "    y = r - Reduce(r, add, dims=0, keep_dims=true) * 0.5\n"));
  // Here the other rows never win.
  CHECK(depends(sum + largest + "    y = Max(r, m * 0.0 - 1000.0)\n"));
  CHECK(depends(sum + largest + "    y = Where(m > -1000.0, r, r + 1.0)\n"));
  CHECK(depends(
      sum +
      "    y = Cast(Cast(r, i32) + Reduce(Cast(r, i32), add, dims=0, keep_dims=true), f32)\n"));
  // A maximum rounds nothing: its order has no part in it.
  CHECK(
      !depends("    z = ConvertLayout(x, local(8, 2).spatial(1, 32)) if M > 4 else x\n"
               "    y = Reduce(z, max, dims=1, keep_dims=true)\n"));
}

TEST_CASE("another rounding for large batches is named") {
  const auto either = [](const std::string& small, const std::string& large) {
    return "    r = Reduce(x, max, dims=1, keep_dims=true)\n"
           "    s = Reduce(x, min, dims=1, keep_dims=true)\n"
           "    y = " +
           large + " if M > 3 else " + small + "\n";
  };
  CHECK(depends(either("r * s + s", "Fma(r, s, s)")));
  CHECK(depends(either("r + s", "Cast(Cast(r, f16) + Cast(s, f16), f32)")));
  CHECK(depends(either("r / s", "DivFull(r, s)")));
  CHECK(depends(either("r", "Cast(Cast(r, bf16), f32)")));
  CHECK(!depends(either("r + s", "r + s")));
  CHECK(!depends(either("r", "View(View(r, dtype=u32), dtype=f32)")));
}

TEST_CASE("statements where data decide are named") {
  const Ran ran = prove_text(row_sums("    first = LoadScalar(ViewGlobal(n_ptr, shape=[1]))\n"
                                      "    y = Reduce(x, add, dims=1, keep_dims=true)\n"
                                      "    if first > 0:\n"
                                      "        y = y + 1.0\n",
                                      true),
                             "M=1..3");
  INFO(ran.out << ran.err);
  CHECK(ran.exit == Exit::ok);
  CHECK(contains(ran.out, "for the numbers that ran"));
  CHECK(contains(ran.out,
                 "data decide what runs here:\n  4:5: `LoadScalar` takes a scalar from the data"));
  CHECK(contains(ran.out, "rows: x; shared by all rows: n\n"));
}

TEST_CASE("a sum in an order that nothing defines is not a proof") {
  const std::string text =
      "const M = 4\n"
      "def sums<2>(f32* x_ptr, f32* y_ptr):\n"
      "    x = LoadGlobal(ViewGlobal(x_ptr, shape=[M]), layout=spatial(32))\n"
      "    Scatter(x, ViewGlobal(y_ptr, shape=[M]), Iota(i32, layout=spatial(32)), dim=0, op=add)\n"
      "pipeline main(x: f32[M], inout y: f32[M]) -> ():\n"
      "    sums(x, y)\n";
  const Ran ran = prove_text(text, "M=1..4");
  INFO(ran.out << ran.err);
  CHECK(ran.exit == Exit::fault);
  CHECK(contains(ran.out, "4:5: floats are combined in memory in an order that nothing defines"));
}

TEST_CASE("a fault is reported with the size that has it") {
  const Ran ran = prove_text(row_sums("    Assert(M < 3)\n"
                                      "    y = Reduce(x, add, dims=1, keep_dims=true)\n"),
                             "M=1..4");
  INFO(ran.out << ran.err);
  CHECK(ran.exit == Exit::fault);
  CHECK(contains(ran.err, "M=3"));
}

TEST_CASE("what is not a batch is refused") {
  const std::string text = row_sums("    y = Reduce(x, add, dims=1, keep_dims=true)\n");
  for (const std::string range : {"M=4", "M=4..4", "M", "=1..4", "M=0..4", "M=1..5000", "M=a..b"}) {
    CAPTURE(range);
    const Ran ran = prove_text(text, range);
    CHECK(ran.exit == Exit::usage);
    CHECK(contains(ran.err, "write M=1..64"));
  }
  CHECK(contains(prove_text(text, "N=1..4").err, "-D N: the file has no such constant"));
  const Ran other = prove_text("const Q = 4\n" + text, "Q=1..4");
  CHECK(contains(other.err, "no output has Q rows: its shape must have Q as an extent"));
}
