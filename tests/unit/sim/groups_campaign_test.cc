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

/// Why a report is not what the oracle expects; empty if it is.
std::string difference(const OracleVerdict& verdict, const std::optional<Reported>& reported) {
  if (!verdict.is_faulty()) return reported ? "false: " + reported->code : "";
  if (!reported) return "missed";
  const std::set<int>& lines = reported->code == "TV0406"   ? verdict.races
                               : reported->code == "TV0409" ? verdict.deadlocks
                                                            : verdict.phases;
  if (lines.contains(reported->line)) return "";
  return "other: " + reported->code + " in line " + std::to_string(reported->line);
}

int programs_to_try() {
  const char* const wanted = std::getenv("TILEVM_GROUP_PROGRAMS");
  return wanted != nullptr ? std::atoi(wanted) : 400;
}

}  // namespace

TEST_CASE("reports of groups of warps are those of an oracle of all interleavings") {
  int faulty = 0, right = 0, wrong = 0;
  for (int seed = 0; seed < programs_to_try(); ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const GroupProgram program = random_group_program(random);
    std::vector<std::vector<int>> lines;
    const std::string text = program.text(lines);
    const OracleVerdict verdict = explore(program);
    if (!verdict.complete) continue;
    (verdict.is_faulty() ? faulty : right) += 1;
    const isa::VerifiedProgram verified = load(text);
    for (const GroupSchedule& schedule :
         {GroupSchedule{}, GroupSchedule{GroupSchedule::Kind::last, 0},
          GroupSchedule{GroupSchedule::Kind::random, static_cast<std::uint64_t>(seed)}}) {
      const std::string why = difference(verdict, report_of(verified, schedule));
      if (why.empty()) continue;
      ++wrong;
      MESSAGE("seed " << seed << ", schedule " << static_cast<int>(schedule.kind) << ": " << why
                      << "\n"
                      << text);
      break;
    }
    if (wrong >= 5) break;
  }
  MESSAGE(faulty << " faulty programs, " << right << " right ones");
  CHECK(wrong == 0);
  CHECK(faulty > programs_to_try() / 8);
  CHECK(right > programs_to_try() / 8);
}
