#include <charconv>
#include <ostream>
#include <sstream>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/picture/report.h"
#include "vm/run/shadow.h"
#include "vm/run/stats.h"
#include "vm/text/choice.h"
#include "vm/text/file.h"

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
      return Error{ErrorKind::usage, fmt::format("`{}` is no seed of `random`; a seed is a number "
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

/// Writes an output, or shows it.
Status deliver(const Entry::Tensor& tensor, const HostTensor& data, Reporter& reporter,
               Json& outputs) {
  Json object = output_json(tensor.name, data);
  std::ostream& out = reporter.io().out;
  if (!reporter.json()) out << output_line(tensor.name, data) << '\n';
  if (tensor.dest) {
    if (Status status = store(*tensor.dest, data, tensor.name); !status) return status;
    object.set("file", tensor.dest->path);
    if (!reporter.json()) out << "  written to " << printable(tensor.dest->path) << '\n';
  } else if (!reporter.json()) {
    std::istringstream corner(format_corner(data));
    for (std::string line; std::getline(corner, line);) out << "  " << line << '\n';
  }
  outputs.push(std::move(object));
  return Done{};
}

void deliver_prints(const isa::VerifiedProgram& program, const Prints& prints, Reporter& reporter) {
  if (!reporter.json()) {
    reporter.io().out << format_prints(program, prints);
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

void set_stats(const isa::VerifiedProgram& program, const Engine& engine, const RunReport& report,
               Reporter& reporter) {
  Json stats = Json::object();
  stats.set("device", engine.device()).set("compiler", engine.compiler());
  stats.set("prepare_ms", report.prepare_milliseconds);
  stats.set("blocks", report.blocks).set("steps", report.steps);
  Json kernels = Json::array();
  for (const KernelStats& kernel : report.kernels) kernels.push(stats_json(program, kernel));
  stats.set("kernels", std::move(kernels));
  reporter.set("stats", std::move(stats));
}

/// What misses something of CUDA runs without it.
Error with_way_out(Error error) {
  if (error.kind == ErrorKind::unavailable) error.message += ", or run with `--backend sim`";
  return error;
}

/// Writes the page of `--report`, also of a run that failed.
Status write_page(const RunPage& page, const std::string& path, Reporter& reporter) {
  reporter.set("report", path);
  return write_result(reporter.io(), path, draw_report(page));
}

Exit run_loaded(const isa::VerifiedProgram& program, Engine& engine, const RunOptions& options,
                TimelineRecorder* recorder, Reporter& reporter) {
  const Result<Entry> entry =
      resolve_entry(program, options.execution.entry, options.execution.data);
  if (!entry) return reporter.fail(entry.error());
  reporter.set("entry", entry->name);
  reporter.set("target", isa::to_string(program.target()));
  reporter.set("backend", engine.name());
  Result<std::vector<HostTensor>> tensors =
      make_tensors(*entry, {options.execution.seed, options.execution.wild});
  if (!tensors) return reporter.fail(tensors.error());
  std::vector<std::string> files;
  if (recorder != nullptr && options.page != "-") files.push_back(options.page);
  for (const Entry::Tensor& tensor : entry->tensors) {
    if (tensor.dest) files.push_back(tensor.dest->path);
  }
  if (Status status = check_outputs(files); !status) return reporter.fail(status.error());
  RunReport report;
  const std::optional<Failure> failure = engine.run(program, *entry, *tensors, report);
  deliver_prints(program, report.prints, reporter);
  if (recorder != nullptr) {
    const Timeline timeline = recorder->finish();
    const Status written =
        write_page({program, *entry, *tensors, report, timeline, failure}, options.page, reporter);
    if (!written) return reporter.fail(written.error());
  }
  if (failure) {
    return reporter.fail(*failure, program.source());
  }
  reporter.diagnostics(report.notes, program.source());
  Json outputs = Json::array();
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    if (!entry->tensors[i].output) continue;
    Status status = deliver(entry->tensors[i], (*tensors)[i], reporter, outputs);
    if (!status) return reporter.fail(status.error());
  }
  reporter.set("outputs", std::move(outputs));
  reporter.set("time_ms", report.milliseconds);
  if (options.shadow) {
    reporter.set("shadow", shadow_json(program, report));
    if (!options.json) reporter.io().out << shadow_table(program, report);
  }
  if (options.stats) {
    set_stats(program, engine, report, reporter);
    if (!options.json) show_stats(program, engine, report, reporter.io());
  }
  return reporter.finish(Exit::ok);
}

/// Only the simulator sees what a run stores, and only with these checks.
Status check_require_written(const RunOptions& options, const sim::Checks& checks) {
  if (!options.require_written) return Done{};
  if (options.backend != "sim") {
    return Error{ErrorKind::usage,
                 "`--require-written` needs the simulator; run it with `--backend sim`"};
  }
  if (!checks.unwritten || !checks.races) {
    return Error{ErrorKind::usage, "`--require-written` needs the checks `unwritten` and `races`"};
  }
  return Done{};
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
              "once; run it with `--backend sim`, which gives the same bits"});
  }
  if (!options.page.empty() && options.backend != "sim") {
    return reporter.fail(Error{ErrorKind::usage,
                               "`--report` needs the simulator, which counts and traces; run it "
                               "with `--backend sim`, which gives the same bits"});
  }
  Result<std::shared_ptr<const SourceFile>> source = read_program(options.program.file, io.in);
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
  Result<std::unique_ptr<Engine>> engine = make_engine(options.backend, *settings);
  if (!engine) return reporter.fail(with_way_out(engine.error()));
  Result<Loaded> loaded = load_source(*source, options.program, target_for(**engine));
  if (!loaded) return reporter.fail(loaded.error());
  reporter.diagnostics(loaded->diagnostics, **source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  constexpr std::uint64_t most_ticks = 20'000;
  if (!options.page.empty()) recorder.emplace(*loaded->program, most_ticks);
  return run_loaded(*loaded->program, **engine, options, recorder ? &*recorder : nullptr, reporter);
}

}  // namespace tilevm::vm
