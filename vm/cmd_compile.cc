#include <algorithm>
#include <charconv>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  request.target = isa::to_string(isa::compile_target(program.target()));
  return request;
}

/// "f16* a_ptr, i32 n, 4096 bytes of workspace".
std::string parameters(const isa::Kernel& kernel, const backend::CudaKernel& emitted) {
  std::vector<std::string> texts;
  for (const backend::CudaParameter& parameter : emitted.parameters) {
    if (parameter.role == backend::CudaParameter::Role::workspace) {
      texts.push_back(fmt::format("{} bytes of workspace", parameter.workspace_bytes));
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

Result<std::string> make_output(const isa::VerifiedProgram& program,
                                const backend::CudaSource& source, const std::string& emit) {
  if (emit == "cuda") return source.text;
  backend::CompileRequest request = request_for(program, source);
  if (emit == "ptx") request.artifact = backend::Artifact::ptx;
  Result<backend::Compiled> compiled = backend::compile_cached(request);
  if (!compiled) return compiled.error();
  if (emit != "fatbin") return std::move(compiled->image);
  return backend::pack_fatbin(
      {{*backend::parse_cuda_target(request.target), std::move(compiled->image)}});
}

}  // namespace

Exit compile(const CompileOptions& options, Io& io) {
  const Status known =
      check_choice("kind of output", options.emit, {"cuda", "ptx", "cubin", "fatbin"});
  if (!known) return fail(io, known.error());
  const bool text = options.emit == "cuda" || options.emit == "ptx";
  if (!text && options.output.empty()) {
    return fail(io, {ErrorKind::usage,
                     fmt::format("--emit {} gives binary data: name a file with -o FILE (or -o - "
                                 "for standard output)",
                                 options.emit)});
  }
  Result<Loaded> loaded = load_program(options.program, "sm_90a", io);
  if (!loaded) return fail(io, loaded.error());
  show(io, loaded->diagnostics, *loaded->source);
  if (!loaded->program) return exit_of(loaded->diagnostics);
  const backend::CudaSource source = backend::emit_cuda(*loaded->program);
  if (options.explain) explain_kernels(*loaded->program, source, io);
  const Result<std::string> output = make_output(*loaded->program, source, options.emit);
  if (!output) return fail(io, output.error());
  const Status written = write_result(io, options.output.empty() ? "-" : options.output, *output);
  return written ? Exit::ok : fail(io, written.error());
}

}  // namespace tilevm::vm
