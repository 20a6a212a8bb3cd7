#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/cli/run_progress.h"
#include "vm/data/store.h"
#include "vm/picture/report.h"
#include "vm/run/checks.h"
#include "vm/run/hazard_verdict.h"
#include "vm/run/shadow.h"
#include "vm/run/stats.h"
#include "vm/text/choice.h"
#include "vm/text/parts.h"

namespace tilevm::vm {

namespace {

/// "random:7" as "random" and 7. Error (usage): no such name, or no number after the colon.
Result<std::uint64_t> parse_seeded(std::string_view what, std::string& text,
                                   const std::vector<std::string>& choices) {
  std::uint64_t seed = 0;
  const std::string random = "random:";
  if (text.starts_with(random)) {
    const char* begin = text.data() + random.size();
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, seed);
    if (error != std::errc{} || stop != end) {
      return Error{ErrorKind::usage,
                   fmt::format("`{}` is not a seed of `random`; a seed is a number "
                               "from 0 to 2^64 - 1",
                               text.substr(random.size()))};
    }
    text = "random";
  }
  const Status status = check_choice(what, text, choices);
  if (!status) return status.error();
  return seed;
}

Result<EngineOptions> engine_options(const RunOptions& options) {
  using Time = sim::Completion::Time;
  using Kind = sim::BlockOrder::Kind;
  const Result<sim::Checks> checks = parse_checks(options.checks);
  if (!checks) return checks.error();
  std::string time = options.completion, order = options.block_order;
  const auto time_seed = parse_seeded("completion", time, {"latest", "earliest", "random"});
  if (!time_seed) return time_seed.error();
  const auto order_seed = parse_seeded("block order", order, {"ascending", "descending", "random"});
  if (!order_seed) return order_seed.error();
  std::string thread_order = options.thread_order;
  const auto threads_seed =
      parse_seeded("thread order", thread_order, {"ascending", "descending", "random"});
  if (!threads_seed) return threads_seed.error();
  EngineOptions result{.threads = options.execution.threads, .checks = *checks};
  result.completion = {time == "latest"     ? Time::latest
                       : time == "earliest" ? Time::earliest
                                            : Time::random,
                       *time_seed};
  const auto kind_of = [](const std::string& word) {
    return word == "ascending"    ? Kind::ascending
           : word == "descending" ? Kind::descending
                                  : Kind::random;
  };
  result.block_order = {kind_of(order), *order_seed};
  result.thread_order = {kind_of(thread_order), *threads_seed};
  return result;
}

/// The outputs that go to files or to standard output.
std::vector<StoredOutput> stored_outputs(const PreparedRun& run) {
  std::vector<StoredOutput> stored;
  for (std::size_t i = 0; i < run.entry.tensors.size(); ++i) {
    const Entry::Tensor& tensor = run.entry.tensors[i];
    if (tensor.dest) stored.push_back({*tensor.dest, tensor.name, &run.tensors[i]});
  }
  return stored;
}

/// Whether standard output is data, so that words go to standard error.
bool is_data(const std::vector<StoredOutput>& stored) {
  return std::any_of(stored.begin(), stored.end(),
                     [](const StoredOutput& output) { return output.dest.path == "-"; });
}

/// Shows an output, which has been written if it goes to a file.
void show_output(const Entry::Tensor& tensor, const HostTensor& data,
                 std::optional<std::size_t> unwritten, OutputStream& out) {
  out << output_line(tensor.name, data, unwritten) << '\n';
  if (tensor.dest) {
    if (tensor.dest->path != "-") out << "  written to " << printable(tensor.dest->path) << '\n';
    return;
  }
  const std::string corner = format_corner(data);
  for (const std::string_view line : parts_of(corner, '\n')) out << "  " << line << '\n';
}

/// Writes and shows the outputs.
Status deliver(const PreparedRun& run, const RunReport& report, Reporter& reporter) {
  const std::vector<StoredOutput> stored = stored_outputs(run);
  if (Status written = store(stored, reporter.io().out); !written) return written;
  OutputStream& words = is_data(stored) ? reporter.io().err : reporter.io().out;
  Json outputs = Json::array();
  for (std::size_t i = 0; i < run.tensors.size(); ++i) {
    const Entry::Tensor& tensor = run.entry.tensors[i];
    if (!tensor.output) continue;
    const std::optional<std::size_t> unwritten =
        i < report.unwritten.size() ? report.unwritten[i] : std::nullopt;
    if (!reporter.json()) {
      show_output(tensor, run.tensors[i], unwritten, words);
      continue;
    }
    Json object = output_json(tensor.name, run.tensors[i], unwritten);
    if (tensor.dest) object.set("file", tensor.dest->path);
    if (tensor.dest && !tensor.dest->member.empty()) object.set("array", tensor.dest->member);
    outputs.push(std::move(object));
  }
  reporter.set("outputs", std::move(outputs));
  return Done{};
}

void deliver_prints(const isa::VerifiedProgram& program, const Prints& prints, Reporter& reporter,
                    OutputStream& words) {
  if (!reporter.json()) {
    words << format_prints(program, prints);
    return;
  }
  reporter.set("prints", prints_json(program, prints));
  reporter.set("prints_cut", dropped_json(prints));
}

void show_stats(const isa::VerifiedProgram& program, const Engine& engine, const RunReport& report,
                Io& io) {
  io.err << fmt::format("{}: {}\n  launches  {:.3f} ms\n", engine.name(), engine.device(),
                        report.milliseconds);
  if (report.prepare_milliseconds > 0) {
    io.err << fmt::format("  compiling {:.3f} ms ({})\n", report.prepare_milliseconds,
                          engine.compiler());
  }
  if (report.blocks > 0) {
    io.err << fmt::format("  blocks    {}\n  steps     {}\n", report.blocks, report.steps);
  }
  for (const KernelStats& kernel : report.kernels) io.err << stats_table(program, kernel);
}

/// What misses something of CUDA runs without it.
Error with_way_out(Error error) {
  if (error.kind == ErrorKind::unavailable) error.message += ", or run with `--engine sim`";
  return error;
}

/// Writes the page of `--report`, also of a run that failed.
Status write_page(const RunPage& page, const std::string& path, Reporter& reporter) {
  reporter.set("report", path);
  return write_result(reporter.io(), path, draw_report(page));
}

/// Whether all outputs can be written.
Status check_files(const PreparedRun& run, const RunOptions& options, bool has_page) {
  const std::vector<StoredOutput> stored = stored_outputs(run);
  if (is_data(stored) && options.json) {
    return Error{ErrorKind::usage,
                 "`--json` and an output to `-` both want standard output; write "
                 "the output to a file"};
  }
  std::vector<std::string> files;
  if (has_page && options.page != "-") files.push_back(options.page);
  return check_destinations(stored, files);
}

Exit run_loaded(const isa::VerifiedProgram& program, Engine& engine, const RunOptions& options,
                const sim::Checks& checks, TimelineRecorder* recorder,
                const sim::Progress& progress, Reporter& reporter) {
  Result<PreparedRun> run = prepare_run(program, options.execution, options.program, reporter);
  if (!run) return reporter.fail(run.error());
  reporter.set("entry", run->entry.name);
  reporter.set("target", isa::to_string(program.target()));
  reporter.set("backend", engine.name());
  if (Status status = check_files(*run, options, recorder != nullptr); !status) {
    return reporter.fail(status.error());
  }
  std::vector<HostTensor> inputs;
  if (!options.ring.empty()) inputs = run->tensors;
  RunReport report;
  std::optional<Failure> failure;
  {
    const RunProgress line(reporter.io().err, program.program(), progress);
    failure = engine.run(program, run->entry, run->tensors, report);
  }
  reporter.set("verdict", to_json(hazard_verdict_of(engine.name(), checks, report, failure)));
  OutputStream& words = is_data(stored_outputs(*run)) ? reporter.io().err : reporter.io().out;
  deliver_prints(program, report.prints, reporter, words);
  if (recorder != nullptr) {
    const Timeline timeline = recorder->finish();
    const Status written = write_page(
        {program, run->entry, run->tensors, report, timeline, failure}, options.page, reporter);
    if (!written) return reporter.fail(written.error());
  }
  if (failure) return reporter.fail(*failure, program.source());
  reporter.diagnostics(report.notes, program.source());
  if (Status status = deliver(*run, report, reporter); !status) {
    return reporter.fail(status.error());
  }
  reporter.set("time_ms", report.milliseconds);
  if (options.shadow) {
    reporter.set("shadow", shadow_json(program, report));
    if (!options.json) words << shadow_table(program, report);
  }
  if (!options.ring.empty()) {
    const Status formulas =
        deliver_formulas(program, run->entry, std::move(inputs), options.ring, words, reporter);
    if (!formulas) return reporter.fail(formulas.error());
  }
  if (options.stats) {
    reporter.set("stats", run_stats_json(program, engine, report));
    if (!options.json) show_stats(program, engine, report, reporter.io());
  }
  return reporter.finish(Exit::ok);
}

/// Only the simulator sees what a run stores, and only with these checks.
Status check_require_written(const RunOptions& options, const sim::Checks& checks) {
  if (!options.require_written) return Done{};
  if (options.backend != "sim") {
    return Error{ErrorKind::usage,
                 "`--require-written` needs the simulator; run it with `--engine sim`"};
  }
  if (!checks.unwritten || !checks.races) {
    return Error{ErrorKind::usage, "`--require-written` needs the checks `unwritten` and `races`"};
  }
  return Done{};
}

Status check_ring(const RunOptions& options) {
  if (options.ring.empty()) return Done{};
  if (options.backend != "sim") {
    return Error{ErrorKind::usage,
                 "`--ring` computes with residues, which no GPU does; run it with `--engine sim`"};
  }
  return check_modulus(options.ring);
}

}  // namespace

Exit run(const RunOptions& options, Io& io) {
  Reporter reporter(io, "run", options.json);
  reporter.set("file", options.program.file);
  Result<EngineOptions> settings = engine_options(options);
  if (!settings) return reporter.fail(settings.error());
  settings->max_steps = options.max_steps;
  settings->resident_blocks = options.resident_blocks;
  settings->explored_orders = options.explored_orders;
  settings->count_accesses = options.stats || !options.page.empty();
  settings->keep_shadow = options.shadow;
  settings->require_written = options.require_written;
  if (Status status = check_require_written(options, settings->checks); !status) {
    return reporter.fail(status.error());
  }
  if (options.shadow && options.backend != "sim") {
    return reporter.fail(
        Error{ErrorKind::usage,
              "`--shadow` needs the simulator, since a GPU, emulated or not, computes every value "
              "once; run it with `--engine sim`, which gives the same bits"});
  }
  if (Status status = check_ring(options); !status) return reporter.fail(status.error());
  if (!options.page.empty() && options.backend != "sim") {
    return reporter.fail(Error{ErrorKind::usage,
                               "`--report` needs the simulator, which counts and traces; run it "
                               "with `--engine sim`, which gives the same bits"});
  }
  Result<std::shared_ptr<const SourceFile>> source = open_program(options.program, io);
  if (!source) return reporter.fail(source.error());
  // The recorder needs the program, the program's target the engine, and the engine the recorder.
  std::optional<TimelineRecorder> recorder;
  if (!options.page.empty()) {
    settings->traced_blocks = 1;
    settings->trace_values = false;
    settings->trace = [&recorder](int kernel, const sim::TraceEvent& event) {
      return recorder->take(kernel, event);
    };
  }
  sim::Progress progress;
  settings->progress = &progress;
  Result<std::unique_ptr<Engine>> engine = make_engine(options.backend, *settings);
  if (!engine) return reporter.fail(with_way_out(engine.error()));
  Result<Loaded> loaded = load_source(*source, options.program, target_for(**engine));
  if (!loaded) return reporter.fail(loaded.error());
  reporter.diagnostics(loaded->diagnostics, *loaded->source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  constexpr std::uint64_t most_ticks = 20'000;
  if (!options.page.empty()) recorder.emplace(*loaded->program, most_ticks);
  return run_loaded(*loaded->program, **engine, options, settings->checks,
                    recorder ? &*recorder : nullptr, progress, reporter);
}

}  // namespace tilevm::vm
