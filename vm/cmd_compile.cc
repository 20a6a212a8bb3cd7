#include <charconv>
#include <filesystem>
#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/c_header.h"
#include "backend/emit.h"
#include "backend/fatbin.h"
#include "backend/kernel_cache.h"
#include "vm/cmd_support.h"
#include "vm/commands.h"

namespace tilevm::vm {

namespace {

backend::CompileRequest request_for(const isa::VerifiedProgram& program,
                                    const backend::CudaSource& source) {
  backend::CompileRequest request;
  request.source = source.text;
  request.name = program.source().name() + ".cu";
  request.target = isa::to_string(isa::compile_target(program.target()));
  return request;
}

/// "f16* a_ptr, i32 n, 4096 bytes of workspace".
std::string parameters(const isa::Kernel& kernel, const backend::CudaKernel& emitted) {
  std::vector<std::string> texts;
  for (const backend::CudaParameter& parameter : emitted.parameters) {
    if (parameter.role == backend::CudaParameter::Role::workspace) {
      texts.push_back(fmt::format("{} bytes of workspace{}", parameter.workspace_bytes,
                                  parameter.zeroed ? " (zeroed before each launch)" : ""));
      continue;
    }
    if (parameter.role == backend::CudaParameter::Role::prints) {
      texts.emplace_back("the print buffer");
      continue;
    }
    const isa::Variable& variable = kernel.variable(parameter.var);
    const auto* pointer = std::get_if<isa::PointerType>(&variable.type);
    texts.push_back(pointer != nullptr
                        ? fmt::format("{}* {}", isa::to_string(pointer->dtype), variable.name)
                        : fmt::format("{} {}", isa::to_string(parameter.scalar), variable.name));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

/// The number that stands directly before `word` in ptxas's remarks on a kernel.
std::optional<long> number_before(std::string_view remarks, std::string_view word) {
  const std::size_t at = remarks.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && remarks[begin - 1] >= '0' && remarks[begin - 1] <= '9') --begin;
  long value = 0;
  const auto [end, error] = std::from_chars(remarks.data() + begin, remarks.data() + at, value);
  if (error != std::errc{} || end != remarks.data() + at) return std::nullopt;
  return value;
}

/// What ptxas said of one kernel: "40 a thread, 0 bytes spilled"; empty if it said nothing.
std::string registers(const std::string& log, const std::string& entry) {
  const std::string_view all = log;
  const std::size_t begin = all.find(fmt::format("entry function '{}'", entry));
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = all.substr(begin + 1);
  const std::string_view remarks = rest.substr(0, rest.find("entry function '"));
  const std::optional<long> used = number_before(remarks, " registers");
  const std::optional<long> spilled = number_before(remarks, " bytes spill stores");
  if (!used) return {};
  return fmt::format("{} a thread, {} bytes spilled", *used, spilled.value_or(0));
}

/// A paragraph a kernel, and who compiled.
void explain_kernels(const isa::VerifiedProgram& program, const backend::CudaSource& source,
                     Io& io) {
  backend::CompileRequest request = request_for(program, source);
  request.extra_options = {"--ptxas-options=-v"};
  const Result<backend::Compiled> compiled = backend::compile_cached(request);
  for (const backend::CudaKernel& emitted : source.kernels) {
    const isa::Kernel& kernel = program.kernel(emitted.kernel);
    const std::string used = compiled ? registers(compiled->log, emitted.entry) : std::string();
    io.err << fmt::format(
        "{} ({} in the code)\n  threads    {}\n  parameters {}\n  registers  {}\n", kernel.name,
        emitted.entry, emitted.threads, parameters(kernel, emitted),
        used.empty() ? "unknown" : used);
  }
  io.err << (compiled
                 ? fmt::format(
                       "compiled for {} by {} {} {:.0f} ms\n", request.target, compiled->compiler,
                       compiled->cached ? "earlier, and found in" : "in", compiled->milliseconds)
                 : fmt::format("not compiled: {}\n", compiled.error().message));
}

/// The program as one target sees it.
struct Unit {
  isa::VerifiedProgram program;
  backend::CudaSource source;
};

/// The names between commas. Errors (usage): the kind of output takes one; two are the same.
Result<std::vector<isa::Target>> targets_of(const CompileOptions& options) {
  std::vector<isa::Target> targets;
  std::istringstream names(options.program.target.empty() ? "sm_90a" : options.program.target);
  for (std::string name; std::getline(names, name, ',');) {
    const Result<isa::Target> target = isa::parse_target(name);
    if (!target) return Error{ErrorKind::usage, target.error().message};
    for (const isa::Target& other : targets) {
      if (isa::compile_target(other) != isa::compile_target(*target)) continue;
      return Error{ErrorKind::usage, fmt::format("--target names {} twice",
                                                 isa::to_string(isa::compile_target(*target)))};
    }
    targets.push_back(*target);
  }
  if (targets.size() == 1 || options.emit == "fatbin") return targets;
  return Error{
      ErrorKind::usage,
      fmt::format("--emit {} is for one target; --emit fatbin takes several", options.emit)};
}

Status check_options(const CompileOptions& options) {
  Status known = check_choice("kind of output", options.emit, {"cuda", "ptx", "cubin", "fatbin"});
  if (!known) return known;
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
  return Done{};
}

Result<std::string> make_output(const std::vector<Unit>& units, const std::string& emit) {
  if (emit == "cuda") return units.front().source.text;
  std::vector<backend::FatbinPart> parts;
  for (const Unit& unit : units) {
    backend::CompileRequest request = request_for(unit.program, unit.source);
    if (emit == "ptx") request.artifact = backend::Artifact::ptx;
    Result<backend::Compiled> compiled = backend::compile_cached(request);
    if (!compiled) return compiled.error();
    parts.push_back({*backend::parse_cuda_target(request.target), std::move(compiled->image)});
  }
  return emit == "fatbin" ? backend::pack_fatbin(parts) : std::move(parts.front().image);
}

Status write_header(const std::vector<Unit>& units, const std::string& image,
                    const CompileOptions& options, Io& io) {
  backend::CHeaderOptions header;
  header.prefix = std::filesystem::path(options.header).stem().string();
  std::vector<backend::CudaSource> sources;
  for (const Unit& unit : units) {
    sources.push_back(unit.source);
    header.targets.push_back(isa::to_string(isa::compile_target(unit.program.target())));
  }
  if (options.output.empty()) header.image = image;
  const Result<std::string> text = backend::c_header(units.front().program, sources, header);
  return text ? write_result(io, options.header, *text) : Status(text.error());
}

Status write_outputs(const std::vector<Unit>& units, const CompileOptions& options, Io& io) {
  const Result<std::string> image = make_output(units, options.emit);
  if (!image) return image.error();
  if (!options.header.empty()) {
    Status written = write_header(units, *image, options, io);
    if (!written || options.output.empty()) return written;
  }
  return write_result(io, options.output.empty() ? "-" : options.output, *image);
}

}  // namespace

Exit compile(const CompileOptions& options, Io& io) {
  if (const Status fine = check_options(options); !fine) return fail(io, fine.error());
  const Result<std::vector<isa::Target>> targets = targets_of(options);
  if (!targets) return fail(io, targets.error());
  const Result<std::shared_ptr<const SourceFile>> source = read_source(options.program.file, io.in);
  if (!source) return fail(io, source.error());
  std::vector<Unit> units;
  for (const isa::Target& target : *targets) {
    const ProgramOptions program{options.program.file, options.program.defines,
                                 isa::to_string(target)};
    const Result<Loaded> loaded = load_source(*source, program, "");
    if (!loaded) return fail(io, loaded.error());
    // What is worth a warning is so for every target.
    if (units.empty() || !loaded->program) show(io, loaded->diagnostics, **source);
    if (!loaded->program) return exit_of(loaded->diagnostics);
    units.push_back({*loaded->program, backend::emit_cuda(*loaded->program)});
    if (options.explain) explain_kernels(units.back().program, units.back().source, io);
  }
  const Status written = write_outputs(units, options, io);
  return written ? Exit::ok : fail(io, written.error());
}

}  // namespace tilevm::vm
