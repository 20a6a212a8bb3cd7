// The search for tunables, with a script in place of the process that uses the GPU.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/fake_driver/fake_driver.h"
#include "tests/unit/vm/commands_support.h"
#include "tests/unit/vm/tune_support.h"
#include "vm/cli/cmd_support.h"
#include "vm/tune/tuner.h"

namespace tilevm::vm::tuning {
namespace {

const Environment here{"Some GPU", "sm_90a", "580.1", "NVRTC 13.0"};

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

SearchResult found(Points& points, const SearchSettings& settings) {
  const Result<SearchResult> result = search(points, here, settings, [](const Progress&) {});
  REQUIRE_MESSAGE(result, result.error().message);
  return *result;
}
SearchResult found(const SearchSettings& settings) {
  Points points = points_of();
  return found(points, settings);
}

TEST_CASE("the fastest point wins, and what fails costs one point") {
  const Worker worker(R"(*T=64*V=2*W=2*) answer 3.5 ;;
*T=128*V=1*W=1*) kill -11 $$ ;;
*T=128*V=2*W=1*) echo '{"error": "a kernel faulted", "status": 1}'; exit 1 ;;
*) answer 7 ;;)");
  Points points = points_of();
  std::vector<std::string> said;
  const Result<SearchResult> result =
      search(points, here, worker.settings(),
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
  CHECK(said.back().starts_with(
      "8 of at most 18 points, 2 failed, best 3.50 us (T=64 V=2 W=2), about "));
  CHECK(result->exhaustive);
  CHECK(worker.calls("diff /copy.tile --seeds 0..4 --json -D T=64 -D V=2 -D W=2 -D N=256") == 1);
}

TEST_CASE("a search goes on where it was interrupted, in the same environment only") {
  const Worker worker("*) answer 7 ;;");
  SearchSettings settings = worker.settings();
  settings.time_limit = 1e-9;
  const SearchResult none = found(settings);
  CHECK(none.left == 18);
  CHECK_FALSE(none.best);
  CHECK_FALSE(none.exhaustive);
  settings.time_limit = 0;
  CHECK(found(settings).known == 0);
  CHECK(worker.calls("bench") == 8);
  const std::string line = read_text(worker.results());
  write_text(worker.results(), line + "{\"schema\": 1, \"comm");
  const SearchResult again = found(settings);
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
  CHECK(found(settings).known == 0);
  const std::string text = read_text(worker.results());
  CHECK(contains(text, "\"file\": \"" + settings.file + "\", \"defines\": [\"N=256\"]"));
  CHECK(found(settings).known == 8);
}

TEST_CASE("a point that does not give the simulator's bits does not win") {
  const Worker worker("*T=64*V=1*W=1*) answer 1 ;;\n*) answer 7 ;;",
                      "case \"$all\" in *T=64*V=1*W=1*) echo '{\"exact\": false}'; exit 1 ;; "
                      "*) exit 0 ;; esac");
  const SearchResult result = found(worker.settings());
  REQUIRE(result.best);
  CHECK(result.best->us == 7);
  CHECK(result.trials[0].exact == false);
  CHECK(result.trials[0].reason ==
        "not proved on the reduced problem: other bits than the simulator's");
}

TEST_CASE("of a large space so many points are timed as are wanted") {
  const Worker worker("*) answer 7 ;;");
  SearchSettings settings = worker.settings();
  settings.most = 5;
  const SearchResult result = found(settings);
  CHECK(worker.calls("bench") == 5);
  CHECK(worker.calls("--repeat 8 ") == 5);
  CHECK(result.timed == 5);
  CHECK_FALSE(result.exhaustive);
  CHECK(result.best);
}

/// What the process says of a point that spills where that is refused.
const std::string spills = "echo '{\"error\": \"" + std::string(spill_refusal) +
                           ": `copy` keeps 8 bytes of a thread in memory\"}'; exit 1";

TEST_CASE("points that spill are dropped, unless all do") {
  const Worker some("*refuse-spills*T=64*) " + spills + " ;;\n*T=64*) answer 1 ;;\n*) answer 7 ;;");
  const SearchResult result = found(some.settings());
  REQUIRE(result.best);
  CHECK(result.best->us == 7);
  CHECK(result.trials.size() == 8);
  CHECK(result.trials.back().reason.starts_with(spill_refusal));
  const Worker all("*refuse-spills*) " + spills + " ;;\n*T=64*) answer 1 ;;\n*) answer 7 ;;");
  for (int i = 0; i < 2; ++i) {  // the second time from the file
    const SearchResult spilling = found(all.settings());
    REQUIRE(spilling.best);
    CHECK(spilling.best->us == 1);
    CHECK(spilling.trials.size() == 8);
    CHECK(all.calls("bench") == 16);
  }
}

TEST_CASE("with a time limit a point is proved before the search goes on") {
  // The other points do not end before the limit, so what was proved at first is the result.
  const Worker worker("*T=64*V=2*W=1*) answer 7 ;;\n*) exec sleep 600 ;;");
  SearchSettings settings = worker.settings();
  settings.jobs = 1;
  SearchResult result;
  for (const double limit : {2.0, 10.0, 50.0}) {  // a slow machine may not time the first in 2 s
    settings.time_limit = limit;
    settings.begin = Clock::now();
    result = found(settings);
    CHECK(Clock::now() < settings.begin + std::chrono::seconds(300));  // the others were killed
    if (result.best) break;
  }
  REQUIRE(result.best);
  CHECK(result.best->point == "T=64 V=2 W=1");  // the default point
  CHECK(result.left > 0);
  CHECK(worker.calls("diff") >= 1);
}

TEST_CASE("the clock of a search runs from a given moment") {
  const Worker worker("*) answer 7 ;;");
  SearchSettings settings = worker.settings();
  settings.time_limit = 1000;
  settings.begin = Clock::now() - std::chrono::seconds(2000);
  CHECK_FALSE(found(settings).best);
  CHECK(worker.calls("bench") == 0);
  settings.begin = Clock::now();
  CHECK(found(settings).exhaustive);
}

TEST_CASE("a winner that is not exact within the limit leaves the point that is") {
  const Worker worker("*T=64*V=2*W=1*) answer 7 ;;\n*) answer 1 ;;",
                      "case \"$all\" in *T=64*V=2*W=1*) exit 0 ;; *) exit 1 ;; esac");
  SearchSettings settings = worker.settings();
  settings.jobs = 1;
  settings.time_limit = 1000;
  const SearchResult result = found(settings);
  REQUIRE(result.best);
  CHECK(result.best->us == 7);
}

TEST_CASE("a table of other GPUs and sizes gives the points to begin with") {
  const auto line = [](const std::string& device, const std::string& defines,
                       const std::string& point, const std::string& us) {
    return "{\"schema\": 1, \"command\": \"tune\", \"key\": \"k\", \"file\": "
           "\"programs/copy.tile\", \"defines\": [" +
           defines + "], \"point\": \"" + point + "\", \"rounds\": 8, \"us\": " + us +
           ", \"reason\": \"\", \"registers\": 1, \"spill_bytes\": 0, \"shared_bytes\": 0, "
           "\"exact\": true, \"environment\": {\"device\": \"" +
           device + "\", \"target\": \"sm_90a\", \"driver\": \"1\", \"compiler\": \"NVRTC\"}}\n";
  };
  const std::string table = line("GPU 1", "\"N=64\"", "T=64 V=1 W=1", "5") +
                            line("GPU 1", "\"N=64\"", "T=64 V=1 W=2", "4") +
                            line("GPU 2", "\"N=64\", \"Q=u4\"", "T=128 V=2 W=2", "9") +
                            line("GPU 2", "\"N=64\"", "T=128 V=1 W=1", "null");
  std::istringstream file(table);
  const auto starts = read_starts(file, "table", {"/x/copy.tile", {"Q=u4"}}, 8);
  REQUIRE(starts);
  CHECK(*starts == std::vector<std::string>{"T=128 V=2 W=2", "T=64 V=1 W=2"});
  std::istringstream other(table);
  CHECK(read_starts(other, "table", {"/x/matmul.tile", {}}, 8)->empty());

  const Worker worker("*) answer 7 ;;");
  const ScratchFolder folder;
  SearchSettings settings = worker.settings();
  settings.start = write_text(folder / "table.jsonl", table);
  settings.jobs = 1;
  CHECK(found(settings).exhaustive);
  std::istringstream log(read_text(worker.log()));
  std::vector<std::string> calls(3);
  for (std::string& call : calls) std::getline(log, call);
  CHECK(contains(calls[0] + calls[1], "-D T=64 -D V=1 -D W=2"));
  CHECK(contains(calls[0] + calls[1], "-D T=128 -D V=2 -D W=2"));
  CHECK(contains(calls[2], "-D T=64 -D V=2 -D W=1"));  // the default
}

TEST_CASE("a file that holds something else is not taken for results") {
  const ScratchFolder folder;
  const std::string path = write_text(folder / "notes.txt", "one\ntwo\n");
  const Result<Trials> trials = read_trials(path, here);
  REQUIRE_FALSE(trials);
  CHECK(contains(trials.error().message, "line 2, is not a result of `tilevm tune`"));
  CHECK(read_trials(folder / "none", here)->empty());
}

TEST_CASE("bench refuses a kernel that spills before it uses the GPU") {
  if (!backend::has_fake_driver()) return;
  const backend::FakeGpu gpu;
  const backend::ScopedVariable local("FAKE_CUDA_LOCAL", "8"), cache("TILEVM_CACHE", "off");
  const ScratchFolder folder;
  BenchOptions options;
  options.program.file = write_text(folder / "copy.tile", program);
  options.rounds = 1;
  options.refuse_spills = true;
  Streams refused;
  CHECK(bench(options, refused.io) == Exit::fault);
  CHECK(contains(refused.err.str(),
                 std::string(spill_refusal) + ": `copy` keeps 8 bytes of a thread in memory"));
  CHECK(gpu.take_log().empty());
  options.refuse_spills = false;
  Streams timed;
  CHECK(bench(options, timed.io) == Exit::ok);
  CHECK_FALSE(gpu.take_log().empty());
}

TEST_CASE("tune says what it looked at, and prints the winner's options") {
  if (!backend::has_fake_driver()) return;
  const backend::FakeGpu gpu;
  const Worker worker("*T=64*V=2*W=2*) answer 3.5 ;;\n*) answer 7 ;;");
  const ScratchFolder folder;
  TuneOptions options;
  options.program.file = write_text(folder / "copy.tile", program);
  options.worker = worker.path();
  options.output = worker.results();
  Streams streams;
  REQUIRE(tune(options, streams.io) == Exit::ok);
  CHECK(streams.out.str() == "-D T=64 -D V=2 -D W=2\n");
  CHECK(contains(streams.err.str(), "18 points, 18 looked at, 8 legal, 8 timed: all\n"));
  CHECK(contains(streams.err.str(), "6 rejected: V must be 1 or 2\n"));
  CHECK(contains(streams.err.str(), "3.50 us  T=64 V=2 W=2 (40 registers, 0 bytes spilled"));
  options.json = true;
  Streams json;
  REQUIRE(tune(options, json.io) == Exit::ok);
  CHECK(contains(json.out.str(), "\"search\": \"exhaustive\""));
  CHECK(contains(json.out.str(), "\"known\": 8"));
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
