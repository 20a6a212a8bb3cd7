#include <ostream>
#include <sstream>

#include <fmt/format.h>

#include "vm/cmd_support.h"
#include "vm/commands.h"
#include "vm/file.h"

namespace tilevm::vm {

namespace {

/// `--check`: which checks the simulator makes; it checks bounds always.
Result<EngineOptions> engine_options(const std::string& list, int threads) {
  EngineOptions options{.threads = threads, .races = list == "all", .in_flight = list == "all"};
  if (list == "all" || list == "none") return options;
  std::string_view rest = list;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string name(rest.substr(0, comma));
    const Status status =
        check_choice("check", name, {"bounds", "races", "in_flight", "all", "none"});
    if (!status) return status.error();
    options.races = options.races || name == "races" || name == "all";
    options.in_flight = options.in_flight || name == "in_flight" || name == "all";
    if (comma == std::string_view::npos) return options;
    rest.remove_prefix(comma + 1);
  }
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
    if (!reporter.json()) out << "  written to " << tensor.dest->path << '\n';
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
  reporter.set("prints_cut", cut_json(prints));
}

void show_stats(const Engine& engine, const RunReport& report, Io& io) {
  io.err << fmt::format("{}: {}\n  launches  {:.3f} ms\n", engine.name(), engine.device(),
                        report.milliseconds);
  if (report.prepare_milliseconds > 0) {
    io.err << fmt::format("  compiling {:.3f} ms ({})\n", report.prepare_milliseconds,
                          engine.compiler());
  }
  if (report.blocks > 0) {
    io.err << fmt::format("  blocks    {}\n  steps     {}\n", report.blocks, report.steps);
  }
}

void set_stats(const Engine& engine, const RunReport& report, Reporter& reporter) {
  Json stats = Json::object();
  stats.set("device", engine.device()).set("compiler", engine.compiler());
  stats.set("prepare_ms", report.prepare_milliseconds);
  stats.set("blocks", report.blocks).set("steps", report.steps);
  reporter.set("stats", std::move(stats));
}

Exit run_loaded(const isa::VerifiedProgram& program, Engine& engine, const RunOptions& options,
                Reporter& reporter) {
  const Result<Entry> entry =
      resolve_entry(program, options.execution.entry, options.execution.data);
  if (!entry) return reporter.fail(entry.error());
  reporter.set("entry", entry->name);
  reporter.set("target", isa::to_string(program.target()));
  reporter.set("backend", engine.name());
  Result<std::vector<HostTensor>> tensors =
      make_tensors(*entry, {options.execution.seed, options.execution.wild});
  if (!tensors) return reporter.fail(tensors.error());
  for (const Entry::Tensor& tensor : entry->tensors) {
    if (!tensor.dest) continue;
    if (Status status = check_writable(tensor.dest->path); !status) {
      return reporter.fail(status.error());
    }
  }
  RunReport report;
  const std::optional<Failure> failure = engine.run(program, *entry, *tensors, report);
  deliver_prints(program, report.prints, reporter);
  if (failure) {
    return reporter.fail(*failure, program.source());
  }
  Json outputs = Json::array();
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    if (!entry->tensors[i].output) continue;
    Status status = deliver(entry->tensors[i], (*tensors)[i], reporter, outputs);
    if (!status) return reporter.fail(status.error());
  }
  reporter.set("outputs", std::move(outputs));
  reporter.set("time_ms", report.milliseconds);
  if (options.stats) {
    set_stats(engine, report, reporter);
    if (!options.json) show_stats(engine, report, reporter.io());
  }
  return reporter.finish(Exit::ok);
}

}  // namespace

Exit run(const RunOptions& options, Io& io) {
  Reporter reporter(io, "run", options.json);
  reporter.set("file", options.program.file);
  Result<EngineOptions> settings = engine_options(options.checks, options.execution.threads);
  if (!settings) return reporter.fail(settings.error());
  settings->max_steps = options.max_steps;
  Result<std::shared_ptr<const SourceFile>> source = read_source(options.program.file, io.in);
  if (!source) return reporter.fail(source.error());
  Result<std::unique_ptr<Engine>> engine = make_engine(options.backend, *settings);
  if (!engine) return reporter.fail(engine.error());
  Result<Loaded> loaded = load_source(*source, options.program, target_for(**engine));
  if (!loaded) return reporter.fail(loaded.error());
  reporter.diagnostics(loaded->diagnostics, **source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  return run_loaded(*loaded->program, **engine, options, reporter);
}

}  // namespace tilevm::vm
