#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <ostream>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "vm/bench/bench_report.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/run/shipped.h"
#include "vm/text/file.h"
#include "vm/tune/inputs.h"
#include "vm/tune/tuner.h"

namespace tilevm::vm {

namespace {

namespace fs = std::filesystem;

/// The smaller problem that the file names: "# reduce: N=256 K=512".
std::vector<std::string> reduced_of(const SourceFile& source) {
  constexpr std::string_view mark = "# reduce:";
  std::istringstream lines{std::string(source.text())};
  std::vector<std::string> defines;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(mark)) continue;
    std::istringstream words(line.substr(mark.size()));
    for (std::string word; words >> word;) defines.push_back(word);
  }
  return defines;
}

/// Progress on standard error: one line that is rewritten, or a plain one now and then.
class ProgressLine {
 public:
  explicit ProgressLine(Io& io) : io_(io), live_(isatty(STDERR_FILENO) == 1) {}
  void show(const tuning::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const bool last = progress.done == progress.total;
    const auto pause = live_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
    if (!last && now - shown_ < pause) return;
    shown_ = now;
    io_.err << (live_ ? "\r\x1b[K" : "") << to_string(progress) << (live_ && !last ? "" : "\n");
    io_.err.flush();
  }

 private:
  Io& io_;
  bool live_;
  std::chrono::steady_clock::time_point shown_;
};

std::string format_points(const tuning::Points& points, const tuning::SearchResult& result) {
  std::string text =
      fmt::format("{} points, {} looked at, {} legal, {} timed{}\n", points.space().size(),
                  points.seen(), points.legal(), result.timed, result.exhaustive ? ": all" : "");
  for (const auto& [reason, count] : points.rejected()) {
    text += fmt::format("  {} rejected: {}\n", count, reason);
  }
  if (result.dropped > 0) {
    text += fmt::format("  {} dropped: too few bytes in flight to be faster than the best\n",
                        result.dropped);
  }
  return text;
}

/// The best points, and why others failed.
std::string format_result(const tuning::SearchResult& result) {
  constexpr std::size_t shown = 10;
  std::string text;
  std::map<std::string, int> failures;
  for (std::size_t i = 0; i < result.trials.size(); ++i) {
    const tuning::Trial& trial = result.trials[i];
    if (!trial.reason.empty()) ++failures[trial.reason];
    if (!trial.us || i >= shown) continue;
    text += fmt::format("{:>10.2f} us  {} ({} registers, {} bytes spilled, {} bytes shared){}\n",
                        *trial.us, trial.point, trial.registers, trial.spill_bytes,
                        trial.shared_bytes, trial.exact.value_or(false) ? ", exact" : "");
  }
  for (const auto& [reason, count] : failures) text += fmt::format("{} x {}\n", count, reason);
  if (result.known > 0) text += fmt::format("{} points were known already\n", result.known);
  if (result.left > 0) {
    text += fmt::format("up to {} points are left; the same command goes on\n", result.left);
  }
  return text;
}

Json plan_json(const tuning::Points& points, const tuning::SearchResult& result) {
  Json object = Json::object();
  object.set("points", points.space().size()).set("seen", points.seen());
  object.set("legal", points.legal()).set("timed", result.timed).set("dropped", result.dropped);
  object.set("search", result.exhaustive ? "exhaustive" : "local");
  Json rejected = Json::array();
  for (const auto& [reason, count] : points.rejected()) {
    rejected.push(Json::object().set("reason", reason).set("count", count));
  }
  return std::move(object.set("rejected", std::move(rejected)));
}

/// "-D BM=16 -D BN=8".
std::string options_of(const std::string& point) {
  std::istringstream words(point);
  std::string text;
  for (std::string word; words >> word;) text += (text.empty() ? "-D " : " -D ") + word;
  return text;
}

struct Prepared {
  Environment environment;
  isa::Target target;
  int multiprocessors = 0;
};

/// The GPU's name and compiler; the context is given back, since only the workers use it.
Result<Prepared> look_at_machine() {
  const Result<CudaMachine> machine = open_cuda();
  if (!machine) return machine.error();
  return Prepared{environment_of(*machine), machine->target,
                  machine->engine.device().properties().multiprocessors};
}

Result<tuning::SearchSettings> search_settings(const TuneOptions& options, const SourceFile& source,
                                               tuning::Clock::time_point begin) {
  const Result<std::vector<frontend::Define>> fixed = parse_defines(options.program.defines);
  if (!fixed) return fixed.error();
  const Result<std::vector<frontend::Define>> reduced =
      parse_defines(options.reduced.empty() ? reduced_of(source) : options.reduced);
  if (!reduced) return reduced.error();
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::error_code none;
  tuning::SearchSettings settings;
  settings.worker =
      options.worker.empty() ? fs::canonical("/proc/self/exe", none).string() : options.worker;
  settings.file = fs::absolute(program_path(options.program.file), none).string();
  settings.fixed = *fixed;
  settings.reduced = *reduced;
  const Result<std::vector<std::string>> inputs = tuning::absolute_inputs(options.inputs);
  if (!inputs) return inputs.error();
  settings.inputs = *inputs;
  for (const std::string& folder : options.program.folders) {
    settings.folders.push_back(fs::absolute(folder, none).string());
  }
  settings.entry = options.entry;
  settings.kernel = options.kernel;
  settings.output = options.output;
  settings.start = options.start;
  settings.most = options.most;
  settings.begin = begin;
  settings.jobs = options.jobs > 0 ? options.jobs : std::min(cores, 8);
  settings.rounds = options.rounds;
  settings.time_limit = options.time_limit;
  return settings;
}

Exit deliver(const tuning::Points& points, const tuning::SearchResult& result,
             const tuning::SearchSettings& settings, Reporter& reporter) {
  reporter.set("plan", plan_json(points, result));
  reporter.set("known", result.known);
  reporter.set("left", result.left);
  reporter.set("best_us", result.best ? Json(*result.best->us) : Json());
  reporter.set("best", result.best ? Json(result.best->point) : Json());
  if (!reporter.json()) {
    reporter.io().err << format_points(points, result) << format_result(result);
    if (result.best) {
      reporter.io().out << fmt::format("{}\n", options_of(result.best->point));
      if (settings.reduced.empty()) {
        reporter.io().err << "proved at full size; --reduce names a smaller problem\n";
      }
    }
  }
  if (result.best) return reporter.finish(Exit::ok);
  if (result.left > 0) {
    return reporter.fail(Error{ErrorKind::limit,
                               "the time limit left no point that is proved; give more time, or a "
                               "smaller problem to prove it on with --reduce"});
  }
  return reporter.fail(Error{ErrorKind::program, "no point runs and gives the simulator's bits"});
}

}  // namespace

Exit tune(const TuneOptions& options, Io& io) {
  const tuning::Clock::time_point begin = tuning::Clock::now();
  Reporter reporter(io, "tune", options.json);
  reporter.set("file", options.program.file);
  if (options.program.file == "-") {
    return reporter.fail(Error{ErrorKind::usage,
                               "tune reads its program again for each point: "
                               "name a file"});
  }
  Result<std::shared_ptr<const SourceFile>> source = open_program(options.program, io);
  if (!source) return reporter.fail(source.error());
  const Result<tuning::SearchSettings> settings = search_settings(options, **source, begin);
  if (!settings) return reporter.fail(settings.error());
  if (!options.start.empty() && !fs::exists(options.start)) {
    return reporter.fail(
        Error{ErrorKind::usage, fmt::format("--start: there is no file `{}`", options.start)});
  }
  if (Status s = check_writable(options.output); !s) return reporter.fail(s.error());
  const Result<Prepared> machine = look_at_machine();
  if (!machine) return reporter.fail(machine.error());
  Diagnostics diagnostics;
  tuning::Points points(*source,
                        {.fixed = settings->fixed,
                         .target = machine->target,
                         .entry = options.entry,
                         .kernel = options.kernel,
                         .multiprocessors = machine->multiprocessors,
                         .seed = options.seed,
                         .inputs = settings->inputs},
                        diagnostics);
  reporter.diagnostics(diagnostics, *points.source());
  if (diagnostics.has_errors()) return reporter.finish(exit_of(diagnostics));
  reporter.set("environment", to_json(machine->environment));
  if (!options.json) io.err << fmt::format("{} points\n", points.space().size());
  ProgressLine line(io);
  const Result<tuning::SearchResult> result =
      tuning::search(points, machine->environment, *settings,
                     [&](const tuning::Progress& progress) { line.show(progress); });
  if (!result) return reporter.fail(result.error());
  return deliver(points, *result, *settings, reporter);
}

}  // namespace tilevm::vm
