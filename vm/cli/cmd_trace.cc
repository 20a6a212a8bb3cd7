// `tilevm trace`: what every statement of one block gave, as names, types and hashes; or a timeline
// of blocks.
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/data/hash.h"
#include "vm/picture/timeline.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

/// "3", "3,1" or "3,1,0" as x, y, z.
Result<std::array<std::int64_t, 3>> parse_block(const std::string& text) {
  std::array<std::int64_t, 3> block{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t d = 0; d < block.size(); ++d) {
    const auto [stop, error] = std::from_chars(at, end, block[d]);
    if (error != std::errc{} || block[d] < 0) break;
    if (stop == end) return block;
    if (*stop != ',') break;
    at = stop + 1;
  }
  return Error{ErrorKind::usage,
               fmt::format("`{}` is not a block; write its indices as X, X,Y or X,Y,Z", text)};
}

/// Takes events as they happen: lines, or items of a JSON array, written at once.
class TraceWriter {
 public:
  TraceWriter(const isa::VerifiedProgram& program, Reporter& reporter, std::uint64_t limit)
      : program_(program), reporter_(reporter), limit_(limit) {
    reporter.begin_list("events");
  }

  bool tell(int kernel, const sim::TraceEvent& event) {
    if (count_ >= limit_) {
      cut_ = true;
      return false;
    }
    ++count_;
    reporter_.json() ? add_item(kernel, event) : write_line(kernel, event);
    return true;
  }

  [[nodiscard]] bool is_empty() const { return count_ == 0; }

  /// Whether the limit was reached.
  [[nodiscard]] bool cut() const { return cut_; }

  /// After the last event.
  void finish() {
    reporter_.end_list();
    reporter_.set("cut", cut_);
    if (cut_ && !reporter_.json()) {
      reporter_.io().out << fmt::format("... only {} statements are shown; --limit shows more\n",
                                        limit_);
    }
  }

 private:
  [[nodiscard]] int line_of(const sim::TraceEvent& event) const {
    return program_.source().locate(event.span.begin).line;
  }

  void write_line(int kernel, const sim::TraceEvent& event) {
    std::string text;
    if (event.step == 1) text = fmt::format("{}\n", program_.kernel(kernel).name);
    text += fmt::format("{:>6}  line {:<4} {}", event.step, line_of(event), event.mnemonic);
    const char* separator = event.mnemonic.empty() ? "" : " -> ";
    for (const auto& [name, value] : event.scalars) {
      text += fmt::format("{}{} = {}", separator, name, to_string(value));
      separator = ", ";
    }
    for (const sim::TracedTile& tile : event.tiles) {
      text += fmt::format("{}{}: {}, hash {}", separator, tile.name,
                          format_type(tile.dtype, tile.shape), hash_of(tile));
      if (tile.undefined > 0) text += fmt::format(", {} undefined", tile.undefined);
    }
    reporter_.io().out << text << '\n';
  }

  static std::string hash_of(const sim::TracedTile& tile) {
    return format_hash(content_hash({tile.dtype, tile.shape, tile.data}));
  }

  void add_item(int kernel, const sim::TraceEvent& event) {
    Json item = Json::object();
    item.set("kernel", program_.kernel(kernel).name).set("step", event.step);
    item.set("line", line_of(event)).set("mnemonic", event.mnemonic);
    Json scalars = Json::object();
    for (const auto& [name, value] : event.scalars) {
      scalars.set(std::string(name), to_string(value));
    }
    Json tiles = Json::array();
    for (const sim::TracedTile& tile : event.tiles) {
      Json shape = Json::array();
      for (const std::int64_t extent : tile.shape) shape.push(extent);
      Json entry = Json::object();
      entry.set("name", tile.name).set("dtype", isa::to_string(tile.dtype));
      entry.set("shape", std::move(shape)).set("hash", hash_of(tile));
      entry.set("undefined", tile.undefined);
      tiles.push(std::move(entry));
    }
    reporter_.add_item(item.set("scalars", std::move(scalars)).set("tiles", std::move(tiles)));
  }

  const isa::VerifiedProgram& program_;
  Reporter& reporter_;
  std::uint64_t limit_;
  std::uint64_t count_ = 0;
  bool cut_ = false;
};

/// A block that no launch has is a mistake of the command line.
Status check_block(const std::array<std::int64_t, 3>& block, const RunReport& report) {
  std::string grids;
  for (const auto& grid : report.grids) {
    if (block[0] < grid[0] && block[1] < grid[1] && block[2] < grid[2]) return Done{};
    grids += fmt::format("{}{} x {} x {}", grids.empty() ? "" : ", ", grid[0], grid[1], grid[2]);
  }
  return Error{ErrorKind::usage,
               fmt::format("no launch has a block {}, {}, {}; the grid is {}, counted from 0",
                           block[0], block[1], block[2], grids)};
}

Exit trace_loaded(const isa::VerifiedProgram& program, const std::array<std::int64_t, 3>& block,
                  const TraceOptions& options, Reporter& reporter) {
  Result<PreparedRun> run = prepare_run(program, options.execution, options.program, reporter);
  if (!run) return reporter.fail(run.error());
  constexpr std::uint64_t usual_steps = std::uint64_t{1} << 24;  // a few seconds
  EngineOptions settings{.threads = options.execution.threads,
                         .max_steps = options.max_steps.value_or(usual_steps)};
  settings.traced_block = block;
  std::optional<TraceWriter> writer;
  settings.trace = [&](int kernel, const sim::TraceEvent& event) {
    return writer->tell(kernel, event);
  };
  Result<std::unique_ptr<Engine>> engine = make_engine("sim", settings);
  if (!engine) return reporter.fail(engine.error());
  writer.emplace(program, reporter, options.limit);
  RunReport report;
  const std::optional<Failure> failure = (*engine)->run(program, run->entry, run->tensors, report);
  writer->finish();
  if (!failure && writer->is_empty()) {
    if (Status there = check_block(block, report); !there) return reporter.fail(there.error());
  }
  // At the limit the run is stopped, which is not a fault of the program.
  if (failure && !writer->cut()) return reporter.fail(*failure, program.source());
  return reporter.finish(Exit::ok);
}

/// Ticks of a timeline, of all blocks together.
constexpr std::uint64_t most_ticks = std::uint64_t{1} << 18;

/// The charts to standard output, and the trace to its file.
Exit show_timeline(const isa::VerifiedProgram& program, const Timeline& timeline,
                   const TraceOptions& options, Reporter& reporter) {
  if (!options.output.empty()) {
    const Status written =
        write_result(reporter.io(), options.output, chrome_trace(program, timeline).text() + "\n");
    if (!written) return reporter.fail(written.error());
    reporter.set("written", options.output);
  }
  reporter.set("blocks", timeline.blocks.size());
  reporter.set("cut", timeline.cut);
  if (reporter.json() || options.output == "-") return reporter.finish(Exit::ok);
  OutputStream& out = reporter.io().out;
  for (const BlockTimeline& block : timeline.blocks) out << draw_text(program, block) << '\n';
  if (timeline.cut) out << fmt::format("... only {} statements are kept\n", most_ticks);
  if (!options.output.empty()) {
    out << fmt::format("written to {}; chrome://tracing and ui.perfetto.dev show it\n",
                       options.output);
  }
  return reporter.finish(Exit::ok);
}

Exit trace_timeline(const isa::VerifiedProgram& program, const TraceOptions& options,
                    Reporter& reporter) {
  Result<PreparedRun> run = prepare_run(program, options.execution, options.program, reporter);
  if (!run) return reporter.fail(run.error());
  TimelineRecorder recorder(program, most_ticks);
  EngineOptions settings{.threads = options.execution.threads};
  settings.traced_blocks = options.blocks;
  settings.trace_values = false;
  settings.trace = [&](int kernel, const sim::TraceEvent& event) {
    return recorder.take(kernel, event);
  };
  Result<std::unique_ptr<Engine>> engine = make_engine("sim", settings);
  if (!engine) return reporter.fail(engine.error());
  RunReport report;
  const std::optional<Failure> failure = (*engine)->run(program, run->entry, run->tensors, report);
  if (failure) return reporter.fail(*failure, program.source());
  return show_timeline(program, recorder.finish(), options, reporter);
}

}  // namespace

Exit trace(const TraceOptions& options, Io& io) {
  Reporter reporter(io, "trace", options.json);
  reporter.set("file", options.program.file);
  const Result<std::array<std::int64_t, 3>> block = parse_block(options.block);
  if (!block) return reporter.fail(block.error());
  Result<Loaded> loaded = load_program(options.program, default_target, io);
  if (!loaded) return reporter.fail(loaded.error());
  reporter.diagnostics(loaded->diagnostics, *loaded->source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  if (options.chart || !options.output.empty()) {
    if (!options.output.empty() && options.output != "-") {
      const Status writable = check_writable(options.output);
      if (!writable) return reporter.fail(writable.error());
    }
    return trace_timeline(*loaded->program, options, reporter);
  }
  return trace_loaded(*loaded->program, *block, options, reporter);
}

}  // namespace tilevm::vm
