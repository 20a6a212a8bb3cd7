// `tilevm diff`: a program on several engines, seed after seed.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <ostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "isa/analysis/combinations.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/cli/run_progress.h"
#include "vm/data/hash.h"
#include "vm/diff/bisect_render.h"
#include "vm/diff/bundle.h"
#include "vm/diff/verdict_render.h"
#include "vm/fidelity/record.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

struct Seeds {
  std::uint64_t first = 0, last = 0;
};

/// "A..B" with A <= B, or one number.
Result<Seeds> parse_seeds(const std::string& text) {
  const auto number = [](std::string_view part) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool whole = error == std::errc{} && end == part.data() + part.size();
    return whole ? std::optional(value) : std::nullopt;
  };
  const std::size_t dots = text.find("..");
  const std::string_view all = text;
  const std::optional<std::uint64_t> first = number(all.substr(0, dots));
  const std::optional<std::uint64_t> last =
      dots == std::string::npos ? first : number(all.substr(dots + 2));
  if (first && last && *first <= *last && *last - *first < 1'000'000) return Seeds{*first, *last};
  return Error{
      ErrorKind::usage,
      fmt::format("--seeds `{}` is not a range: write A..B with A <= B, at most a million", text)};
}

/// One program, one entry, several engines: seed after seed.
class SeedLoop {
 public:
  SeedLoop(const DiffCase& what, const Engines& engines, const DiffOptions& options,
           const sim::Progress& progress, Reporter& reporter)
      : what_(what),
        engines_(engines),
        options_(options),
        progress_(progress),
        reporter_(reporter) {}

  /// Repeats what a bundle has.
  Exit repeat(const Bundle& bundle) {
    const Result<SeedRun> run = run_on(what_, engines_, bundle.tensors, bundle.seed);
    if (!run) return reporter_.fail(run.error());
    if (const Failure* failure = run->common_failure()) {
      return reporter_.fail(*failure, what_.program.source());
    }
    show(*run, false);
    const std::string changes = compare_with_bundle(bundle, what_, *run);
    reporter_.set("reproduced", changes.empty());
    reporter_.set("changes", changes);
    if (!reporter_.json()) {
      reporter_.io().out << (changes.empty() ? "as in the bundle\n"
                                             : "not as in the bundle:\n" + changes);
    }
    if (Status s = bisect_if_asked(*run); !s) return reporter_.fail(s.error());
    return finish(run->verdict.status());
  }

  /// Runs and compares every seed; the worst of their statuses.
  Exit run(const Seeds& seeds) {
    Exit worst = Exit::ok;
    DataReader reader = data_reader(options_.execution, options_.program, reporter_.io());
    for (std::uint64_t i = 0; i <= seeds.last - seeds.first; ++i) {
      const std::uint64_t seed = seeds.first + i;
      const Result<SeedRun> run = run_with_line({seed, options_.execution.wild}, reader);
      if (!run) return reporter_.fail(run.error());
      if (i == 0) reporter_.notes(reader.notes());
      if (const Failure* failure = run->common_failure()) {
        return reporter_.fail(*failure, what_.program.source());
      }
      show(*run, seeds.first != seeds.last);
      if (Status s = bisect_if_asked(*run); !s) return reporter_.fail(s.error());
      if (Status s = keep_bundle(*run); !s) return reporter_.fail(s.error());
      worst = std::max(worst, run->verdict.status());
      if (options_.record.empty() || run->runs.back().failure) continue;
      if (Status s = record(run->runs.back().tensors, seed); !s) return reporter_.fail(s.error());
    }
    return finish(worst);
  }

 private:
  Result<SeedRun> run_with_line(const Seeding& seeding, DataReader& reader) const {
    const RunProgress line(reporter_.io().err, what_.program.program(), progress_);
    return run_seed(what_, engines_, seeding, reader);
  }

  /// A seed's text appears as soon as the seed has run.
  void show(const SeedRun& run, bool several) {
    Io& io = reporter_.io();
    if (reporter_.json()) {
      add_results(what_, run, results_);
      add_prints(run, prints_);
      seeds_.push(seed_json(what_, run));
    } else {
      io.out << render_verdict(what_, run, {io.color_out, several}) << std::flush;
    }
  }

  /// Writes the first seed, and instead of it the first that differs.
  Status keep_bundle(const SeedRun& run) {
    const bool differs = !run.verdict.exact();
    if (options_.bundle.empty() || bundled_difference_ || (bundled_ && !differs)) return Done{};
    bundled_ = true;
    bundled_difference_ = differs;
    return write_bundle(options_.bundle, make_bundle(what_, run, engines_,
                                                     {options_.version, options_.program.defines,
                                                      options_.execution.data}));
  }

  /// The first difference of the first seed that has one.
  Status bisect_if_asked(const SeedRun& run) {
    if (!options_.bisect || bisected_) return Done{};
    const auto pair = differing_pair(run.verdict);
    if (!pair) return Done{};
    bisected_ = true;
    const Result<BisectResult> result = bisect(what_, engines_, pair->first, pair->second,
                                               run.inputs, {.threads = options_.execution.threads});
    if (!result) return result.error();
    if (reporter_.json()) {
      reporter_.set("bisect", bisect_json(what_, run.verdict, *result));
    } else {
      reporter_.io().out << render_bisect(what_, run.verdict, *result) << std::flush;
    }
    return Done{};
  }

  Exit finish(Exit worst) {
    Json names = Json::array(), devices = Json::array();
    for (const std::unique_ptr<Engine>& engine : engines_) {
      names.push(engine->name());
      devices.push(engine->device());
    }
    reporter_.set("backends", std::move(names));
    reporter_.set("device", engines_.back()->device());
    reporter_.set("devices", std::move(devices));
    reporter_.set("results", std::move(results_));
    reporter_.set("prints", std::move(prints_));
    reporter_.set("seeds", std::move(seeds_));
    reporter_.set("exact", worst == Exit::ok);
    return reporter_.finish(worst);
  }

  Status record(const std::vector<HostTensor>& tensors, std::uint64_t seed) const {
    const Engine& last = *engines_.back();
    Record line;
    line.file = options_.program.file;
    line.entry = what_.entry.name;
    line.target = isa::to_string(what_.program.target());
    line.defines = options_.program.defines;
    line.inputs = options_.execution.data.inputs;
    line.seed = seed;
    line.wild = options_.execution.wild;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!what_.entry.tensors[i].output) continue;
      line.outputs.emplace_back(what_.entry.tensors[i].name, format_hash(content_hash(tensors[i])));
    }
    line.backend = last.name();
    line.device = last.device();
    line.driver = last.driver();
    line.compiler = compiler_of(last);
    return append_line(options_.record, format_record(line));
  }

  const DiffCase& what_;
  const Engines& engines_;
  const DiffOptions& options_;
  const sim::Progress& progress_;
  Reporter& reporter_;
  Json results_ = Json::array(), prints_ = Json::array(), seeds_ = Json::array();
  bool bisected_ = false, bundled_ = false, bundled_difference_ = false;
};

/// What the options alone can be wrong in.
Result<Seeds> check_options(const DiffOptions& options) {
  if (!options.record.empty() && options.program.file == "-") {
    return Error{ErrorKind::usage, "--record needs a program in a file, not standard input"};
  }
  if (options.seeds.empty()) return Seeds{options.execution.seed, options.execution.seed};
  return parse_seeds(options.seeds);
}

/// Sums of floats whose order nothing defines differ from run to run: there is nothing to compare
/// bit for bit.
Status check_order(const DiffCase& what, const DiffOptions& options) {
  if (options.unordered_sums) return Done{};
  for (const isa::Launch& launch : what.entry.launches) {
    const isa::Kernel& kernel = what.program.kernel(launch.kernel);
    const std::optional<Span> sum = isa::find_unordered_sum(kernel);
    if (!sum) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("kernel `{}` adds floats to memory in line {}, in an order that nothing "
                    "defines: the last bits may differ from run to run. Add integers, add "
                    "parts in turn (LockSemaphore), or compare all the same with "
                    "--unordered-sums",
                    kernel.name, what.program.source().locate(sum->begin).line)};
  }
  return Done{};
}

EngineOptions engine_options_of(const DiffOptions& options, sim::Progress& progress) {
  EngineOptions engine{.threads = options.execution.threads, .max_steps = options.max_steps};
  engine.progress = &progress;
  engine.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000));
  return engine;
}

/// A machine without a GPU compares with the emulated one.
Error with_way_out(Error error, const std::string& backends) {
  if (error.kind == ErrorKind::unavailable && backends.find("cuda") != std::string::npos) {
    error.message += "; without a GPU, `--engines sim,emu` compares with the emulated one";
  }
  return error;
}

/// The case of a bundle, on its own engines unless others are named.
Exit repeat_bundle(const DiffOptions& options, Reporter& reporter) {
  for (const auto& [given, name] : {std::pair{!options.seeds.empty(), "--seeds"},
                                    {!options.record.empty(), "--record"},
                                    {!options.bundle.empty(), "--bundle"},
                                    {!options.program.defines.empty(), "--define"},
                                    {!options.program.target.empty(), "--target"},
                                    {options.program.no_assert, "--no-assert"},
                                    {!options.execution.data.inputs.empty(), "--in"}}) {
    if (given) {
      return reporter.fail(
          Error{ErrorKind::usage, fmt::format("{} does not go with a bundle, which "
                                              "says what is run",
                                              name)});
    }
  }
  const Result<Bundle> bundle = read_bundle(options.program.file);
  if (!bundle) return reporter.fail(bundle.error());
  const Result<DiffCase> what = load_bundle(*bundle);
  if (!what) return reporter.fail(what.error());
  if (Status s = check_order(*what, options); !s) return reporter.fail(s.error());
  const std::string backends = options.backends.empty() ? bundle->backends() : options.backends;
  sim::Progress progress;
  const Result<Engines> engines = make_engines(backends, engine_options_of(options, progress));
  if (!engines) return reporter.fail(with_way_out(engines.error(), backends));
  reporter.set("entry", what->entry.name);
  reporter.set("target", isa::to_string(what->program.target()));
  return SeedLoop(*what, *engines, options, progress, reporter).repeat(*bundle);
}

}  // namespace

Exit diff(const DiffOptions& options, Io& io) {
  if (!options.ring.empty()) return diff_formulas(options, io);
  Reporter reporter(io, "diff", options.json);
  reporter.set("file", options.program.file);
  for (const auto& [given, name] : {std::pair{!options.against.empty(), "--against"},
                                    {!options.against_defines.empty(), "--against-define"}}) {
    if (given) {
      return reporter.fail(Error{
          ErrorKind::usage,
          fmt::format("{} goes with --ring, which compares the formulas of two programs", name)});
    }
  }
  if (is_bundle(options.program.file)) return repeat_bundle(options, reporter);
  const Result<Seeds> seeds = check_options(options);
  if (!seeds) return reporter.fail(seeds.error());
  Result<std::shared_ptr<const SourceFile>> source = open_program(options.program, io);
  if (!source) return reporter.fail(source.error());
  sim::Progress progress;
  const std::string backends = options.backends.empty() ? "sim,cuda" : options.backends;
  const Result<Engines> engines = make_engines(backends, engine_options_of(options, progress));
  if (!engines) return reporter.fail(with_way_out(engines.error(), backends));
  Result<Loaded> loaded =
      load_source(*source, options.program, target_for(deciding_engine(*engines)));
  if (!loaded) return reporter.fail(loaded.error());
  reporter.diagnostics(loaded->diagnostics, *loaded->source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  Result<Entry> entry =
      resolve_entry(*loaded->program, options.execution.entry, options.execution.data);
  if (!entry) return reporter.fail(entry.error());
  const DiffCase what{*loaded->program, *std::move(entry)};
  if (Status s = check_order(what, options); !s) return reporter.fail(s.error());
  reporter.set("entry", what.entry.name);
  reporter.set("target", isa::to_string(what.program.target()));
  return SeedLoop(what, *engines, options, progress, reporter).run(*seeds);
}

}  // namespace tilevm::vm
