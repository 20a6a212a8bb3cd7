#include <ostream>

#include "vm/bench/bench_report.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/text/choice.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

Result<BenchReport> bench_program(CudaMachine& machine, const isa::VerifiedProgram& program,
                                  const BenchOptions& options, const BenchSettings& settings,
                                  Reporter& reporter) {
  Result<Entry> entry = resolve_entry(program, options.entry, {options.inputs, {}});
  if (!entry) return entry.error();
  if (options.refuse_spills) {
    if (Status s = refuse_spills(machine, program, *entry, options.kernel); !s) return s.error();
  }
  DataReader reader(options.exact);
  Result<EntryData> data = make_entry_data(*std::move(entry), {options.seed, false}, reader);
  if (!data) return data.error();
  reporter.notes(reader.notes());
  if (options.reference.empty()) return measure(machine, program, *data, nullptr, settings);
  Result<Entry> plain = resolve_entry(program, options.reference, {});
  if (!plain) return plain.error();
  const Result<EntryData> reference = make_reference_data(*std::move(plain), *data);
  if (!reference) return reference.error();
  return measure(machine, program, *data, &*reference, settings);
}

/// The report as members of the command's object, and as one line of the results file.
Status deliver(const BenchReport& report, const BenchOptions& options, Reporter& reporter) {
  if (!reporter.json()) reporter.io().out << format_bench(report);
  Json line = Json::object();
  line.set("schema", 1).set("command", "bench").set("file", options.program.file);
  Json defines = Json::array();
  for (const std::string& define : options.program.defines) defines.push(define);
  reporter.set("defines", defines);
  line.set("defines", std::move(defines));
  for (auto& [key, value] : bench_members(report)) {
    reporter.set(key, value);
    line.set(key, std::move(value));
  }
  return options.output.empty() ? Status(Done{}) : append_line(options.output, line.text() + "\n");
}

}  // namespace

Exit bench(const BenchOptions& options, Io& io) {
  Reporter reporter(io, "bench", options.json);
  reporter.set("file", options.program.file);
  if (!options.baseline.empty()) {
    if (Status s = check_choice("baseline", options.baseline, {"cublas"}); !s) {
      return reporter.fail(s.error());
    }
  }
  Result<std::shared_ptr<const SourceFile>> source = open_program(options.program, io);
  if (!source) return reporter.fail(source.error());
  Result<CudaMachine> machine = open_cuda();
  if (!machine) return reporter.fail(machine.error());
  Result<Loaded> loaded = load_source(*source, options.program, isa::to_string(machine->target));
  if (!loaded) return reporter.fail(loaded.error());
  reporter.diagnostics(loaded->diagnostics, *loaded->source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  BenchSettings settings;
  settings.kernel = options.kernel;
  settings.timing.rounds = options.rounds;
  settings.timing.warm = options.warm;
  settings.cublas = options.baseline == "cublas";
  settings.check = options.check;
  settings.peak = options.peak;
  settings.lock = options.lock;
  settings.size = matmul_size(**source, *parse_defines(options.program.defines));
  const Result<BenchReport> report =
      bench_program(*machine, *loaded->program, options, settings, reporter);
  if (!report) return reporter.fail(report.error());
  const Status delivered = deliver(*report, options, reporter);
  return delivered ? reporter.finish(Exit::ok) : reporter.fail(delivered.error());
}

}  // namespace tilevm::vm
