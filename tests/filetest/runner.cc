#include "tests/filetest/runner.h"

#include <utility>
#include <variant>

#include "backend/emit/emit.h"
#include "frontend/print/print.h"
#include "frontend/syntax/grammar.h"
#include "tests/filetest/arguments.h"
#include "tests/filetest/text_parts.h"
#include "vm/run/compile_report.h"
#include "vm/run/shadow.h"

namespace tilevm::filetest {

namespace {

std::string kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::program:
      return "program";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::limit:
      return "limit";
  }
  return "usage";
}

void add(Outcome& outcome, const Error& error) {
  outcome.errors.push_back({kind_name(error.kind), 0, 0, error.message});
}

void add(Outcome& outcome, const Diagnostics& diagnostics, const SourceFile& source) {
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    if (diagnostic.severity != Severity::error) continue;
    const LineColumn place = source.locate(diagnostic.span.begin);
    outcome.errors.push_back(
        {to_string(diagnostic.code), place.line, place.column, diagnostic.message});
  }
}

void run_program(const isa::VerifiedProgram& program, const Arguments& arguments,
                 vm::Engine& engine, Outcome& outcome) {
  const Result<vm::Entry> entry = resolve_entry(program, arguments.entry, arguments.data);
  if (!entry) return add(outcome, entry.error());
  Result<std::vector<vm::HostTensor>> tensors = make_tensors(*entry, arguments.seeding);
  if (!tensors) return add(outcome, tensors.error());
  vm::RunReport report;
  const auto failure = engine.run(program, *entry, *tensors, report);
  outcome.prints = lines_of(vm::format_prints(program, report.prints));
  if (arguments.shadow) outcome.shadow = lines_of(vm::shadow_table(program, report));
  if (failure) {
    if (const auto* error = std::get_if<Error>(&*failure)) return add(outcome, *error);
    return add(outcome, std::get<Diagnostics>(*failure), program.source());
  }
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    const vm::Entry::Tensor& tensor = entry->tensors[i];
    if (tensor.output) outcome.outputs.emplace_back(tensor.name, std::move((*tensors)[i]));
  }
}

Outcome run_format(const SourceFile& source) {
  Outcome outcome;
  Diagnostics diagnostics;
  const auto tree = frontend::parse(source, diagnostics);
  add(outcome, diagnostics, source);
  if (tree && frontend::print(*tree) != source.text()) {
    add(outcome, {ErrorKind::program, "the file is not in canonical form (tilevm fmt)"});
  }
  return outcome;
}

/// What the backend makes of a program, which needs no GPU and no CUDA compiler.
void emit_program(const isa::VerifiedProgram& program, Outcome& outcome) {
  const backend::CudaSource source = backend::emit_cuda(program);
  outcome.report =
      vm::format_decisions(program, source, isa::to_string(isa::compile_target(program.target())));
  outcome.code = source.text.substr(source.prelude_size);
  for (const isa::Kernel& kernel : program.program().kernels) {
    outcome.kernels.push_back(kernel.name);
  }
}

}  // namespace

Outcome run_case(const Case& test, const std::shared_ptr<const SourceFile>& source,
                 vm::Engine& engine) {
  if (test.kind == Kind::format) return run_format(*source);
  Outcome outcome;
  const Result<Arguments> arguments = parse_arguments(test);
  if (!arguments) {
    add(outcome, arguments.error());
    return outcome;
  }
  const Result<vm::Loaded> loaded = load_case(*arguments, source);
  if (!loaded) {
    add(outcome, loaded.error());
    return outcome;
  }
  add(outcome, loaded->diagnostics, *source);
  if (!loaded->program || test.kind == Kind::check) return outcome;
  if (test.kind != Kind::run) {
    emit_program(*loaded->program, outcome);
    return outcome;
  }
  if (!arguments->shadow) {
    run_program(*loaded->program, *arguments, engine, outcome);
    return outcome;
  }
  const auto with_shadow = vm::make_engine("sim", {.keep_shadow = true});
  if (!with_shadow) {
    add(outcome, with_shadow.error());
    return outcome;
  }
  run_program(*loaded->program, *arguments, **with_shadow, outcome);
  return outcome;
}

std::string why_not(const TestFile& file, const vm::Engine& engine) {
  if (engine.name() == "sim") return {};
  const std::optional<isa::Target> device = engine.target();
  if (!file.errors.empty()) return "its errors are found without it";
  bool runs = false;
  for (const Case& test : file.cases) {
    if (test.kind != Kind::run) continue;
    runs = true;
    const Result<Arguments> arguments = parse_arguments(test);
    if (!arguments) continue;
    if (arguments->shadow) return "only the simulator has shadow values";
    const Result<isa::Target> target = isa::parse_target(arguments->target);
    if (device && target && target->sm != device->sm) return "it is for " + isa::to_string(*target);
  }
  return runs ? "" : "nothing of it runs";
}

}  // namespace tilevm::filetest
