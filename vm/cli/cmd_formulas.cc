// Formulas of programs: `tilevm run --ring` and `tilevm diff --ring`.
#include <algorithm>
#include <cctype>
#include <ostream>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/ring/formula.h"
#include "vm/run/engine_sim.h"

namespace tilevm::vm {
namespace {

/// The program and the entry that another is compared with.
struct Against {
  std::string file;   ///< empty: the program's own
  std::string entry;  ///< empty: the file's usual one
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

/// FILE, FILE:ENTRY, or the ENTRY of the program itself.
Against parse_against(const std::string& text) {
  if (is_name(text)) return {"", text};
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && is_name(std::string_view(text).substr(colon + 1))) {
    return {text.substr(0, colon), text.substr(colon + 1)};
  }
  return {text, ""};
}

/// One of the two programs, with what it needs to run.
struct LoadedSide {
  isa::VerifiedProgram program;
  Entry entry;
};

/// Loads a program and finds its entry. The status where it has errors, which have been shown.
std::variant<LoadedSide, Exit> load_side(const ProgramOptions& options, const std::string& entry,
                                         const DataOptions& data, Reporter& reporter) {
  Result<Loaded> loaded = load_program(options, default_target, reporter.io());
  if (!loaded) return reporter.fail(loaded.error());
  reporter.diagnostics(loaded->diagnostics, *loaded->source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  Result<Entry> resolved = resolve_entry(*loaded->program, entry, data);
  if (!resolved) return reporter.fail(resolved.error());
  return LoadedSide{*std::move(loaded->program), *std::move(resolved)};
}

/// What of the inputs both entries are given: scalars, and the types of a kernel's pointers
/// ("a=f16[64, 64]=rand"). The numbers of tensors are the first one's.
DataOptions shared_inputs(const DataOptions& data, const Entry& first) {
  DataOptions shared;
  for (const std::string& input : data.inputs) {
    const std::size_t sign = input.find('=');
    const std::string name = input.substr(0, sign);
    const bool is_tensor =
        std::any_of(first.tensors.begin(), first.tensors.end(),
                    [&](const Entry::Tensor& tensor) { return tensor.name == name; });
    const bool has_type =
        sign != std::string::npos && input.find('=', sign + 1) != std::string::npos;
    if (!is_tensor || has_type) shared.inputs.push_back(input);
  }
  return shared;
}

/// "N=128" without its value.
std::string_view constant_of(const std::string& define) {
  return std::string_view(define).substr(0, define.find('='));
}

/// The other program. Another entry of the file has the constants of the first, but for those that
/// --against-define names.
ProgramOptions other_program(const DiffOptions& options, const Against& against) {
  ProgramOptions other = options.program;
  if (!against.file.empty()) {
    other.file = against.file;
    other.defines = options.against_defines;
    return other;
  }
  for (const std::string& define : options.against_defines) {
    std::erase_if(other.defines, [&](const std::string& each) {
      return constant_of(each) == constant_of(define);
    });
    other.defines.push_back(define);
  }
  return other;
}

std::string side_name(const ProgramOptions& program, const Entry& entry) {
  return fmt::format("{}:{}", program.file, entry.name);
}

/// The simulator looks for faults first: the naive interpreter, which does everything at once,
/// does not have them.
FormulaResult run_checked(const LoadedSide& side, const DiffOptions& options,
                          const naive::Ring& ring, const std::vector<HostTensor>& tensors) {
  const auto simulator =
      make_sim_engine({.threads = options.execution.threads, .max_steps = options.max_steps});
  std::vector<HostTensor> results = tensors;
  RunReport report;
  if (auto failure = simulator->run(side.program, side.entry, results, report)) {
    return {std::move(failure), {}};
  }
  return run_formulas(side.program, side.entry, ring, tensors);
}

Status check_ring_options(const DiffOptions& options) {
  if (options.against.empty()) {
    return Error{ErrorKind::usage,
                 "--ring compares the formulas of two programs: name the other one with --against "
                 "FILE, FILE:ENTRY or ENTRY"};
  }
  for (const auto& [given, name] : {std::pair{!options.backends.empty(), "--backends"},
                                    {!options.seeds.empty(), "--seeds"},
                                    {!options.record.empty(), "--record"},
                                    {!options.bundle.empty(), "--bundle"},
                                    {options.bisect, "--bisect"}}) {
    if (given) {
      return Error{ErrorKind::usage, fmt::format("{} compares engines; --ring compares two "
                                                 "programs",
                                                 name)};
    }
  }
  return Done{};
}

/// Compares what two programs gave.
Exit compare(const FormulaRun& a, const FormulaRun& b, const naive::Ring& ring,
             Reporter& reporter) {
  const auto differences = compare_formulas(a, b);
  if (!differences) return reporter.fail(differences.error());
  Json json = Json::array();
  bool equal = true;
  for (const FormulaDifference& difference : *differences) {
    equal = equal && difference.different == 0;
    json.push(difference_json(difference, a, b));
    if (!reporter.json()) reporter.io().out << difference_text(difference, a, b, ring);
  }
  if (!reporter.json()) {
    reporter.io().out << decisions_text(a) << decisions_text(b);
  }
  reporter.set("modulus", ring.p());
  reporter.set("outputs", std::move(json));
  reporter.set("equal", equal);
  return reporter.finish(equal ? Exit::ok : Exit::fault);
}

}  // namespace

Status check_modulus(const std::string& modulus) {
  const Result<naive::Ring> ring = parse_ring(modulus);
  return ring ? Status(Done{}) : Status(ring.error());
}

Status deliver_formulas(const isa::VerifiedProgram& program, const Entry& entry,
                        std::vector<HostTensor> inputs, const std::string& modulus,
                        OutputStream& words, Reporter& reporter) {
  const Result<naive::Ring> ring = parse_ring(modulus);
  if (!ring) return ring.error();
  const FormulaResult result = run_formulas(program, entry, *ring, std::move(inputs));
  if (result.failure) return std::get<Error>(*result.failure);
  reporter.set("ring", formulas_json(result.run, *ring));
  if (!reporter.json()) words << formulas_text(result.run, *ring);
  return Done{};
}

Exit diff_formulas(const DiffOptions& options, Io& io) {
  Reporter reporter(io, "diff", options.json);
  reporter.set("file", options.program.file);
  if (Status s = check_ring_options(options); !s) return reporter.fail(s.error());
  const Result<naive::Ring> ring = parse_ring(options.ring);
  if (!ring) return reporter.fail(ring.error());
  const Against against = parse_against(options.against);

  auto first =
      load_side(options.program, options.execution.entry, options.execution.data, reporter);
  if (const Exit* status = std::get_if<Exit>(&first)) return *status;
  const LoadedSide& a = std::get<LoadedSide>(first);
  DataReader reader = data_reader(options.execution, options.program, io);
  const Result<std::vector<HostTensor>> tensors =
      make_tensors(a.entry, {options.execution.seed, options.execution.wild}, reader);
  if (!tensors) return reporter.fail(tensors.error());
  reporter.notes(reader.notes());

  const ProgramOptions other = other_program(options, against);
  auto second =
      load_side(other, against.entry, shared_inputs(options.execution.data, a.entry), reporter);
  if (const Exit* status = std::get_if<Exit>(&second)) return *status;
  const LoadedSide& b = std::get<LoadedSide>(second);
  Result<std::vector<HostTensor>> others =
      inputs_from({a.entry, side_name(options.program, a.entry)}, *tensors,
                  {b.entry, side_name(other, b.entry)});
  if (!others) return reporter.fail(others.error());

  const FormulaResult ours = run_checked(a, options, *ring, *tensors);
  if (ours.failure) return reporter.fail(*ours.failure, a.program.source());
  const FormulaResult theirs = run_checked(b, options, *ring, *others);
  if (theirs.failure) return reporter.fail(*theirs.failure, b.program.source());
  reporter.set("entry", a.entry.name);
  reporter.set("against", b.entry.name);
  return compare(ours.run, theirs.run, *ring, reporter);
}

}  // namespace tilevm::vm
