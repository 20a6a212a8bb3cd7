#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "backend/compile/fatbin.h"
#include "backend/compile/kernel_cache.h"
#include "backend/emit/emit.h"
#include "backend/export/c_header.h"
#include "backend/export/compile_report.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/report/compile_unit.h"
#include "vm/run/compile_report.h"
#include "vm/text/choice.h"
#include "vm/text/file.h"
#include "vm/text/parts.h"

namespace tilevm::vm {

namespace {

/// The names between commas. Errors (usage): the kind of output takes one; two are the same.
Result<std::vector<isa::Target>> targets_of(const CompileOptions& options) {
  std::vector<isa::Target> targets;
  const std::string names = options.program.target.empty() ? "sm_90a" : options.program.target;
  for (const std::string_view name : parts_of(names, ',')) {
    const Result<isa::Target> target = isa::parse_target(name);
    if (!target) return Error{ErrorKind::usage, target.error().message};
    for (const isa::Target& other : targets) {
      if (isa::compile_target(other) != isa::compile_target(*target)) continue;
      return Error{ErrorKind::usage, fmt::format("--target names {} twice",
                                                 isa::to_string(isa::compile_target(*target)))};
    }
    targets.push_back(*target);
  }
  const bool one = options.emit == "cuda" || options.emit == "ptx" || options.emit == "cubin";
  if (targets.size() == 1 || !one) return targets;
  return Error{
      ErrorKind::usage,
      fmt::format("--emit {} is for one target; --emit fatbin takes several", options.emit)};
}

/// Whether a report is all that is wanted.
bool only_explains(const CompileOptions& options) {
  return options.explain && options.emit.empty() && options.output.empty() &&
         options.header.empty();
}

/// Whether the code goes to standard output.
bool writes_to_output(const CompileOptions& options) {
  if (only_explains(options)) return false;
  return options.output == "-" || (options.output.empty() && options.header.empty());
}

Status check_options(const CompileOptions& options) {
  if (options.json && !options.explain) {
    return Error{ErrorKind::usage, "--json goes with --explain"};
  }
  if (only_explains(options) && options.prelude && options.lines) return Done{};
  Status known = check_choice("kind of output", options.emit, {"cuda", "ptx", "cubin", "fatbin"});
  if (!known) return known;
  if (options.emit != "cuda" && (!options.prelude || !options.lines)) {
    return Error{ErrorKind::usage, fmt::format("{} goes with --emit cuda",
                                               options.prelude ? "--no-lines" : "--no-prelude")};
  }
  const bool text = options.emit == "cuda" || options.emit == "ptx";
  if (text && !options.header.empty()) {
    return Error{ErrorKind::usage, "--header goes with --emit cubin or --emit fatbin"};
  }
  if (!text && options.output.empty() && options.header.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("--emit {} gives binary data: name a file with -o FILE (or -o - for "
                             "standard output), or a C header with --header FILE",
                             options.emit)};
  }
  if (options.json && writes_to_output(options)) {
    return Error{ErrorKind::usage,
                 "--json goes to standard output: name a file for the code with -o FILE"};
  }
  return Done{};
}

/// The text without its #line directives.
std::string without_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#line ")) kept += line + "\n";
  }
  return kept;
}

/// The CUDA C++ as the options ask for it.
std::string cuda_text(const CompileUnit& unit, const CompileOptions& options) {
  std::string text = unit.source.text;
  if (!options.prelude) {
    text = fmt::format(
        "// Made by tilevm for {}: the program without the device prelude, which it is compiled "
        "with\n// (`tilevm compile FILE --emit cuda` writes both).\n{}",
        isa::to_string(isa::compile_target(unit.program.target())),
        text.substr(unit.source.prelude_size));
  }
  return options.lines ? text : without_lines(text);
}

Result<std::string> make_output(const std::vector<CompileUnit>& units,
                                const CompileOptions& options) {
  const std::string& emit = options.emit;
  if (emit == "cuda") return cuda_text(units.front(), options);
  std::vector<backend::FatbinPart> parts;
  for (const CompileUnit& unit : units) {
    backend::CompileRequest request = unit.request;
    if (emit == "ptx") {
      request.artifact = backend::Artifact::ptx;
      request.extra_options.clear();
    }
    Result<backend::Compiled> compiled = backend::compile_cached(request);
    if (!compiled) return compiled.error();
    parts.push_back({*backend::parse_cuda_target(request.target), std::move(compiled->image)});
  }
  return emit == "fatbin" ? backend::pack_fatbin(parts) : std::move(parts.front().image);
}

Status write_header(const std::vector<CompileUnit>& units, const std::string& image,
                    const CompileOptions& options, Io& io) {
  backend::CHeaderOptions header;
  header.prefix = std::filesystem::path(options.header).stem().string();
  std::vector<backend::CudaSource> sources;
  for (const CompileUnit& unit : units) {
    sources.push_back(unit.source);
    header.targets.push_back(isa::to_string(isa::compile_target(unit.program.target())));
  }
  if (options.output.empty()) header.image = image;
  const Result<std::string> text = backend::c_header(units.front().program, sources, header);
  return text ? write_result(io, options.header, *text) : Status(text.error());
}

Status write_outputs(const std::vector<CompileUnit>& units, const CompileOptions& options, Io& io) {
  const Result<std::string> image = make_output(units, options);
  if (!image) return image.error();
  if (!options.header.empty()) {
    Status written = write_header(units, *image, options, io);
    if (!written || options.output.empty()) return written;
  }
  return write_result(io, options.output.empty() ? "-" : options.output, *image);
}

/// Shows what became of each kernel.
void explain_units(const std::vector<CompileUnit>& units, bool beside_code, Reporter& reporter) {
  Json targets = Json::array();
  for (const CompileUnit& unit : units) {
    const CompileReport report = unit.compile_and_report();
    reporter.diagnostics(report.warnings(), unit.program.source());
    if (reporter.json()) {
      targets.push(report_json(report));
    } else {
      (beside_code ? reporter.io().err : reporter.io().out) << format_report(report);
    }
  }
  reporter.set("targets", std::move(targets));
}

/// Whether the code and the header can be written, to two files, before anything is compiled.
Status check_files(const CompileOptions& options) {
  std::vector<std::string> files;
  for (const std::string& file : {options.output, options.header}) {
    if (!file.empty() && file != "-") files.push_back(file);
  }
  return check_outputs(files);
}

Exit compile_with(const CompileOptions& options, Reporter& reporter) {
  if (const Status fine = check_options(options); !fine) return reporter.fail(fine.error());
  if (const Status fine = check_files(options); !fine) return reporter.fail(fine.error());
  const Result<std::vector<isa::Target>> targets = targets_of(options);
  if (!targets) return reporter.fail(targets.error());
  const auto source = open_program(options.program, reporter.io());
  if (!source) return reporter.fail(source.error());
  std::vector<CompileUnit> units;
  for (const isa::Target& target : *targets) {
    ProgramOptions program = options.program;
    program.target = isa::to_string(target);
    const Result<Loaded> loaded = load_source(*source, program, "");
    if (!loaded) return reporter.fail(loaded.error());
    // What is worth a warning is so for every target.
    if (units.empty() || !loaded->program)
      reporter.diagnostics(loaded->diagnostics, *loaded->source);
    if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
    units.push_back(make_compile_unit(*loaded->program, options.explain));
  }
  Diagnostics warnings;
  warn_of_long_loops(units.front().program, warnings);
  reporter.diagnostics(warnings, units.front().program.source());
  if (options.explain) explain_units(units, writes_to_output(options), reporter);
  if (only_explains(options)) return reporter.finish(Exit::ok);
  const Status written = write_outputs(units, options, reporter.io());
  return written ? reporter.finish(Exit::ok) : reporter.fail(written.error());
}

}  // namespace

Exit compile(const CompileOptions& options, Io& io) {
  CompileOptions known = options;
  if (known.emit.empty() && !only_explains(options)) known.emit = "cuda";
  Reporter reporter(io, "compile", options.json);
  return compile_with(known, reporter);
}

}  // namespace tilevm::vm
