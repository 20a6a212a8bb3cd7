#include "vm/cli/cmd_support.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "isa/type/number.h"
#include "vm/data/compare.h"
#include "vm/data/hash.h"
#include "vm/data/value_json.h"
#include "vm/debug/compare.h"
#include "vm/debug/open.h"
#include "vm/run/checks.h"
#include "vm/run/include_folders.h"
#include "vm/run/shipped.h"
#include "vm/text/byte_source.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

Json value_json(const HostTensor& tensor, std::size_t k) {
  return code_json(tensor.dtype, tensor.code(k));
}

Json shape_json(const isa::Shape& shape) {
  Json list = Json::array();
  for (const std::int64_t extent : shape) list.push(extent);
  return list;
}

/// The lines of an answer of the debugger that are shown unless the user asks for more.
constexpr std::size_t answer_height = 200;
constexpr std::uint64_t max_script_bytes = std::uint64_t{1} << 22;

/// What the options name.
TargetRequest request_of(const DebugCommandOptions& options) {
  TargetRequest request{program_path(options.program.file),
                        options.program.defines,
                        std::string(default_target),
                        options.execution.entry,
                        options.execution.data,
                        {options.execution.seed, options.execution.wild},
                        false};
  request.exact = options.execution.exact;
  request.folders = options.program.folders;
  if (!options.program.target.empty()) request.architecture = options.program.target;
  return request;
}

}  // namespace

Result<Loaded> load_source(std::shared_ptr<const SourceFile> source, const ProgramOptions& options,
                           const std::string& target_if_none) {
  const Result<isa::Target> target =
      isa::parse_target(options.target.empty() ? target_if_none : options.target);
  if (!target) return Error{ErrorKind::usage, target.error().message};
  const Result<std::vector<frontend::Define>> defines = parse_defines(options.defines);
  if (!defines) return defines.error();
  return load(std::move(source), *defines, *target,
              options.no_assert ? Assertions::left_out : Assertions::kept);
}

Result<std::shared_ptr<const SourceFile>> open_program(const ProgramOptions& options, Io& io) {
  return read_program(program_path(options.file), io.in, options.folders);
}

Result<Loaded> load_program(const ProgramOptions& options, std::string_view target_if_none,
                            Io& io) {
  Result<std::shared_ptr<const SourceFile>> source = open_program(options, io);
  if (!source) return source.error();
  return load_source(*std::move(source), options, std::string(target_if_none));
}

std::string target_for(const Engine& engine) {
  const std::optional<isa::Target> target = engine.target();
  return target ? isa::to_string(*target) : std::string(default_target);
}

DataReader data_reader(const ExecutionOptions& execution, const ProgramOptions& program, Io& io) {
  return DataReader(execution.exact, program.file == "-" ? nullptr : &io.in);
}

Result<PreparedRun> prepare_run(const isa::VerifiedProgram& program,
                                const ExecutionOptions& execution, const ProgramOptions& source,
                                Reporter& reporter) {
  Result<Entry> entry = resolve_entry(program, execution.entry, execution.data);
  if (!entry) return entry.error();
  DataReader reader = data_reader(execution, source, reporter.io());
  Result<std::vector<HostTensor>> tensors =
      make_tensors(*entry, {execution.seed, execution.wild}, reader);
  if (!tensors) return tensors.error();
  reporter.notes(reader.notes());
  return PreparedRun{*std::move(entry), *std::move(tensors)};
}

Json output_json(const std::string& name, const HostTensor& tensor,
                 std::optional<std::size_t> unwritten) {
  Json object = Json::object();
  object.set("name", name).set("dtype", isa::to_string(tensor.dtype));
  object.set("shape", shape_json(tensor.shape));
  object.set("hash", format_hash(content_hash(tensor)));
  const Summary summary = summarize(tensor);
  object.set("min", summary.range ? value_json(tensor, summary.range->lowest) : Json());
  object.set("max", summary.range ? value_json(tensor, summary.range->highest) : Json());
  object.set("nan", summary.nan).set("inf", summary.inf);
  if (unwritten) object.set("unwritten", *unwritten);
  return object;
}

std::string output_line(const std::string& name, const HostTensor& tensor,
                        std::optional<std::size_t> unwritten) {
  std::string line = fmt::format("{}: {}, hash {}", name, format_type(tensor.dtype, tensor.shape),
                                 format_hash(content_hash(tensor)));
  const Summary summary = summarize(tensor);
  if (const std::optional<Range>& range = summary.range) {
    line +=
        fmt::format(", from {} to {}", isa::format_value(tensor.dtype, tensor.code(range->lowest)),
                    isa::format_value(tensor.dtype, tensor.code(range->highest)));
  }
  if (summary.nan > 0) line += fmt::format(", {} NaN", summary.nan);
  if (summary.inf > 0) line += fmt::format(", {} Inf", summary.inf);
  if (unwritten.value_or(0) > 0) line += fmt::format(", {} unwritten", *unwritten);
  return line;
}

namespace {

/// The commands of a file, of standard input or of a pipe. Errors: the file cannot be read, or is
/// too large.
Result<std::string> read_script(const DebugCommandOptions& options, Io& io) {
  const std::string& path = options.script;
  const bool is_input = path == "-" || path == "/dev/stdin";
  if (is_input && options.program.file == "-") {
    return Error{ErrorKind::usage, "standard input is the program; the commands need another file"};
  }
  if (is_input) {
    const Result<Bytes> bytes = read_stream(io.in, max_script_bytes, "standard input");
    if (!bytes) return bytes.error();
    return std::string(bytes->begin(), bytes->end());
  }
  std::error_code unknown;
  if (!std::filesystem::is_fifo(path, unknown)) {
    const auto bytes = read_file(path, max_script_bytes);
    if (!bytes) return bytes.error();
    return std::string(bytes->begin(), bytes->end());
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  std::string text(max_script_bytes + 1, '\0');
  text.resize(pipe ? std::fread(text.data(), 1, text.size(), pipe.get()) : 0);
  if (text.size() <= max_script_bytes) return text;
  return Error{ErrorKind::usage,
               fmt::format("{} has more than {} bytes of commands", path, max_script_bytes)};
}

}  // namespace

std::variant<OpenDebugger, Exit> open_debugger(const DebugCommandOptions& options, Io& io,
                                               std::function<bool()> tick) {
  Result<sim::Checks> checks = parse_checks(options.checks);
  if (!checks) return fail(io, checks.error());
  OpenDebugger opened;
  if (!options.script.empty()) {
    Result<std::string> script = read_script(options, io);
    if (!script) return fail(io, script.error());
    opened.script = *std::move(script);
  }
  Result<FoundTarget> found = find_target(request_of(options));
  if (!found) return fail(io, found.error());
  if (found->source) show(io, found->diagnostics, *found->source);
  if (!options.json) show(io, found->notes);
  if (!found->target) return Exit::fault;
  opened.found = std::make_unique<FoundTarget>(*std::move(found));
  DebugTarget& target = *opened.found->target;
  DebugOptions settings;
  settings.run.checks = *checks;
  settings.run.max_steps = options.max_steps.value_or(settings.run.max_steps);
  settings.timeline.memory = options.memory << 20;
  settings.timeline.tick = std::move(tick);
  auto session = open_session(target.program, target.entry, std::move(target.tensors), settings);
  if (!session) return fail(io, session.error());
  opened.debugger = std::make_unique<Debugger>(
      *std::move(session), io.out,
      DebuggerOptions{options.json, io.color_out, answer_height,
                      [request = request_of(options)](const std::string& engine) {
                        return compare_with(request, engine);
                      }});
  opened.debugger->greet();
  return opened;
}

}  // namespace tilevm::vm
