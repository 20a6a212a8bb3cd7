// The generator: the same programs everywhere, all of them valid, and no part of the schema left
// out.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "isa/base/enumerators.h"
#include "tests/unit/vm/fuzz_support.h"
#include "vm/fuzz/coverage.h"
#include "vm/fuzz/generate.h"
#include "vm/fuzz/program_text.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm::fuzz;

/// Parts of the schema that no generated program has, and why.
const std::map<std::string, std::string>& never_generated() {
  static const std::string of_clusters =
      "kernels have no clusters; filetests/run/cluster_*.tile compare them on all engines";
  static const std::string of_offsets = "elements of counters are chosen by an offset";
  static const std::map<std::string, std::string> parts = {
      {"Arrive with block", of_clusters},
      {"ArriveExpect with block", of_clusters},
      {"ArriveCluster", of_clusters},
      {"BlockRank", of_clusters},
      {"SynchronizeCluster", of_clusters},
      {"WaitCluster", of_clusters},
      {"AtomicCompareExchange without offset", of_offsets},
      {"AtomicExchange without offset", of_offsets},
  };
  return parts;
}

/// Copies by tensor maps need views with strides of multiples of 16 bytes, which the generator does
/// not make; filetests/run/tensor_*.tile compare them on all engines.
bool is_by_tensor_map(const std::string& part) { return part.starts_with("CopyAsyncTensor"); }

}  // namespace

TEST_CASE("a seed gives one program with its inputs, whatever was generated before") {
  const isa::Target target = target_named("sm_90");
  std::vector<FuzzCase> first;
  for (std::uint64_t seed = 0; seed < 200; ++seed) first.push_back(make_case(seed, target));
  std::set<std::string> texts;
  for (std::uint64_t seed = 200; seed-- > 0;) {
    const FuzzCase again = make_case(seed, target);
    CHECK(again.text == first[seed].text);
    CHECK(again.inputs == first[seed].inputs);
    texts.insert(again.text);
  }
  CHECK(texts.size() == 200);
}

TEST_CASE("every generated program verifies, and its text is the program") {
  for (const isa::Target& target : isa::known_targets()) {
    for (std::uint64_t seed = 5000; seed < 5050; ++seed) {
      CAPTURE(isa::to_string(target));
      CAPTURE(seed);
      const GeneratedCase generated = generate(seed, target);
      const auto finding = check_generated(generated, target);
      if (finding) FAIL_CHECK(finding->signature, ": ", finding->detail);
      const auto made = make_ready(make_case(seed, target));
      if (const auto* text = std::get_if<vm::fuzz::Finding>(&made)) {
        FAIL_CHECK(text->signature, ": ", text->detail);
      }
    }
  }
}

TEST_CASE("generated programs use the whole schema") {
  const isa::Target target = target_named("sm_90");
  Coverage covered;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const GeneratedCase generated = generate(seed, target);
    Diagnostics diagnostics;
    const auto program = isa::verify(generated.program, target, diagnostics);
    REQUIRE(program);
    const Coverage one = coverage_of(*program);
    covered.insert(one.begin(), one.end());
  }
  for (const std::string& part : missing_of(covered, target)) {
    if (is_by_tensor_map(part)) continue;
    if (!never_generated().contains(part)) FAIL_CHECK("no program has: ", part);
  }
  for (const auto& [part, reason] : never_generated()) {
    CHECK_MESSAGE(whole_schema(target).contains(part), part);
    CHECK_MESSAGE(!covered.contains(part), part, " is generated, although: ", reason);
  }
  for (const std::string& part : covered) {
    if (!whole_schema(target).contains(part)) FAIL_CHECK("not in the schema: ", part);
  }
}

TEST_CASE("a planted fault changes a program by its mistake alone") {
  const isa::Target target = target_named("sm_90");
  std::set<std::string> kinds;
  constexpr std::size_t all = enumerator_count<Planted>();
  for (std::uint64_t seed = 0; seed < 10 * all; ++seed) {
    const auto kind = static_cast<Planted>(seed % all);
    const PlantedCase right = generate_planted(seed, target, kind, false);
    const PlantedCase wrong = generate_planted(seed, target, kind, true);
    REQUIRE(right.expected.has_value() == wrong.expected.has_value());
    if (!right.expected) continue;
    kinds.insert(std::string(to_string(kind)));
    CHECK(right.expected->line == wrong.expected->line);
    CHECK(program_text(right.generated.program) != program_text(wrong.generated.program));
    CHECK(right.generated.inputs.size() == wrong.generated.inputs.size());
  }
  CHECK(kinds.size() == all);
}
