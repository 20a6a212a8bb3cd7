#include <algorithm>
#include <charconv>
#include <ostream>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/data/compare.h"
#include "vm/data/hash.h"
#include "vm/fidelity/record.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

struct Seeds {
  std::uint64_t first = 0, last = 0;
};

/// "A..B" with A <= B, or one number.
Result<Seeds> parse_seeds(const std::string& text) {
  const auto number = [](std::string_view part) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    const bool whole = error == std::errc{} && end == part.data() + part.size();
    return whole ? std::optional(value) : std::nullopt;
  };
  const std::size_t dots = text.find("..");
  const std::string_view all = text;
  const std::optional<std::uint64_t> first = number(all.substr(0, dots));
  const std::optional<std::uint64_t> last =
      dots == std::string::npos ? first : number(all.substr(dots + 2));
  if (first && last && *first <= *last && *last - *first < 1'000'000) return Seeds{*first, *last};
  return Error{
      ErrorKind::usage,
      fmt::format("--seeds `{}` is no range: write A..B with A <= B, at most a million", text)};
}

struct Engines {
  std::unique_ptr<Engine> a, b;
};

Result<Engines> make_engines(const DiffOptions& options) {
  const std::size_t comma = options.backends.find(',');
  if (comma == std::string::npos || options.backends.find(',', comma + 1) != std::string::npos) {
    return Error{ErrorKind::usage,
                 fmt::format("--backends `{}` does not name two: write A,B", options.backends)};
  }
  const EngineOptions engine_options{options.execution.threads};
  Result<std::unique_ptr<Engine>> a =
      make_engine(options.backends.substr(0, comma), engine_options);
  if (!a) return a.error();
  Result<std::unique_ptr<Engine>> b =
      make_engine(options.backends.substr(comma + 1), engine_options);
  if (!b) return b.error();
  return Engines{*std::move(a), *std::move(b)};
}

/// One program, one entry, two engines.
class Differ {
 public:
  Differ(const isa::VerifiedProgram& program, const Entry& entry, const Engines& engines,
         const DiffOptions& options, Reporter& reporter)
      : program_(program),
        entry_(entry),
        engines_(engines),
        options_(options),
        reporter_(reporter) {}

  /// Runs and compares every seed; the worst of their statuses.
  Exit run(const Seeds& seeds) {
    Exit worst = Exit::ok;
    for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
      const Exit status = run_seed(seed, seeds.first != seeds.last);
      if (failed_) return status;
      worst = std::max(worst, status);
    }
    reporter_.set("backends", Json::array().push(engines_.a->name()).push(engines_.b->name()));
    reporter_.set("device", engines_.b->device());
    reporter_.set("results", std::move(results_));
    reporter_.set("prints", std::move(prints_));
    reporter_.set("exact", worst == Exit::ok);
    return reporter_.finish(worst);
  }

 private:
  Exit stop(Exit status) {
    failed_ = true;
    return status;
  }

  Exit run_seed(std::uint64_t seed, bool several) {
    Result<std::vector<HostTensor>> a = make_tensors(entry_, {seed, options_.execution.wild});
    if (!a) return stop(reporter_.fail(a.error()));
    std::vector<HostTensor> b = *a;
    RunReport report_a, report_b;
    for (const auto& [engine, tensors, report] :
         {std::tuple{engines_.a.get(), &*a, &report_a}, {engines_.b.get(), &b, &report_b}}) {
      if (const auto failure = engine->run(program_, entry_, *tensors, *report)) {
        return stop(reporter_.fail(*failure, program_.source()));
      }
    }
    const Exit prints = compare_prints(report_a.prints, report_b.prints, seed, several);
    const Exit status = std::max(prints, compare_outputs(*a, b, seed, several));
    if (!options_.record.empty()) {
      if (Status s = record(b, seed); !s) return stop(reporter_.fail(s.error()));
    }
    return status;
  }

  /// Says nothing of programs that print nothing.
  Exit compare_prints(const Prints& a, const Prints& b, std::uint64_t seed, bool several) {
    if (a.empty() && b.empty()) return Exit::ok;
    const std::optional<PrintDifference> difference = vm::compare_prints(program_, a, b);
    const std::size_t count = count_prints(program_, a);
    Json object = Json::object();
    object.set("seed", seed).set("exact", !difference).set("count", count);
    if (difference) object.set("a", difference->a).set("b", difference->b);
    prints_.push(std::move(object));
    if (reporter_.json()) return difference ? Exit::fault : Exit::ok;
    Io& io = reporter_.io();
    if (several) io.out << fmt::format("seed {}: ", seed);
    io.out << fmt::format("prints: {}", difference ? paint("different", Style::red, io.color_out)
                                                   : paint("exact", Style::green, io.color_out));
    if (!difference) {
      io.out << fmt::format(" ({})\n", count);
      return Exit::ok;
    }
    io.out << fmt::format("; the first in {}:\n{}and in {}:\n{}", engines_.a->name(), difference->a,
                          engines_.b->name(), difference->b);
    return Exit::fault;
  }

  Exit compare_outputs(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b,
                       std::uint64_t seed, bool several) {
    Exit status = Exit::ok;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Entry::Tensor& tensor = entry_.tensors[i];
      if (!tensor.output) continue;
      const Comparison comparison = compare(a[i], b[i]);
      if (comparison.different > 0) status = Exit::fault;
      const std::string prefix = several ? fmt::format("seed {}: ", seed) : std::string();
      if (!reporter_.json()) show(prefix + tensor.name, a[i], comparison);
      results_.push(to_json(tensor.name, seed, a[i], b[i], comparison));
    }
    return status;
  }

  void show(const std::string& name, const HostTensor& a, const Comparison& comparison) {
    Io& io = reporter_.io();
    if (comparison.different == 0) {
      io.out << fmt::format("{}: {} ({} elements, hash {})\n", name,
                            paint("exact", Style::green, io.color_out), comparison.elements,
                            format_hash(content_hash(a)));
      return;
    }
    io.out << fmt::format("{}: {}, {} of {} elements ({} against {})\n", name,
                          paint("different", Style::red, io.color_out), comparison.different,
                          comparison.elements, engines_.a->name(), engines_.b->name());
    io.out << "  first " << format_difference(a, *comparison.first) << '\n';
    io.out << "  worst " << format_difference(a, *comparison.worst) << '\n';
  }

  static Json difference_json(const HostTensor& tensor, const Difference& difference) {
    Json object = Json::object();
    object.set("index", format_index(tensor.shape, difference.index));
    object.set("a", fmt::format("0x{:x}", difference.a));
    object.set("b", fmt::format("0x{:x}", difference.b));
    object.set("ulps", difference.ulps == infinitely_far ? Json("nan") : Json(difference.ulps));
    return object;
  }

  static Json to_json(const std::string& name, std::uint64_t seed, const HostTensor& a,
                      const HostTensor& b, const Comparison& comparison) {
    Json object = Json::object();
    object.set("name", name).set("seed", seed).set("exact", comparison.different == 0);
    object.set("elements", comparison.elements).set("different", comparison.different);
    object.set("hash_a", format_hash(content_hash(a)));
    object.set("hash_b", format_hash(content_hash(b)));
    if (comparison.first) {
      object.set("first", difference_json(a, *comparison.first));
      object.set("worst", difference_json(a, *comparison.worst));
    }
    return object;
  }

  Status record(const std::vector<HostTensor>& tensors, std::uint64_t seed) const {
    Record line;
    line.file = options_.program.file;
    line.entry = entry_.name;
    line.target = isa::to_string(program_.target());
    line.defines = options_.program.defines;
    line.inputs = options_.execution.data.inputs;
    line.seed = seed;
    line.wild = options_.execution.wild;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!entry_.tensors[i].output) continue;
      line.outputs.emplace_back(entry_.tensors[i].name, format_hash(content_hash(tensors[i])));
    }
    line.backend = engines_.b->name();
    line.device = engines_.b->device();
    line.driver = engines_.b->driver();
    line.compiler = compiler_of(*engines_.b);
    return append_line(options_.record, format_record(line));
  }

  const isa::VerifiedProgram& program_;
  const Entry& entry_;
  const Engines& engines_;
  const DiffOptions& options_;
  Reporter& reporter_;
  Json results_ = Json::array(), prints_ = Json::array();
  bool failed_ = false;
};

/// What the options alone can be wrong in.
Result<Seeds> check_options(const DiffOptions& options) {
  if (options.bisect) {
    return Error{ErrorKind::usage,
                 "--bisect is not in this version; the report names the first "
                 "and the worst element that differ"};
  }
  if (!options.record.empty() && options.program.file == "-") {
    return Error{ErrorKind::usage, "--record needs a program in a file, not standard input"};
  }
  if (options.seeds.empty()) return Seeds{options.execution.seed, options.execution.seed};
  return parse_seeds(options.seeds);
}

}  // namespace

Exit diff(const DiffOptions& options, Io& io) {
  Reporter reporter(io, "diff", options.json);
  reporter.set("file", options.program.file);
  const Result<Seeds> seeds = check_options(options);
  if (!seeds) return reporter.fail(seeds.error());
  Result<std::shared_ptr<const SourceFile>> source = read_source(options.program.file, io.in);
  if (!source) return reporter.fail(source.error());
  Result<Engines> engines = make_engines(options);
  if (!engines) return reporter.fail(engines.error());
  const Engine& decides = engines->a->target() ? *engines->a : *engines->b;
  Result<Loaded> loaded = load_source(*source, options.program, target_for(decides));
  if (!loaded) return reporter.fail(loaded.error());
  reporter.diagnostics(loaded->diagnostics, **source);
  if (!loaded->program) return reporter.finish(exit_of(loaded->diagnostics));
  const Result<Entry> entry =
      resolve_entry(*loaded->program, options.execution.entry, options.execution.data);
  if (!entry) return reporter.fail(entry.error());
  reporter.set("entry", entry->name);
  reporter.set("target", isa::to_string(loaded->program->target()));
  return Differ(*loaded->program, *entry, *engines, options, reporter).run(*seeds);
}

}  // namespace tilevm::vm
