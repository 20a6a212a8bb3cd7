#include "tests/filetest/runner.h"

#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "backend/emit/emit.h"
#include "frontend/print/print.h"
#include "frontend/syntax/grammar.h"
#include "isa/base/render.h"
#include "tests/filetest/arguments.h"
#include "tests/filetest/text_parts.h"
#include "vm/run/checks.h"
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
  outcome.rendered += fmt::format("tilevm: {}: {}\n", kind_name(error.kind), error.message);
}

void add(Outcome& outcome, const Diagnostics& diagnostics, const SourceFile& source) {
  outcome.rendered += render(diagnostics, source, false);
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    if (diagnostic.severity != Severity::error) continue;
    const LineColumn place = source.locate(diagnostic.span.begin);
    outcome.errors.push_back(
        {to_string(diagnostic.code), place.line, place.column, diagnostic.message});
  }
}

/// "line 7: `LoadGlobal` names .. [TV0417]"; without what is said of outputs and of whole stores.
Lines warning_lines(const Diagnostics& notes, const SourceFile& source) {
  Lines lines;
  for (const Diagnostic& note : notes.sorted()) {
    const bool is_of_outputs =
        note.code == Code::unwritten_output || note.code == Code::store_outside;
    if (note.severity != Severity::warning || is_of_outputs) continue;
    lines.push_back(fmt::format("line {}: {} [{}]", source.locate(note.span.begin).line,
                                note.message, to_string(note.code)));
  }
  return lines;
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
  if (engine.name() == "sim") outcome.warnings = warning_lines(report.notes, program.source());
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

/// A case with what is known of it before anything runs.
struct BegunCase {
  Outcome outcome;
  Arguments arguments;
  std::optional<isa::VerifiedProgram> program;  ///< what is left to run
};

BegunCase begin_case(const Case& test, const std::shared_ptr<const SourceFile>& source) {
  if (test.kind == Kind::format) return {run_format(*source), {}, {}};
  BegunCase begun;
  Result<Arguments> arguments = parse_arguments(test);
  if (!arguments) {
    add(begun.outcome, arguments.error());
    return begun;
  }
  begun.arguments = *std::move(arguments);
  Result<vm::Loaded> loaded = load_case(begun.arguments, source);
  if (!loaded) {
    add(begun.outcome, loaded.error());
    return begun;
  }
  add(begun.outcome, loaded->diagnostics, *loaded->source);
  if (!loaded->program || test.kind == Kind::check) return begun;
  if (test.kind == Kind::run) {
    begun.program = std::move(loaded->program);
  } else {
    emit_program(*loaded->program, begun.outcome);
  }
  return begun;
}

/// Whether a case runs in a simulator of its own.
bool needs_own_engine(const Arguments& arguments) {
  return arguments.shadow || !arguments.checks.empty();
}

/// Compiles ahead, many programs of a target in one text. What fails here fails again where the
/// case runs, and is reported there.
void prepare(const std::vector<BegunCase>& cases, vm::Engine& engine) {
  constexpr std::size_t most = 32;
  std::map<std::string, std::vector<const isa::VerifiedProgram*>> by_target;
  const auto compile = [&](std::vector<const isa::VerifiedProgram*>& programs) {
    static_cast<void>(engine.prepare(programs));
    programs.clear();
  };
  for (const BegunCase& each : cases) {
    if (!each.program || needs_own_engine(each.arguments)) continue;
    auto& programs = by_target[isa::to_string(each.program->target())];
    programs.push_back(&*each.program);
    if (programs.size() == most) compile(programs);
  }
  for (auto& [target, programs] : by_target) compile(programs);
}

Outcome finish_case(BegunCase begun, vm::Engine& engine) {
  if (!begun.program) return std::move(begun.outcome);
  if (!needs_own_engine(begun.arguments)) {
    run_program(*begun.program, begun.arguments, engine, begun.outcome);
    return std::move(begun.outcome);
  }
  vm::EngineOptions options{.keep_shadow = begun.arguments.shadow};
  if (!begun.arguments.checks.empty()) {
    const Result<sim::Checks> checks = vm::parse_checks(begun.arguments.checks);
    if (!checks) {
      add(begun.outcome, checks.error());
      return std::move(begun.outcome);
    }
    options.checks = *checks;
  }
  const auto own = vm::make_engine("sim", options);
  if (own) {
    run_program(*begun.program, begun.arguments, **own, begun.outcome);
  } else {
    add(begun.outcome, own.error());
  }
  return std::move(begun.outcome);
}

}  // namespace

std::vector<Outcome> run_cases(const TestFile& file,
                               const std::shared_ptr<const SourceFile>& source,
                               vm::Engine& engine) {
  std::vector<BegunCase> cases;
  for (const Case& test : file.cases) cases.push_back(begin_case(test, source));
  prepare(cases, engine);
  std::vector<Outcome> outcomes;
  for (BegunCase& each : cases) outcomes.push_back(finish_case(std::move(each), engine));
  return outcomes;
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
    if (!arguments->checks.empty()) return "only the simulator has checks";
    const Result<isa::Target> target = isa::parse_target(arguments->target);
    if (device && target && target->sm != device->sm) return "it is for " + isa::to_string(*target);
  }
  return runs ? "" : "nothing of it runs";
}

}  // namespace tilevm::filetest
