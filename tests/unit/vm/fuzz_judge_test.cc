// Differences between engines get a name, and failing programs become small without losing it.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/vm/commands_support.h"
#include "tests/unit/vm/fuzz_support.h"
#include "vm/fuzz/shrink.h"
#include "vm/fuzz/signature.h"
#include "vm/run/make_engine.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;
using namespace tilevm::vm::fuzz;

using Mistakes = WrongEngine::Mistakes;

Judge judge_with(const Mistakes& mistakes) {
  Result<Judge> judge = Judge::make({"sim", "naive"});
  REQUIRE(judge);
  judge->add(std::make_unique<WrongEngine>(mistakes));
  return *std::move(judge);
}

std::optional<fuzz::Finding> judge_one(Judge& judge, const FuzzCase& each) {
  const ReadyCase ready_case = ready(each);
  const auto findings = judge.judge({&ready_case});
  REQUIRE(findings);
  return findings->front();
}

std::string signature_with(const Mistakes& mistakes, const std::string& text = max_program) {
  Judge judge = judge_with(mistakes);
  const auto finding = judge_one(judge, case_of(text, {"k0_in0=iota"}));
  return finding ? finding->signature : "none";
}

/// Statements and headers.
std::ptrdiff_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

FuzzCase shrunk(const FuzzCase& each, const fuzz::Finding& finding, Judge& judge) {
  return shrink(each, finding, [&](const FuzzCase& candidate) -> std::optional<fuzz::Finding> {
    auto made = make_ready(candidate);
    if (auto* text = std::get_if<fuzz::Finding>(&made)) return std::move(*text);
    return judge.judge_again(std::get<ReadyCase>(made), finding);
  });
}

}  // namespace

TEST_CASE("sums of the naive interpreter are those of the simulator") {
  for (std::uint64_t seed = 7000; seed < 7150; ++seed) {
    CAPTURE(seed);
    const ReadyCase each = ready(make_case(seed, target_named("sm_90")));
    Engines engines;
    engines.push_back(*make_engine("sim", {.threads = 1}));
    engines.push_back(naive::make_naive_engine());
    CHECK(differing_kind(each, engines, 1) == "");
  }
}

TEST_CASE("a difference is named by the first statement that is executed differently") {
  CHECK(signature_with({}) == "none");
  CHECK(signature_with({{"Max(", "Min("}}) == "wrong differs at Max f32 f32 f32");
  CHECK(signature_with({{"And(", "Xor("}}) == "wrong differs at And i32 i32 i32");
  CHECK(signature_with({{"offset=[p0, 0:])", "offset=[p0, 1:])"}}) ==
        "wrong differs at StoreGlobal");
  CHECK(signature_with({{"range(0, 3, 1)", "range(0, 2, 1)"}}) == "wrong differs at loop");
  CHECK(signature_with({{"range(0, 3, 1)", "range(1, 3, 1)"}}) == "wrong differs at loop");
}

TEST_CASE("two defects in one campaign have two signatures") {
  const std::string only_and = replaced(max_program, "Max(t6, t5, out=t6)", "pass");
  const Mistakes both = {{"Max(", "Min("}, {"And(", "Xor("}};
  CHECK(signature_with(both) == "wrong differs at Max f32 f32 f32");
  CHECK(signature_with(both, only_and) == "wrong differs at And i32 i32 i32");
}

TEST_CASE("a known signature covers those that begin with its words") {
  CHECK(matches("emu differs at Cast u4 f16", "emu differs at Cast u4 f16"));
  CHECK(matches("emu differs at Cast u4 f16", "emu differs at Cast"));
  CHECK(matches("emu differs at Cast u4 f16", "emu"));
  CHECK_FALSE(matches("emu differs at Cast u4 f16", "emu differs at Cas"));
  CHECK_FALSE(matches("emu differs at Cast", "emu differs at Cast u4"));
  CHECK_FALSE(matches("emu differs", ""));
}

TEST_CASE("a failing program becomes small and fails in the same way") {
  Judge judge = judge_with({{"Max(", "Min("}});
  const FuzzCase failing = case_of(max_program, {"k0_in0=iota"});
  const auto finding = judge_one(judge, failing);
  REQUIRE(finding);
  const FuzzCase small = shrunk(failing, *finding, judge);
  CAPTURE(small.text);
  const auto again = judge_one(judge, small);
  REQUIRE(again);
  CHECK(again->signature == "wrong differs at Max f32 f32 f32");
  CHECK(contains(small.text, "Max("));
  CHECK_FALSE(contains(small.text, "And("));
  CHECK_FALSE(contains(small.text, "for "));
  CHECK(lines_of(small.text) <= 11);
  CHECK(lines_of(small.text) < lines_of(failing.text) - 5);
}

TEST_CASE("random programs become small") {
  Judge judge = judge_with({{"Max(", "Min("}});
  std::uint64_t seed = seed_of("Max");
  std::optional<fuzz::Finding> finding;
  FuzzCase failing;
  for (int turn = 0; turn < 20 && !finding; ++turn, seed += isa::instruction_count) {
    failing = make_case(seed, target_named("sm_90"));
    finding = judge_one(judge, failing);
  }
  REQUIRE(finding);
  CHECK(matches(finding->signature, "wrong differs at Max"));
  const FuzzCase small = shrunk(failing, *finding, judge);
  CAPTURE(small.text);
  CHECK(judge_one(judge, small)->signature == finding->signature);
  CHECK(lines_of(small.text) <= 14);
}

TEST_CASE("a program that is reported although it has no fault keeps what makes it valid") {
  // The judge reports every program that has this load; only a program without the barrier, which
  // the shrinker must not make, would be reported rightly.
  const std::string text = R"(@threads(32)
def k0<1>(i32* k0_out0):
    g1 = ViewGlobal(k0_out0, shape=[32])
    s2 = AllocateShared(i32, [32])
    t3 = AllocateRegister(i32, layout=spatial(32), init=4)
    t4 = Add(t3, t3)
    t5 = Mul(t4, t3)
    StoreShared(t3, s2)
    Synchronize()
    t6 = LoadShared(s2, layout=replicated(32).local(32))
    t7 = LoadShared(s2, layout=spatial(32))
    StoreGlobal(t7, g1)

pipeline main() -> (k0_out0: i32[32]):
    k0(k0_out0)
)";
  const fuzz::Finding report{"sim: TV0406 LoadShared", "", {}, "sim"};
  const FuzzCase small =
      shrink(case_of(text), report, [&](const FuzzCase& each) -> std::optional<fuzz::Finding> {
        if (contains(each.text, "t6 = LoadShared")) return report;
        return std::nullopt;
      });
  CAPTURE(small.text);
  CHECK(contains(small.text, "Synchronize()"));
  CHECK(contains(small.text, "StoreShared(t3, s2)"));
  CHECK_FALSE(contains(small.text, "Mul("));
  CHECK_FALSE(contains(small.text, "StoreGlobal("));
  CHECK_FALSE(run_checked(ready(small)).failure);
}

TEST_CASE("planted faults are judged by their one report") {
  const std::string text = R"(def k0<1>(i32* k0_out0):
    g1 = ViewGlobal(k0_out0, shape=[32])
    t2 = AllocateRegister(i32, layout=spatial(32), init=INIT)
    t3 = AllocateRegister(i32, layout=spatial(32), init=5)
    t4 = Div(t3, t2)
    StoreGlobal(t4, g1)

pipeline main() -> (k0_out0: i32[32]):
    k0(k0_out0)
)";
  PlantedFault planted{"zero divisor", true, {Code::run_division_by_zero, "t4 = "}};
  const auto judged = [&](const std::string& init) {
    const auto finding = judge_planted(ready(case_of(replaced(text, "INIT", init))), planted);
    return finding ? finding->signature : "none";
  };
  CHECK(judged("0") == "none");
  CHECK(judged("1") == "planted zero divisor: no report");
  planted.expected.line = "t5 = ";
  CHECK(judged("0") == "planted zero divisor: TV0403 Div");
  planted.faulty = false;
  CHECK(judged("1") == "none");
  CHECK(judged("0") == "planted zero divisor: without it TV0403 Div");
}
