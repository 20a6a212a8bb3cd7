#include <doctest/doctest.h>

#include "tests/unit/vm/commands_support.h"
#include "vm/fidelity/record.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

DiffOptions options_for(const std::string& file) {
  DiffOptions options;
  options.program.file = file;
  options.backends = "sim,sim";
  return options;
}

}  // namespace

TEST_CASE("equal results are exact") {
  Streams streams(shift_program);
  CHECK(diff(options_for("-"), streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), "c_ptr: exact (6 elements, hash "));
}

TEST_CASE("several seeds are compared in one go and give different data") {
  Streams streams(shift_program);
  DiffOptions options = options_for("-");
  options.seeds = "3..5";
  options.json = true;
  CHECK(diff(options, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), R"("seed": 3)"));
  CHECK(contains(streams.out.str(), R"("seed": 5)"));
  CHECK(contains(streams.out.str(), R"("exact": true)"));
}

TEST_CASE("bad options of diff say what is meant") {
  const auto error_of = [](const DiffOptions& options) {
    Streams streams(shift_program);
    CHECK(diff(options, streams.io) == Exit::usage);
    return streams.err.str();
  };
  for (const char* seeds : {"5..3", "x", "1..", "..1", "0..18446744073709551615", "-1..2"}) {
    DiffOptions options = options_for("-");
    options.seeds = seeds;
    CHECK(contains(error_of(options), "write A..B"));
  }
  const auto backends_error = [&](const char* backends) {
    DiffOptions options = options_for("-");
    options.backends = backends;
    return error_of(options);
  };
  CHECK(contains(backends_error("sim"), "write A,B"));
  CHECK(contains(backends_error("sim,"), "unknown engine"));
  CHECK(contains(backends_error("sim,smi"), "did you mean `sim`?"));
  CHECK(contains(backends_error("sim,cuda:O4"), "O0, O1, O2 or O3"));
  CHECK(contains(backends_error("sim,sim:O0"), "has no levels"));
  DiffOptions options = options_for("-");
  options.record = "x.jsonl";
  CHECK(contains(error_of(options), "--record needs a program in a file"));
}

TEST_CASE("a record comes back as it was written") {
  const Record record{"p.tile",   "main",
                      "sm_90",    {"M=1", "N=2"},
                      {"a=rand"}, 18446744073709551615U,
                      true,       {{"c", "00ff00ff00ff00ff"}},
                      "cuda",     "a \"GPU\"",
                      "1.2",      "NVRTC"};
  const Result<Record> back = parse_record(format_record(record));
  REQUIRE(back);
  CHECK(*back == record);
}

TEST_CASE("what is not a record is refused, not believed") {
  CHECK_FALSE(parse_record(""));
  CHECK_FALSE(parse_record("{}"));
  CHECK_FALSE(parse_record("[1]"));
  CHECK_FALSE(parse_record(R"({"schema": 2})"));
  CHECK_FALSE(parse_record(R"({"schema": 1, "file": 3})"));
  CHECK_FALSE(parse_record(std::string(100000, '[')));
}

TEST_CASE("a recorded run is repeated, and a changed hash is noticed") {
  const ScratchFolder folder;
  DiffOptions options = options_for(write_text(folder / "p.tile", shift_program));
  options.seeds = "0..1";
  options.record = folder / "runs.jsonl";
  Streams streams;
  REQUIRE(diff(options, streams.io) == Exit::ok);
  std::istringstream lines(read_text(options.record));
  const auto engine = make_engine("sim", {});
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    Result<Record> record = parse_record(line);
    REQUIRE(record);
    record->file = "p.tile";
    CHECK(replay(*record, folder / ".", **engine) == std::nullopt);
    record->outputs[0].second = "0000000000000000";
    CHECK(contains(replay(*record, folder / ".", **engine).value_or(""), "recorded 0000"));
  }
  CHECK(count == 2);
}
