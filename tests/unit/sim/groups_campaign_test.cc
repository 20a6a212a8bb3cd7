// Random programs of two groups of warps and barriers: what the simulator reports against an oracle
// that explores all interleavings of their threads.
#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include "tests/unit/sim/groups_oracle.h"
#include "tests/unit/sim/running.h"

using namespace tilevm;
using namespace tilevm::sim;
using namespace tilevm::sim::testing;

namespace {

struct Reported {
  std::string code;
  int line = 0;
};

std::optional<Reported> report_of(const isa::VerifiedProgram& program,
                                  const GroupSchedule& schedule) {
  std::vector<Buffer> memory{buffer("y", std::vector<std::int32_t>(1))};
  const Report report = run(program, {0}, memory, {.threads = 1, .group_schedule = schedule});
  if (!report.fault) return std::nullopt;
  const Diagnostic& diagnostic = report.fault->diagnostic;
  const int line = program.source().root_line(diagnostic.span.begin);
  return Reported{to_string(diagnostic.code), line};
}

/// The lines that a report with a code may name.
const std::set<int>& lines_of(const std::string& code, const OracleVerdict& verdict) {
  if (code == "TV0405" || code == "TV0406") return verdict.races;
  if (code == "TV0420") return verdict.fences;
  if (code == "TV0409") return verdict.deadlocks;
  return verdict.phases;
}

/// Why a report is not what the oracle expects; empty if it is.
std::string difference(const OracleVerdict& verdict, const std::optional<Reported>& reported) {
  if (!verdict.is_faulty()) return reported ? "false: " + reported->code : "";
  if (!reported) return "missed";
  if (lines_of(reported->code, verdict).contains(reported->line)) return "";
  return "other: " + reported->code + " in line " + std::to_string(reported->line);
}

int programs_to_try(int usual) {
  const char* const wanted = std::getenv("TILEVM_GROUP_PROGRAMS");
  return wanted != nullptr ? std::atoi(wanted) : usual;
}

/// Why the simulator disagrees with the oracle on a program in some schedule; empty if it does not.
std::string disagreement(const OracleVerdict& verdict, const std::string& text, int seed) {
  const isa::VerifiedProgram verified = load(text, {}, isa::Target{90, true});
  for (const GroupSchedule& schedule :
       {GroupSchedule{}, GroupSchedule{GroupSchedule::Kind::last, 0},
        GroupSchedule{GroupSchedule::Kind::random, static_cast<std::uint64_t>(seed)}}) {
    const std::string why = difference(verdict, report_of(verified, schedule));
    if (!why.empty())
      return "schedule " + std::to_string(static_cast<int>(schedule.kind)) + ": " + why;
  }
  return "";
}

template <class Make>
void compare(int programs, Make&& make) {
  int faulty = 0, right = 0, wrong = 0;
  for (int seed = 0; seed < programs && wrong < 5; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const GroupProgram program = make(random);
    std::vector<std::vector<int>> lines;
    const std::string text = program.text(lines);
    const OracleVerdict verdict = explore(program);
    if (!verdict.complete) continue;
    (verdict.is_faulty() ? faulty : right) += 1;
    const std::string why = disagreement(verdict, text, seed);
    if (why.empty()) continue;
    ++wrong;
    MESSAGE("seed " << seed << ", " << why << "\n" << text);
  }
  MESSAGE(faulty << " faulty programs, " << right << " right ones");
  CHECK(wrong == 0);
  CHECK(faulty > programs / 8);
  CHECK(right > programs / 8);
}

}  // namespace

TEST_CASE("reports of groups of warps are those of an oracle of all interleavings") {
  compare(programs_to_try(400), random_group_program);
}

TEST_CASE("reports of products of groups are those of an oracle of all interleavings") {
  compare(programs_to_try(120), random_product_program);
}

TEST_CASE("a wait that may be overtaken is the cause of ambiguous arrivals after it") {
  std::mt19937_64 random(3383);
  const GroupProgram program = random_group_program(random);
  std::vector<std::vector<int>> lines;
  const std::string text = program.text(lines);
  CHECK(disagreement(explore(program), text, 3383).empty());
}
