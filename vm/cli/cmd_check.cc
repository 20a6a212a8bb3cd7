
#include <fmt/format.h>

#include "isa/analysis/idle_code.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/diff/differ.h"
#include "vm/run/make_engine.h"

namespace tilevm::vm {

namespace {

/// One line a kernel: its grid is the launch's business, so name and threads.
std::string summary(const isa::VerifiedProgram& program) {
  const auto count = [](std::size_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  return fmt::format("ok ({}, {}, {})", count(program.program().kernels.size(), "kernel"),
                     count(program.program().pipelines.size(), "pipeline"),
                     isa::to_string(program.target()));
}

/// The tiles of a kernel in registers and in shared memory; `type` is what `tilevm layout` draws.
Json tiles_json(const isa::Kernel& kernel, const SourceFile& source) {
  Json list = Json::array();
  for (const isa::Variable& variable : kernel.variables) {
    if (!std::holds_alternative<isa::RegisterType>(variable.type) &&
        !std::holds_alternative<isa::SharedType>(variable.type)) {
      continue;
    }
    Json item = Json::object();
    item.set("name", variable.name).set("type", to_string(variable.type));
    item.set("file", source.name_at(variable.span.begin));
    list.push(std::move(item.set("line", source.locate(variable.span.begin).line)));
  }
  return list;
}

Json kernels_json(const isa::VerifiedProgram& program) {
  Json list = Json::array();
  for (std::size_t k = 0; k < program.program().kernels.size(); ++k) {
    Json item = Json::object();
    item.set("name", program.kernel(static_cast<int>(k)).name);
    item.set("threads", program.info(static_cast<int>(k)).num_threads);
    item.set("tiles", tiles_json(program.kernel(static_cast<int>(k)), program.source()));
    list.push(std::move(item));
  }
  return list;
}

/// Runs the machine program of an entry once. What it finds does not depend on the order that the
/// emulated GPU takes (backend/emu/order_check.h), and not on the data unless the control flow
/// does.
Result<std::optional<Failure>> check_machine(const CheckOptions& options,
                                             const isa::VerifiedProgram& program, Io& io,
                                             Reporter& reporter) {
  Result<Entry> entry = resolve_entry(program, options.entry, options.data);
  if (!entry) return entry.error();
  Result<std::unique_ptr<Engine>> engine = make_engine("emu", {});
  if (!engine) return engine.error();
  Engines engines;
  engines.push_back(*std::move(engine));
  const DiffCase what{program, *std::move(entry)};
  ExecutionOptions execution;
  execution.data = options.data;
  execution.exact = options.exact;
  DataReader reader = data_reader(execution, options.program, io);
  Result<SeedRun> run = run_seed(what, engines, {options.seed, false}, reader);
  if (!run) return run.error();
  reporter.notes(reader.notes());
  reporter.set("entry", what.entry.name);
  return std::move(run->runs.front().failure);
}

}  // namespace

Exit check(const CheckOptions& options, Io& io) {
  Reporter reporter(io, "check", options.json);
  reporter.set("file", options.program.file);
  Result<Loaded> loaded = load_program(options.program, default_target, io);
  if (!loaded) return reporter.fail(loaded.error());
  if (loaded->program) {
    for (const isa::Kernel& kernel : loaded->program->program().kernels) {
      isa::note_idle_code(kernel, loaded->program->source(), loaded->diagnostics);
    }
  }
  reporter.diagnostics(loaded->diagnostics, *loaded->source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  reporter.set("target", isa::to_string(loaded->program->target()));
  reporter.set("kernels", kernels_json(*loaded->program));
  if (!options.json) io.out << loaded->source->name() << ": " << summary(*loaded->program) << '\n';
  if (!options.machine) return reporter.finish(Exit::ok);
  Result<std::optional<Failure>> failure = check_machine(options, *loaded->program, io, reporter);
  if (!failure) return reporter.fail(failure.error());
  reporter.set("machine_in_order", !failure->has_value());
  if (*failure) return reporter.fail(**failure, *loaded->source);
  if (!options.json) io.out << "the machine program is in order\n";
  return reporter.finish(Exit::ok);
}

}  // namespace tilevm::vm
