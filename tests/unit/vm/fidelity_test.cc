// What GPUs gave for the cases of `tilevm record`, kept in tests/data, against the simulator of
// today; and the page made of it.
#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"
#include "vm/fidelity/report.h"

using namespace tilevm;
using namespace tilevm::vm;
using fidelity::Case;
using fidelity::CaseRecord;
using fidelity::Outcome;

namespace {

constexpr isa::Target h200{90, true};

/// All hashes by the names of results.
std::map<std::string, std::string> hashes_of(const std::vector<Outcome>& outcomes) {
  std::map<std::string, std::string> hashes;
  for (const Outcome& outcome : outcomes) hashes[outcome.name] = outcome.hash;
  return hashes;
}

std::vector<CaseRecord> kept_records() {
  const auto records =
      fidelity::read_records(std::string(TILEVM_SOURCE_DIR) + "/tests/data/fidelity_sm_90.jsonl");
  const std::string problem = records ? "" : records.error().message;
  REQUIRE_MESSAGE(records.ok(), problem);
  return *records;
}

/// A simulator that gets the last element of the last tensor wrong.
class WrongEngine final : public Engine {
 public:
  [[nodiscard]] std::string_view name() const override { return "wrong"; }
  [[nodiscard]] std::string device() const override { return "wrong"; }
  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    const std::optional<Failure> failure = (*right_)->run(program, entry, tensors, report);
    tensors.back().data.back() ^= 1;
    return failure;
  }

 private:
  Result<std::unique_ptr<Engine>> right_ = make_engine("sim", {});
};

}  // namespace

TEST_CASE("the simulator gives what a GPU gave for every case") {
  const auto engine = make_engine("sim", {});
  REQUIRE(engine);
  const std::vector<Case> cases = fidelity::make_cases(h200);
  for (const CaseRecord& record : kept_records()) {
    CAPTURE(record.name);
    const auto found = std::find_if(cases.begin(), cases.end(),
                                    [&](const Case& each) { return each.name == record.name; });
    REQUIRE(found != cases.end());
    CHECK(record.backend == "cuda");
    CHECK(record.exact());
    CHECK(record.outputs >= found->outputs(found->kept));
    const auto outcomes = fidelity::run_kept(*found, h200, **engine);
    REQUIRE(outcomes);
    CHECK(hashes_of(*outcomes) == hashes_of(record.outcomes));
  }
}

TEST_CASE("every case of a family that was recorded has a record") {
  std::set<std::string> names;
  for (const CaseRecord& record : kept_records()) names.insert(record.name);
  const std::vector<Case> cases = fidelity::make_cases(h200);
  std::set<fidelity::Family> recorded{fidelity::Family::tensor_core, fidelity::Family::chain};
  for (const Case& each : cases) {
    if (names.contains(each.name)) recorded.insert(each.family);
  }
  for (const Case& each : cases) {
    CAPTURE(each.name);
    CHECK(names.contains(each.name) == recorded.contains(each.family));
  }
}

TEST_CASE("docs/results/fidelity.md is what the records say") {
  const std::string page = read_text(std::string(TILEVM_SOURCE_DIR) + "/docs/results/fidelity.md");
  CHECK_MESSAGE(
      page == fidelity::markdown_report(kept_records()),
      "run: tilevm record --report tests/data/fidelity_sm_90.jsonl > docs/results/fidelity.md");
}

TEST_CASE("an element that differs is found, with what it was computed from") {
  const auto simulator = make_engine("sim", {});
  REQUIRE(simulator);
  WrongEngine wrong;
  for (const Case& each : fidelity::make_cases(h200)) {
    const bool dot = each.name == "Dot u8 i8 i32 m8n8k16";
    if (!dot && each.name != "Binary i2") continue;
    // What is kept, and one launch behind it.
    const auto outcomes = compare_case(each, h200, 1, each.kept + 2, wrong, **simulator);
    REQUIRE(outcomes);
    CHECK(outcomes->back().different == 2);
    CHECK(outcomes->back().hash != fidelity::run_kept(each, h200, **simulator)->back().hash);
    const std::string& first = outcomes->back().first;
    CHECK(contains(first, dot ? "[63, 7, 15] from block 0 on" : "[0, 1023] from block 0 on"));
    CHECK(contains(first, dot ? ", c = 0x" : "a = 0x3, b = 0x3, divisor = 0x3, condition = 0x"));
    if (!dot) CHECK(outcomes->front().different == 0);
  }
}

TEST_CASE("a difference shows in the record and on the page") {
  CaseRecord record;
  record.name = "Cast f16";
  record.target = "sm_90a";
  record.size = "quick";
  record.outputs = 65536;
  record.outcomes = {{"i8", "0123456789abcdef", 3, "[0, 1]: device 0x1, simulator 0x2"},
                     {"f32", "0123456789abcdef", 0, ""}};
  record.backend = "cuda";
  record.device = "NVIDIA H200";
  const auto parsed = fidelity::parse_case_record(fidelity::format_record(record));
  REQUIRE(parsed);
  CHECK_FALSE(parsed->exact());
  CHECK(parsed->outcomes[0].different == 3);
  CHECK(parsed->outcomes[0].first == record.outcomes[0].first);
  CHECK(fidelity::format_record(*parsed) == fidelity::format_record(record));
  CHECK(contains(fidelity::markdown_report({record}), "**differs**"));
  CHECK_FALSE(fidelity::parse_case_record("{\"schema\": 2}"));
  CHECK_FALSE(fidelity::parse_case_record("[]"));
}

TEST_CASE("record writes a line a case, and skips what the file has") {
  const ScratchFolder folder;
  RecordOptions options;
  options.backend = "sim";
  options.only = "Cast i5";
  options.output = folder / "records.jsonl";
  Streams first;
  CHECK(record(options, first.io) == Exit::ok);
  CHECK(contains(first.err.str(), "[1/1] Cast i5: 56 x 1024 outputs, exact"));
  const std::string line = read_text(options.output);
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
  Streams second;
  CHECK(record(options, second.io) == Exit::ok);
  CHECK(contains(second.err.str(), "1 of 1 cases are in"));
  CHECK(read_text(options.output) == line);
  options.force = true;
  options.time_limit = 0;
  Streams third;
  CHECK(record(options, third.io) == Exit::limit);
  CHECK(contains(third.err.str(), "0 of 1 cases done"));
  options.only = "no such case";
  CHECK(record(options, third.io) == Exit::usage);
  options.size = "ful";
  CHECK(record(options, third.io) == Exit::usage);
  CHECK(contains(third.err.str(), "did you mean `full`?"));
}
