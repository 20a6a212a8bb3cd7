// Formulas of programs: `tilevm run --ring`, `tilevm diff --ring` and `tilevm prove`.
#include <algorithm>
#include <cctype>
#include <ostream>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/ring/batch.h"
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

/// Loads the program for sizes, and shows what is wrong with it.
class Loader {
 public:
  Loader(const ProveOptions& options, const BatchRange& range,
         std::shared_ptr<const SourceFile> source, Reporter& reporter)
      : options_(options), range_(range), source_(std::move(source)), reporter_(reporter) {}

  [[nodiscard]] Exit status() const { return status_; }

  std::optional<BatchCase> load(std::int64_t size) {
    ProgramOptions sized = options_.program;
    sized.defines.push_back(fmt::format("{}={}", range_.name, size));
    Result<Loaded> loaded = load_source(source_, sized, std::string(default_target));
    if (!loaded) return fail(loaded.error());
    if (!loaded->program) {
      reporter_.diagnostics(loaded->diagnostics, *loaded->source);
      status_ = reporter_.finish(exit_of(loaded->diagnostics));
      return std::nullopt;
    }
    Result<Entry> entry =
        resolve_entry(*loaded->program, options_.execution.entry, options_.execution.data);
    if (!entry) return fail(entry.error());
    return BatchCase{*std::move(loaded->program), *std::move(entry), size};
  }

 private:
  std::optional<BatchCase> fail(const Error& error) {
    status_ = reporter_.fail(error);
    return std::nullopt;
  }

  const ProveOptions& options_;
  const BatchRange& range_;
  std::shared_ptr<const SourceFile> source_;
  Reporter& reporter_;
  Exit status_ = Exit::ok;
};

Exit show_failure(const BatchRange& range, const BatchFailure& failure, const SourceFile& source,
                  Reporter& reporter) {
  if (!failure.program) return reporter.fail(*failure.failure, source);
  if (!reporter.json()) {
    reporter.io().err << fmt::format("with {}={}:\n", range.name, failure.size);
  }
  reporter.set("size", failure.size);
  return reporter.fail(*failure.failure, failure.program->source());
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

Exit prove(const ProveOptions& options, Io& io) {
  Reporter reporter(io, "prove", options.json);
  reporter.set("file", options.program.file);
  if (options.batch.empty()) {
    return reporter.fail(Error{ErrorKind::usage, "say what to prove: --batch-invariant M=1..64"});
  }
  const Result<BatchRange> range = parse_batch(options.batch);
  if (!range) return reporter.fail(range.error());
  const Result<std::shared_ptr<const SourceFile>> source = open_program(options.program, io);
  if (!source) return reporter.fail(source.error());
  Loader loader(options, *range, *source, reporter);
  const LoadBatch load = [&](std::int64_t size) { return loader.load(size); };
  DataReader reader = data_reader(options.execution, options.program, io);
  const FillBatch fill = [&](const Entry& entry) {
    return make_tensors(entry, {options.execution.seed, options.execution.wild}, reader);
  };
  const auto result = prove_batch(*range, load, fill);
  if (const auto* failure = std::get_if<BatchFailure>(&result)) {
    return failure->failure ? show_failure(*range, *failure, **source, reporter) : loader.status();
  }
  reporter.notes(reader.notes());
  const BatchProof& proof = std::get<BatchProof>(result);
  reporter.set("batch", batch_json(*range, proof));
  if (!options.json) io.out << batch_text(*range, proof);
  return reporter.finish(proof.holds() ? Exit::ok : Exit::fault);
}

}  // namespace tilevm::vm
