// Campaigns: what they count, keep, leave out and go on with.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/unit/sanitizers.h"
#include "tests/unit/vm/commands_support.h"
#include "tests/unit/vm/fuzz_support.h"
#include "vm/diff/bundle.h"
#include "vm/fuzz/corpus.h"
#include "vm/fuzz/findings.h"
#include "vm/run/make_engine.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;
using namespace tilevm::vm::fuzz;

CampaignOptions options_for(std::uint64_t first, std::uint64_t last) {
  return {{first, last, 0, 1}, {"sim", "naive"}, target_named("sm_90")};
}

CampaignReport run(const CampaignOptions& options) {
  Result<CampaignReport> report = run_campaign(options, [](const CampaignReport&) {});
  REQUIRE(report);
  return *std::move(report);
}

/// A campaign with an engine that takes Max for Min, over seeds that favour Max.
CampaignOptions wrong_options() {
  CampaignOptions options =
      options_for(46 * isa::instruction_count, 54 * isa::instruction_count - 1);
  options.seeds.count = isa::instruction_count;
  options.seeds.index = seed_of("Max");
  options.backends = {"sim"};
  options.another_engine = [] {
    return std::make_unique<WrongEngine>(WrongEngine::Mistakes{{"Max(", "Min("}});
  };
  return options;
}

Corpus opened(const std::string& folder) {
  Result<Corpus> corpus = Corpus::open(folder);
  REQUIRE(corpus);
  return *std::move(corpus);
}

}  // namespace

TEST_CASE("seeds of several ranges count once") {
  const auto count = [](const std::vector<SeedRange>& ranges) {
    const Result<std::uint64_t> seeds = count_seeds(ranges);
    REQUIRE(seeds);
    return *seeds;
  };
  CHECK(count({}) == 0);
  CHECK(count({{5, 5, 0, 1}}) == 1);
  CHECK(count({{0, 99, 0, 1}, {50, 149, 0, 1}}) == 150);
  CHECK(count({{0, 99, 0, 1}, {0, 99, 1, 4}}) == 100);
  CHECK(count({{0, 99, 0, 4}, {0, 99, 1, 4}, {0, 99, 1, 4}}) == 50);
  CHECK(count({{0, 99, 0, 2}, {0, 99, 0, 3}}) == 50 + 34 - 17);
  CHECK(count({{10, 19, 0, 2}, {15, 40, 1, 2}}) == 5 + 13);
  // Long ranges are counted by their period.
  const std::uint64_t long_way = 6'000'000'000;
  CHECK(count({{0, long_way - 1, 0, 2}, {0, long_way - 1, 0, 3}}) == long_way / 6 * 4);
  CHECK_FALSE(count_seeds({{0, long_way, 0, 65521}, {0, long_way, 0, 65519}}).ok());
  CHECK(is_valid({0, 0, 0, 1}));
  CHECK_FALSE(is_valid({1, 0, 0, 1}));
  CHECK_FALSE(is_valid({0, 9, 2, 2}));
  CHECK_FALSE(is_valid({0, 9, 0, 0}));
  CHECK_FALSE(is_valid({0, ~std::uint64_t{0}, 0, 1}));
}

TEST_CASE("a case comes back from its file") {
  const ScratchFolder folder;
  FuzzCase each = make_case(11, target_named("sm_80"));
  const fuzz::Finding finding{"emu differs at Cast u4 f16", "y: 3 of 4\nthe first y[1]", "sim,emu",
                              "emu"};
  const Result<std::string> file = opened(folder / "c").add_case(each, finding);
  REQUIRE(file);
  CHECK(contains(*file, "emu_differs_at_Cast_u4_f16-11.tile"));
  CHECK(contains(read_text(*file), "--judge FILE --engines sim,emu --target sm_80"));
  Result<KeptCase> kept = read_case(*file);
  REQUIRE(kept);
  CHECK(kept->each.seed == 11);
  CHECK(kept->each.target == each.target);
  CHECK(kept->each.inputs == each.inputs);
  CHECK(kept->finding.signature == finding.signature);
  CHECK(kept->finding.detail == finding.detail + "\n");
  CHECK_FALSE(kept->each.planted);
  CHECK_FALSE(*judge_case(kept->each, {"sim", "naive"}));  // comments do no harm

  each.planted = PlantedFault{"no wait", false, {Code::in_flight_access, "t12 = "}};
  const Result<std::string> second =
      opened(folder / "c").add_case(each, {"planted no wait: x", ""});
  REQUIRE(second);
  kept = read_case(*second);
  REQUIRE(kept);
  REQUIRE(kept->each.planted);
  CHECK(kept->each.planted->kind == "no wait");
  CHECK_FALSE(kept->each.planted->faulty);
  CHECK(kept->each.planted->expected.code == Code::in_flight_access);
  CHECK(kept->each.planted->expected.line == "t12 = ");

  CHECK_FALSE(read_case(write_text(folder / "x.tile", "def f<1>():\n    pass\n")));
  CHECK_FALSE(read_case(write_text(folder / "y.tile", "# target: sm_1\n")));
  CHECK_FALSE(read_case(write_text(folder / "z.tile", "# planted: a\n# expected: 5\n")));
}

TEST_CASE("a corpus is read as it was written, without lines that were cut off") {
  const ScratchFolder folder;
  const Work work{"sim,naive", "sm_90"};
  {
    Corpus corpus = opened(folder / "c");
    REQUIRE(corpus.add_progress({{0, 9, 1, 2}, 5, 0.25, work}));
    REQUIRE(corpus.add_progress({{10, 19, 1, 2}, 5, 0.25, work}));
    REQUIRE(corpus.add_coverage({"Add", "Cast"}));
  }
  std::ofstream(folder / "c/progress.txt", std::ios::app)
      << "seeds 20 29 shard 1 2 prog\nseeds 9 0 shard 0 1 programs 1 seconds 1 engines a target b";
  const Corpus corpus = opened(folder / "c");
  REQUIRE(corpus.progress().size() == 2);
  CHECK(corpus.progress()[1].seeds.last == 19);
  CHECK(corpus.progress()[1].work == work);
  CHECK(corpus.coverage() == Coverage{"Add", "Cast"});
  CHECK(corpus.has(13, work));
  CHECK_FALSE(corpus.has(12, work));
  CHECK_FALSE(corpus.has(21, work));
  CHECK_FALSE(corpus.has(13, {"sim,emu", "sm_90"}));
  CHECK_FALSE(corpus.has(13, {"sim,naive", "sm_80"}));
}

TEST_CASE("corpora are put together") {
  const ScratchFolder folder;
  const Work work{"sim,naive", "sm_90"};
  Corpus a = opened(folder / "a"), b = opened(folder / "b");
  REQUIRE(a.add_progress({{0, 99, 0, 2}, 50, 1, work}));
  REQUIRE(b.add_progress({{0, 99, 1, 2}, 50, 1, work}));
  REQUIRE(b.add_progress({{0, 49, 0, 1}, 50, 1, work}));
  REQUIRE(a.add_coverage({"Add"}));
  REQUIRE(b.add_coverage({"Cast"}));
  const FuzzCase each = make_case(3, target_named("sm_90"));
  const Result<std::string> file = b.add_case(each, {"emu differs", ""});
  REQUIRE(file);
  std::filesystem::create_directories(bundle_folder(*file) + "/inputs");
  write_text(bundle_folder(*file) + "/inputs/0.npy", "x");

  FuzzOptions options;
  options.words = {"merge", folder / "a", folder / "b", folder / "b"};
  options.corpus = folder / "all";
  Streams streams;
  CHECK(fuzz_programs(options, streams.io) == Exit::ok);
  CHECK(contains(streams.out.str(), "sim,naive on sm_90: 100 seeds; 150 programs ran in 3 s"));
  CHECK(contains(streams.out.str(), "2 parts of the schema, 1 cases"));
  CHECK(read_text(folder / "all/emu_differs-3.bundle/inputs/0.npy") == "x");
  const Corpus all = opened(folder / "all");
  REQUIRE(all.cases().size() == 1);
  CHECK(all.cases()[0].finding.signature == "emu differs");
  Streams again;
  options.words = {"merge", folder / "all", folder / "a"};
  CHECK(fuzz_programs(options, again.io) == Exit::ok);
  CHECK(again.out.str() == streams.out.str());
}

TEST_CASE("findings are counted, known ones left alone, new ones shrunk and kept") {
  const ScratchFolder folder;
  CampaignOptions options = options_for(0, 9);
  options.avoid = {"emu differs at Cast"};
  const Corpus corpus = opened(folder / "c");
  CampaignReport report;
  Findings findings(options, &corpus, report);
  int tries = 0;
  const FuzzCase each = case_of(max_program, {"k0_in0=iota"});
  const auto add = [&](const std::string& signature) {
    const fuzz::Finding finding{signature, "detail", {}, "emu"};
    const Status added =
        findings.add(each, finding, [&](const FuzzCase& smaller) -> std::optional<fuzz::Finding> {
          ++tries;
          if (contains(smaller.text, "And(")) return finding;
          return std::nullopt;
        });
    CHECK(added);
  };
  add("emu differs at Cast u4 f16");
  CHECK(tries == 0);
  CHECK(report.avoided == 1);
  CHECK(report.findings.empty());
  add("emu differs at And i32 i32 i32");
  CHECK(tries > 0);
  const int tries_of_first = tries;
  add("emu differs at And i32 i32 i32");
  CHECK(tries == tries_of_first);
  REQUIRE(report.findings.size() == 1);
  const KnownFinding& known = report.findings.begin()->second;
  CHECK(known.count == 2);
  CHECK(known.first_seed == 7);
  CHECK(contains(known.text, "And("));
  CHECK_FALSE(contains(known.text, "Max("));
  CHECK(contains(read_text(known.file), known.text));
}

TEST_CASE("a wrong engine is found, its programs shrunk and kept") {
  const ScratchFolder folder;
  CampaignOptions options = wrong_options();
  options.corpus = folder / "c";
  const CampaignReport report = run(options);
  CHECK(report.programs == 8);
  REQUIRE_FALSE(report.findings.empty());
  for (const auto& [signature, known] : report.findings) {
    CAPTURE(known.text);
    CHECK_MESSAGE(contains(signature, "wrong differs at Max"), signature);
    CHECK(contains(known.text, "Max("));
    CHECK(std::count(known.text.begin(), known.text.end(), '\n') <= 16);
    CHECK(known.bundle.empty());  // `tilevm diff` has no such engine
  }
  options.avoid = {"wrong differs"};
  options.corpus.clear();
  const CampaignReport avoided = run(options);
  CHECK(avoided.findings.empty());
  CHECK(avoided.avoided > 0);
}

TEST_CASE("a campaign that ended goes on where it was") {
  const ScratchFolder folder;
  const std::uint64_t programs = tests::under_sanitizers() ? 40 : 60;
  CampaignOptions options = options_for(0, programs - 1);
  options.corpus = folder / "c";
  options.time_limit = 0;  // ends after the first batch
  const CampaignReport first = run(options);
  CHECK(first.out_of_time);
  CHECK(first.programs == 32);
  options.resume = true;
  options.time_limit.reset();
  const CampaignReport second = run(options);
  CHECK_FALSE(second.out_of_time);
  CHECK(second.programs == programs - 32);
  CHECK(run(options).programs == 0);
  options.backends = {"sim"};
  CHECK(run(options).programs == programs);  // other engines have not seen these seeds
  options.plant = true;
  CHECK(run(options).planted > programs / 2);
  CHECK(run(options).planted == 0);
}

TEST_CASE("a resumed campaign knows what was found before") {
  const ScratchFolder folder;
  CampaignOptions options = wrong_options();
  options.shrink = false;
  options.corpus = folder / "c";
  const CampaignReport first = run(options);
  options.resume = true;
  const CampaignReport second = run(options);
  CHECK(second.programs == 0);
  REQUIRE(second.findings.size() == first.findings.size());
  for (const auto& [signature, known] : second.findings) {
    CHECK(known.count == 0);
    CHECK(known.file == first.findings.at(signature).file);
  }
}

TEST_CASE("a difference of two engines is kept as a bundle that repeats it") {
  const auto compiles = make_engine("emu", {});
  if (!compiles) {
    MESSAGE("skipped: " << compiles.error().message);
    return;
  }
  const ScratchFolder folder;
  // A program whose results show that maxima are wrong.
  CampaignOptions found = wrong_options();
  found.shrink = false;
  const CampaignReport shown = run(found);
  REQUIRE_FALSE(shown.findings.empty());
  const std::uint64_t seed = shown.findings.begin()->second.first_seed;
  CampaignOptions options = options_for(seed, seed);
  options.backends = {"emu:O0"};
  options.shrink = false;  // the compiler would run for each try
  options.corpus = folder / "c";
  options.version = "1.2.3";
  // Behind the prelude, maxima become minima.
  options.engine.edit_text = [](std::string text) {
    const std::size_t begin = std::min(text.find("#define for("), text.size());
    return text.substr(0, begin) + replaced(text.substr(begin), "<tv::Max,", "<tv::Min,");
  };
  const CampaignReport report = run(options);
  REQUIRE_FALSE(report.findings.empty());
  for (const auto& [signature, known] : report.findings) {
    CHECK_MESSAGE(contains(signature, "emu:O0 differs at Max"), signature);
    const Result<Bundle> bundle = read_bundle(known.bundle);
    REQUIRE(bundle);
    CHECK(bundle->version == "1.2.3");
    CHECK(bundle->backends() == "sim,emu:O0");
    CHECK(bundle->verdict == "different");
    const Result<DiffCase> what = load_bundle(*bundle);
    REQUIRE(what);
    const Result<Engines> same = make_engines("sim,emu:O0", options.engine);
    REQUIRE(same);
    const auto again = vm::run_on(*what, *same, bundle->tensors, bundle->seed);
    REQUIRE(again);
    CHECK(compare_with_bundle(*bundle, *what, *again) == "");
    // The command repeats it, too; its engines are without the mistake.
    DiffOptions repeat;
    repeat.program.file = known.bundle;
    Streams streams;
    CHECK(diff(repeat, streams.io) == Exit::ok);
    CHECK(contains(streams.out.str(), "the verdict was `different` and is `exact` now"));
  }
}
