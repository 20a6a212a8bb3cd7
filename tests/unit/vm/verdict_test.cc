// Verdicts on engines that give what a test tells them to.
#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <numeric>

#include "tests/unit/vm/commands_support.h"
#include "vm/diff/permutation.h"
#include "vm/diff/verdict_render.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

/// What a run of an engine does to the tensors; the number counts the runs of this engine.
using Deed = std::function<std::optional<Failure>(std::vector<HostTensor>&, int run)>;

class ToldEngine final : public Engine {
 public:
  ToldEngine(std::string name, Deed deed) : name_(std::move(name)), deed_(std::move(deed)) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string device() const override { return "a test"; }
  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram&, const Entry&,
                                           std::vector<HostTensor>& tensors, RunReport&) override {
    return deed_(tensors, runs_++);
  }

 private:
  std::string name_;
  Deed deed_;
  int runs_ = 0;
};

/// A program with one output of 4 x 4 elements; its text is not run.
DiffCase square_case() {
  const std::string text = R"(def fill<1>(i32* x_ptr):
    g = ViewGlobal(x_ptr, shape=[4, 4])
    StoreGlobal(AllocateRegister(i32, layout=local(4, 4), init=1), g, offset=[0:, 0:])
)";
  const auto source = std::make_shared<const SourceFile>("square.tile", text);
  const Loaded loaded = load(source, {}, *isa::parse_target("sm_90"));
  REQUIRE(loaded.program);
  return {*loaded.program, *resolve_entry(*loaded.program, "", {})};
}

using Place = std::function<std::size_t(std::size_t)>;

/// Element k is the number of place(k).
Deed numbers(Place place) {
  return [place = std::move(place)](std::vector<HostTensor>& tensors, int) {
    for (std::size_t k = 0; k < 16; ++k) tensors[0].set_code(k, place(k));
    return std::optional<Failure>();
  };
}
Deed in_order() {
  return numbers([](std::size_t k) { return k; });
}
Deed with_element(std::size_t changed, std::uint64_t code) {
  return numbers([=](std::size_t k) { return k == changed ? code : k; });
}
Deed failing(Failure failure) {
  return [failure = std::move(failure)](std::vector<HostTensor>&, int) {
    return std::optional(failure);
  };
}

struct Told {
  std::string name;
  Deed deed;
};

SeedRun run_told(const std::vector<Told>& told) {
  Engines engines;
  for (const Told& each : told) {
    engines.push_back(std::make_unique<ToldEngine>(each.name, each.deed));
  }
  Result<SeedRun> run = run_seed(square_case(), engines, {});
  REQUIRE(run);
  return *std::move(run);
}

std::string text_of(const SeedRun& run) { return render_verdict(square_case(), run, {}); }

}  // namespace

TEST_CASE("engines that agree are exact") {
  const SeedRun run = run_told({{"sim", in_order()}, {"emu", in_order()}, {"cuda", in_order()}});
  CHECK(run.verdict.exact());
  CHECK(run.verdict.status() == Exit::ok);
  CHECK(run.verdict.agreement.groups == std::vector<std::vector<std::size_t>>{{0, 1, 2}});
  CHECK(contains(text_of(run), "x_ptr: exact in sim and cuda (16 elements"));
}

TEST_CASE("the first and the worst element are named with both bit patterns") {
  const SeedRun run = run_told({{"sim", in_order()}, {"cuda", with_element(6, 0x1000)}});
  CHECK(run.verdict.kind() == SeedVerdict::Kind::different);
  CHECK(run.verdict.status() == Exit::fault);
  const std::string text = text_of(run);
  CHECK(contains(text, "x_ptr: different, 1 of 16 elements (sim against cuda)"));
  CHECK(contains(text, "first [1, 2]: 0x00000006 (6) against 0x00001000 (4096)"));
  CHECK(run.verdict.agreement.suspect.empty());  // two voices are not vote
}

TEST_CASE("a level of the optimiser that stands alone is named") {
  const SeedRun run = run_told({{"sim", in_order()},
                                {"emu", in_order()},
                                {"cuda:O0", in_order()},
                                {"cuda", with_element(3, 99)}});
  const std::string text = text_of(run);
  CHECK(contains(text, "sim = emu = cuda:O0 != cuda"));
  CHECK(contains(text, "suspect the optimiser of ptxas: `cuda` stands alone"));
}

TEST_CASE("the others that stand alone are suspected of what only they have") {
  using Groups = std::vector<std::vector<std::size_t>>;
  const std::vector<std::string> three = {"sim", "emu", "cuda"};
  CHECK(contains(find_suspect(three, Groups{{0, 2}, {1}}), "the emulated machine"));
  CHECK(contains(find_suspect(three, Groups{{0}, {1, 2}}), "the simulator"));
  CHECK(contains(find_suspect(three, Groups{{0, 1}, {2}}), "`cuda:O0` beside it tells"));
  CHECK(find_suspect(three, Groups{{0}, {1}, {2}}).empty());
  CHECK(find_suspect(three, Groups{{0, 1, 2}}).empty());
  const std::vector<std::string> four = {"sim", "emu", "cuda:O0", "cuda"};
  CHECK(contains(find_suspect(four, Groups{{0, 1}, {2, 3}}), "its front end, or the device"));
  CHECK(contains(find_suspect(four, Groups{{0, 1, 3}, {2}}), "`cuda:O0` stands alone"));
}

TEST_CASE("permuted values are distinguished from wrong ones, with the rule where it is simple") {
  const auto rule_of = [](Place place) {
    const SeedRun run = run_told({{"sim", in_order()}, {"cuda", numbers(std::move(place))}});
    CHECK(run.verdict.kind() == SeedVerdict::Kind::permuted);
    const auto* permuted = std::get_if<Permuted>(&run.verdict.tensors.at(0).relation);
    REQUIRE(permuted != nullptr);
    return permuted->rule;
  };
  CHECK(contains(rule_of([](std::size_t k) { return k % 4 * 4 + k / 4; }), "transposed"));
  CHECK(rule_of([](std::size_t k) { return k / 4 * 4 + (k + 1) % 4; }) ==
        "shifted by 1 along dimension 1 towards lower indices");
  CHECK(rule_of([](std::size_t k) { return (k + 12) % 16; }) ==
        "shifted by 1 along dimension 0 towards higher indices");
  CHECK(rule_of([](std::size_t k) { return k / 4 * 4 + 3 - k % 4; }) ==
        "reversed along dimension 1");
  CHECK(rule_of([](std::size_t k) { return k ^ 5; }) ==
        "element numbers are combined with 5 by XOR");
  CHECK(rule_of([](std::size_t k) { return k < 2 ? 1 - k : k; }).empty());
}

TEST_CASE("rows that lie as columns are seen without a square") {
  HostTensor a{isa::u8, {2, 3}, {0, 1, 2, 3, 4, 5}}, b{isa::u8, {2, 3}, {0, 3, 1, 4, 2, 5}};
  CHECK(contains(find_permutation(a, b).value_or(""), "as columns do"));
  CHECK(contains(find_permutation(b, a).value_or(""), "as columns do"));
  CHECK_FALSE(find_permutation(a, a));
  b.data[0] = 9;
  CHECK_FALSE(find_permutation(a, b));
}

TEST_CASE("an engine whose second run differs is suspected of a race") {
  const Deed racing = [](std::vector<HostTensor>& tensors, int run) {
    tensors[0].set_code(5, static_cast<std::uint64_t>(run) + 100);
    return std::optional<Failure>();
  };
  const SeedRun run = run_told({{"sim", numbers([](std::size_t) { return 0; })}, {"cuda", racing}});
  CHECK(run.verdict.kind() == SeedVerdict::Kind::unstable);
  const std::string text = text_of(run);
  CHECK(contains(text, "cuda: differs between two runs on the same inputs"));
  CHECK(contains(text, "first [1, 1]: 0x00000064 (100) against 0x00000065 (101)"));
}

TEST_CASE("a fault on one side only is a verdict, and so is a run that does not end") {
  const SeedRun fault = run_told(
      {{"sim", in_order()}, {"cuda", failing(Error{ErrorKind::program, "illegal address"})}});
  CHECK(fault.verdict.kind() == SeedVerdict::Kind::fault);
  CHECK(fault.verdict.status() == Exit::fault);
  CHECK(fault.common_failure() == nullptr);
  CHECK(contains(text_of(fault), "cuda: fault\n"));
  CHECK(contains(text_of(fault), "illegal address"));

  const SeedRun late = run_told(
      {{"cuda", failing(Error{ErrorKind::limit, "did not end within 1 s"})}, {"sim", in_order()}});
  CHECK(late.verdict.kind() == SeedVerdict::Kind::stopped);
  CHECK(late.verdict.status() == Exit::limit);
  CHECK(contains(text_of(late), "did not end within 1 s"));
}

TEST_CASE("a fault of all engines is the program's, and a missing device is nobody's verdict") {
  const Error broken{ErrorKind::program, "broken"};
  const SeedRun both = run_told({{"sim", failing(broken)}, {"cuda", failing(broken)}});
  CHECK(both.common_failure() != nullptr);
  Engines engines;
  engines.push_back(std::make_unique<ToldEngine>("sim", in_order()));
  engines.push_back(
      std::make_unique<ToldEngine>("cuda", failing(Error{ErrorKind::unavailable, "no device"})));
  const Result<SeedRun> run = run_seed(square_case(), engines, {});
  REQUIRE_FALSE(run);
  CHECK(run.error().kind == ErrorKind::unavailable);
}

TEST_CASE("JSON of a seed says the verdict, who agrees and what became of each engine") {
  const SeedRun run = run_told({{"sim", in_order()},
                                {"emu", numbers([](std::size_t k) { return k ^ 1; })},
                                {"cuda", in_order()}});
  const std::string seed = seed_json(square_case(), run).text();
  CHECK(contains(seed, R"("verdict": "permuted")"));
  CHECK(contains(seed, R"("groups": [["sim", "cuda"], ["emu"]])"));
  CHECK(contains(seed, R"({"backend": "emu", "outcome": "finished"})"));
  Json results = Json::array();
  add_results(square_case(), run, results);
  CHECK(contains(results.text(), R"("backends": ["sim", "emu"], "verdict": "permuted")"));
  CHECK(contains(results.text(), R"("rule": "element numbers are combined with 1 by XOR")"));
}

TEST_CASE("names of backends carry a level") {
  const Result<EngineName> name = parse_engine("cuda:O2");
  REQUIRE(name);
  CHECK(name->engine == "cuda");
  CHECK(name->level == 2);
  CHECK(name->text() == "cuda:O2");
  CHECK(parse_engines("sim,cuda,cuda:O0")->size() == 3);
  for (const char* wrong :
       {"cuda:", "cuda:O", "cuda:O4", "cuda:0", "cuda:O0:O1", "sim:O0", ":O0"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_engine(wrong));
  }
}
