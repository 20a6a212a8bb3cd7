// The search for tunables, with a script in place of the process that uses the GPU.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <set>

#include "tests/unit/vm/commands_support.h"
#include "vm/cli/cmd_support.h"
#include "vm/run/load.h"
#include "vm/tune/tuner.h"

namespace tilevm::vm::tuning {
namespace {

/// 3 x 3 x 2 points, of which the requirement leaves 2 x 3 x 2; with T = 2048 there are more
/// threads than a block has.
const std::string program = R"(# reduce: N=256
const N = 4096
const T in [64, 128, 2048] = 64
const V in [1, 2, 3] = 2
const W in [1, 2] = 1
require V < 3, "V must be 1 or 2"
const S: layout = spatial(T).local(V * W)

def copy<N / (T * V * W)>(f32* x_ptr, f32* y_ptr):
    i = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=S, offset=[i * T * V * W:])
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[N]), offset=[i * T * V * W:])

pipeline main(x: f32[N]) -> (y: f32[N]):
    copy(x, y)
)";

const Environment here{"Some GPU", "sm_90a", "580.1", "NVRTC 13.0"};

Plan plan_of(const PlanSettings& settings, const std::string& text = program) {
  Diagnostics diagnostics;
  Plan plan = make_plan(std::make_shared<SourceFile>("copy.tile", text), settings, diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  return plan;
}

PlanSettings all_points() { return {.fixed = {}, .target = {}, .what = "", .most = 512}; }

/// A worker: `bench` takes what the case says for its -D, `diff` says `exact`.
class Worker {
 public:
  explicit Worker(const std::string& bench_case, const std::string& diff = "exit 0") {
    write_text(path(), "#!/bin/sh\nall=\"$*\"\necho \"$all\" >> " + log() +
                           "\nif [ \"$1\" = diff ]; then " + diff +
                           "; fi\n"
                           "answer() { echo '{\"rounds\": 8, \"kernels\": [{\"us\": {\"median\": "
                           "'$1'}, \"registers\": 40, \"spill_bytes\": 0, \"shared_bytes\": 64}]}';"
                           " exit 0; }\ncase \"$all\" in\n" +
                           bench_case + "\nesac\n");
    REQUIRE(chmod(path().c_str(), 0700) == 0);
  }
  [[nodiscard]] std::string path() const { return folder_ / "worker"; }
  [[nodiscard]] std::string log() const { return folder_ / "log"; }
  [[nodiscard]] std::string results() const { return folder_ / "tune.jsonl"; }
  [[nodiscard]] SearchSettings settings() const {
    SearchSettings settings;
    settings.worker = path();
    settings.file = "/copy.tile";
    settings.reduced = {{"N", "256"}};
    settings.output = results();
    settings.jobs = 2;
    settings.rounds = 8;
    return settings;
  }
  [[nodiscard]] std::size_t calls(const std::string& part) const {
    std::istringstream lines(read_text(log()));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += contains(line, part) ? 1 : 0;
    return count;
  }

 private:
  ScratchFolder folder_;
};

SearchResult found(const Plan& plan, const SearchSettings& settings) {
  const Result<SearchResult> result = search(plan, here, settings, [](const Progress&) {});
  REQUIRE_MESSAGE(result, result.error().message);
  return *result;
}

TEST_CASE("a space numbers its points, the last axis fastest") {
  const Space space{{{"A", {"1", "2"}, "1"}, {"B", {"x", "y", "z"}, "x"}}};
  CHECK(space.size() == 6);
  CHECK(to_string(space.point(0)) == "A=1 B=x");
  CHECK(to_string(space.point(2)) == "A=1 B=z");
  CHECK(to_string(space.point(5)) == "A=2 B=z");
  CHECK(Space{}.size() == 1);
}

TEST_CASE("illegal points are rejected with their reasons counted") {
  const Plan plan = plan_of(all_points());
  CHECK(plan.size == 18);
  CHECK(plan.seen == 18);
  CHECK(plan.exhaustive);
  CHECK(plan.candidates.size() == 8);
  CHECK(plan.rejected.at("V must be 1 or 2") == 6);
  std::uint64_t rejected = 0;
  for (const auto& [reason, count] : plan.rejected) rejected += count;
  CHECK(rejected == 10);
  CHECK(plan.rejected.size() == 2);  // 2048 threads are the other reason
  std::set<std::string> keys;
  for (const Candidate& candidate : plan.candidates) keys.insert(candidate.key);
  CHECK(keys.size() == 8);
}

TEST_CASE("a define fixes a tunable; the default may break a requirement") {
  PlanSettings settings = all_points();
  settings.fixed = {{"T", "128"}};
  CHECK(plan_of(settings).size == 6);
  std::string text = program;
  text.replace(text.find("= 2\n"), 4, "= 3\n");
  CHECK(plan_of(all_points(), text).candidates.size() == 8);
}

TEST_CASE("the space of a program in several files has all its tunables, types too") {
  const std::string path =
      std::string(TILEVM_SOURCE_DIR) + "/programs/quantized_matmul/few_rows.tile";
  std::istringstream none;
  const auto source = read_program(path, none);
  REQUIRE(source);
  PlanSettings settings = all_points();
  settings.fixed = {{"BN", "448"},   {"WARPS", "14"}, {"BK", "256"},   {"STAGES", "2"},
                    {"UNROLL", "0"}, {"SWAP", "1"},   {"SLICES", "2"}, {"N", "896"}};
  Diagnostics diagnostics;
  const Plan plan = make_plan(*source, settings, diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  std::set<std::string> points;
  for (const Candidate& candidate : plan.candidates) points.insert(to_string(candidate.point));
  CHECK(points == std::set<std::string>{"SCALE=f16 SPLIT_BARRIERS=0", "SCALE=f16 SPLIT_BARRIERS=1",
                                        "SCALE=f32 SPLIT_BARRIERS=0",
                                        "SCALE=f32 SPLIT_BARRIERS=1"});
}

TEST_CASE("of more points than wanted a seeded choice is taken") {
  PlanSettings settings = all_points();
  settings.most = 3;
  const auto keys = [&] {
    std::vector<std::string> list;
    for (const Candidate& candidate : plan_of(settings).candidates) list.push_back(candidate.key);
    return list;
  };
  const std::vector<std::string> first = keys();
  CHECK(first.size() == 3);
  CHECK(first == keys());
  CHECK_FALSE(plan_of(settings).exhaustive);
  settings.seed = 1;
  CHECK(first != keys());
}

TEST_CASE("the fastest point wins, and what fails costs one point") {
  const Worker worker(R"(*T=64*V=2*W=2*) answer 3.5 ;;
*T=128*V=1*W=1*) kill -11 $$ ;;
*T=128*V=2*W=1*) echo '{"error": "a kernel faulted", "status": 1}'; exit 1 ;;
*) answer 7 ;;)");
  const Plan plan = plan_of(all_points());
  std::vector<std::string> said;
  const Result<SearchResult> result =
      search(plan, here, worker.settings(),
             [&](const Progress& progress) { said.push_back(to_string(progress)); });
  REQUIRE(result);
  REQUIRE(result->best);
  CHECK(result->best->point == "T=64 V=2 W=2");
  CHECK(result->best->us == 3.5);
  CHECK(result->best->registers == 40);
  CHECK(result->trials.size() == 8);
  CHECK(result->trials[6].reason != result->trials[7].reason);
  for (const Trial& trial : {result->trials[6], result->trials[7]}) {
    CHECK_FALSE(trial.us);
    CHECK((trial.reason == "ended by signal 11" || trial.reason == "a kernel faulted"));
  }
  CHECK(said.size() == 8);
  CHECK(said.back() == "8 of 8 points, 2 failed, best 3.50 us (T=64 V=2 W=2)");
  CHECK(worker.calls("diff /copy.tile --seeds 0..4 --json -D T=64 -D V=2 -D W=2 -D N=256") == 1);
}

TEST_CASE("a search goes on where it was interrupted, in the same environment only") {
  const Worker worker("*) answer 7 ;;");
  const Plan plan = plan_of(all_points());
  SearchSettings settings = worker.settings();
  settings.time_limit = 1e-9;
  const SearchResult none = found(plan, settings);
  CHECK(none.skipped == 8);
  CHECK_FALSE(none.best);
  settings.time_limit = 0;
  CHECK(found(plan, settings).known == 0);
  CHECK(worker.calls("bench") == 8);
  const std::string line = read_text(worker.results());
  write_text(worker.results(), line + "{\"schema\": 1, \"comm");
  const SearchResult again = found(plan, settings);
  CHECK(again.known == 8);
  REQUIRE(again.best);
  CHECK(worker.calls("bench") == 8);
  CHECK(worker.calls("diff") == 1);
  Environment other = here;
  other.driver = "590";
  const Result<Trials> foreign = read_trials(worker.results(), other);
  REQUIRE(foreign);
  CHECK(foreign->empty());
}

TEST_CASE(
    "a line of results names its program and what is not tuned, and may stand beside others") {
  const Worker worker("*) answer 7 ;;");
  write_text(worker.results(), "{\"command\": \"crossover\", \"rows\": 100}\n");
  SearchSettings settings = worker.settings();
  settings.fixed.push_back({"N", "256"});
  CHECK(found(plan_of(all_points()), settings).known == 0);
  const std::string text = read_text(worker.results());
  CHECK(contains(text, "\"file\": \"" + settings.file + "\", \"defines\": [\"N=256\"]"));
  CHECK(found(plan_of(all_points()), settings).known == 8);
}

TEST_CASE("a point that does not give the simulator's bits does not win") {
  const Worker worker("*T=64*V=1*W=1*) answer 1 ;;\n*) answer 7 ;;",
                      "case \"$all\" in *T=64*V=1*W=1*) echo '{\"exact\": false}'; exit 1 ;; "
                      "*) exit 0 ;; esac");
  const SearchResult result = found(plan_of(all_points()), worker.settings());
  REQUIRE(result.best);
  CHECK(result.best->us == 7);
  CHECK(result.trials[0].exact == false);
  CHECK(result.trials[0].reason ==
        "not proved on the reduced problem: other bits than the simulator's");
}

TEST_CASE("a part of a large space is timed roughly, and its best quarter again") {
  const Worker worker("*T=64*V=1*) answer 1 ;;\n*) answer 7 ;;");
  PlanSettings settings = all_points();
  settings.most = 7;
  const SearchResult result = found(plan_of(settings), worker.settings());
  CHECK(worker.calls("--repeat 3 ") == 7);
  CHECK(worker.calls("--repeat 8 ") == 2);
  CHECK(result.trials.size() == 2);
  CHECK(result.best);
}

TEST_CASE("a file that holds something else is not taken for results") {
  const ScratchFolder folder;
  const std::string path = write_text(folder / "notes.txt", "one\ntwo\n");
  const Result<Trials> trials = read_trials(path, here);
  REQUIRE_FALSE(trials);
  CHECK(contains(trials.error().message, "line 2, is no result of `tilevm tune`"));
  CHECK(read_trials(folder / "none", here)->empty());
}

TEST_CASE("tune without a GPU is one clear line, and takes no standard input") {
  const ScratchFolder folder;
  TuneOptions options;
  options.output = folder / "tune.jsonl";
  options.program.file = "-";
  Streams piped(program);
  CHECK(tune(options, piped.io) == Exit::usage);
  options.program.file = write_text(folder / "copy.tile", program);
  if (open_cuda()) return;
  Streams streams;
  CHECK(tune(options, streams.io) == Exit::unavailable);
  const std::string message = streams.err.str();
  CHECK(message.find('\n') == message.size() - 1);
}

}  // namespace
}  // namespace tilevm::vm::tuning
