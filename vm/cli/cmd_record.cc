#include <algorithm>
#include <chrono>
#include <ostream>

#include <fmt/format.h>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/fidelity/case_record.h"
#include "vm/fidelity/page_tables.h"
#include "vm/fidelity/record.h"
#include "vm/fidelity/report.h"
#include "vm/text/choice.h"
#include "vm/text/file.h"
#include "vm/text/table.h"

namespace tilevm::vm {

namespace {

using fidelity::Case;
using fidelity::CaseRecord;
using fidelity::Outcome;
using Seconds = std::chrono::duration<double>;

/// The programs of cases break no rule, so that checks would only take time.
constexpr sim::Checks no_checks{false, false, false, false, false, false, false};

struct BothEngines {
  std::unique_ptr<Engine> device, simulator;
  isa::Target target;
};

Result<BothEngines> make_engines(const RecordOptions& options) {
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.checks = no_checks;
  Result<std::unique_ptr<Engine>> device = make_engine(options.backend, engine_options);
  if (!device) return device.error();
  Result<std::unique_ptr<Engine>> simulator = make_engine("sim", engine_options);
  if (!simulator) return simulator.error();
  const Result<isa::Target> target =
      isa::parse_target(options.target.empty() ? target_for(**device) : options.target);
  if (!target) return Error{ErrorKind::usage, target.error().message};
  return BothEngines{*std::move(device), *std::move(simulator), *target};
}

/// What a case costs, roughly: its outputs, and compiling its program.
double weight(const Case& each, std::int64_t blocks) {
  return 2e7 + static_cast<double>(each.outputs(blocks)) * static_cast<double>(each.results.size());
}

std::string duration_text(double seconds) {
  return seconds < 100 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

/// Cases one after another.
class Recorder {
 public:
  Recorder(const RecordOptions& options, BothEngines engines, Io& io)
      : options_(options), engines_(std::move(engines)), io_(io) {}

  Exit run(const std::vector<Case>& cases, const std::vector<CaseRecord>& known) {
    std::vector<const Case*> wanted;
    for (const Case& each : cases) {
      const bool there = std::any_of(known.begin(), known.end(),
                                     [&](const CaseRecord& record) { return says(record, each); });
      if (there && !options_.force) continue;
      wanted.push_back(&each);
      remaining_ += weight(each, blocks(each));
    }
    if (wanted.size() < cases.size()) {
      io_.err << fmt::format("{} of {} cases are in `{}` already; --force repeats them\n",
                             cases.size() - wanted.size(), cases.size(), options_.output);
    }
    Exit worst = Exit::ok;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (options_.time_limit && elapsed() >= *options_.time_limit) {
        io_.err << fmt::format("stopped at the time limit with {} of {} cases done\n", i,
                               wanted.size());
        return worst == Exit::fault ? worst : Exit::limit;
      }
      const Result<bool> exact = run_case(*wanted[i], i + 1, wanted.size());
      if (!exact) return fail(io_, exact.error());
      if (!*exact) worst = Exit::fault;
    }
    return worst;
  }

 private:
  [[nodiscard]] std::int64_t blocks(const Case& each) const {
    return each.blocks(fidelity::parse_size(options_.size));
  }
  [[nodiscard]] double elapsed() const {
    return Seconds(std::chrono::steady_clock::now() - start_).count();
  }

  /// Whether a record says what running a case would say.
  [[nodiscard]] bool says(const CaseRecord& record, const Case& each) const {
    return record.name == each.name && record.device == engines_.device->device() &&
           record.target == isa::to_string(engines_.target) && record.exact() &&
           record.outputs >= each.outputs(blocks(each)) &&
           record.outcomes.size() == each.results.size();
  }

  /// Whether all results are exact.
  Result<bool> run_case(const Case& each, std::size_t number, std::size_t count) {
    const double begin = elapsed();
    Result<std::vector<Outcome>> outcomes = fidelity::compare_case(
        each, engines_.target, options_.seed, blocks(each), *engines_.device, *engines_.simulator);
    if (!outcomes) {
      return Error{outcomes.error().kind, each.name + ": " + outcomes.error().message};
    }
    const CaseRecord record = make_record(each, *std::move(outcomes));
    const std::string line = format_record(record);
    if (options_.output.empty()) {
      io_.out << line << std::flush;
    } else if (Status s = append_line(options_.output, line); !s) {
      return s.error();
    }
    const double work = weight(each, blocks(each));
    remaining_ -= work;
    done_ += work;
    report(each, record, fmt::format("[{}/{}]", number, count), elapsed() - begin);
    return record.exact();
  }

  CaseRecord make_record(const Case& each, std::vector<Outcome> outcomes) const {
    CaseRecord record;
    record.name = each.name;
    record.target = isa::to_string(engines_.target);
    record.size = options_.size;
    record.seed = options_.seed;
    record.outputs = each.outputs(blocks(each));
    record.outcomes = std::move(outcomes);
    record.backend = engines_.device->name();
    record.device = engines_.device->device();
    record.driver = engines_.device->driver();
    record.compiler = compiler_of(*engines_.device);
    return record;
  }

  void report(const Case& each, const CaseRecord& record, const std::string& progress,
              double seconds) {
    io_.err << fmt::format("{} {}: {} x {} outputs, {}, {:.1f} s; {} left\n", progress, each.name,
                           each.results.size(), record.outputs,
                           record.exact() ? paint("exact", Style::green, io_.color_err)
                                          : paint("different", Style::red, io_.color_err),
                           seconds, duration_text(remaining_ * elapsed() / done_));
    for (const Outcome& outcome : record.outcomes) {
      if (outcome.different == 0) continue;
      io_.err << fmt::format("  {}: {} elements differ, the first {}\n", outcome.name,
                             outcome.different, outcome.first);
    }
  }

  const RecordOptions& options_;
  BothEngines engines_;
  Io& io_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double remaining_ = 0, done_ = 0;
};

Exit show_report(const std::vector<std::string>& files, Io& io) {
  std::vector<CaseRecord> records;
  for (const std::string& file : files) {
    Result<std::vector<CaseRecord>> read = fidelity::read_records(file);
    if (!read) return fail(io, read.error());
    if (read->empty()) {
      return fail(io, {ErrorKind::usage, fmt::format("`{}` has no records", file)});
    }
    records.insert(records.end(), read->begin(), read->end());
  }
  io.out << fidelity::markdown_report(records);
  return Exit::ok;
}

bool is_asked_for(const Case& each, const std::string& text) {
  return each.name.find(text) != std::string::npos ||
         std::any_of(each.results.begin(), each.results.end(),
                     [&](const auto& result) { return result.name == text; });
}

/// The numbers in brackets of the cells, each once: "1" of "published [1]".
std::vector<std::string> numbers_in(const std::vector<fidelity::PageTable>& tables) {
  std::vector<std::string> numbers;
  for (const fidelity::PageTable& table : tables) {
    for (const auto& row : table.rows) {
      for (const std::string& cell : row) {
        const std::size_t open = cell.find('['), close = cell.find(']', open);
        if (close == std::string::npos) continue;
        const std::string number = cell.substr(open + 1, close - open - 1);
        if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
      }
    }
  }
  return numbers;
}

Json tables_json(const std::vector<fidelity::PageTable>& tables) {
  Json list = Json::array();
  for (const fidelity::PageTable& table : tables) {
    for (const auto& row : table.rows) {
      Json item = Json::object();
      item.set("table", table.title);
      for (std::size_t c = 0; c < row.size(); ++c) item.set(table.heads[c], row[c]);
      list.push(std::move(item));
    }
  }
  return list;
}

}  // namespace

Exit fidelity_tables(const FidelityOptions& options, Io& io) {
  Reporter reporter(io, "fidelity", options.json);
  const auto tables = fidelity::select_rows(fidelity::tables_of(fidelity::embedded_page),
                                            options.words, options.architecture);
  if (tables.empty()) {
    return reporter.fail(Error{
        ErrorKind::usage,
        fmt::format("no row has `{}`{}; `tilevm fidelity` shows all", fmt::join(options.words, " "),
                    options.architecture.empty()
                        ? ""
                        : fmt::format(" and a column `{}`", options.architecture))});
  }
  reporter.set("rows", tables_json(tables));
  Json sources = Json::object();
  std::string text;
  for (const fidelity::PageTable& table : tables) {
    Table lines;
    lines.add(table.heads);
    for (const auto& row : table.rows) lines.add(row);
    text += fmt::format("{}\n{}\n", table.title, lines.text());
  }
  for (const std::string& number : numbers_in(tables)) {
    const std::string source = fidelity::source_of(fidelity::embedded_page, number);
    sources.set(number, source);
    text += fmt::format("[{}] {}\n", number, source);
  }
  reporter.set("sources", std::move(sources));
  if (!options.json) io.out << text;
  return reporter.finish(Exit::ok);
}

Exit record(const RecordOptions& options, Io& io) {
  if (!options.report.empty()) return show_report(options.report, io);
  if (Status s = check_choice("size", options.size, fidelity::size_names()); !s) {
    return fail(io, s.error());
  }
  std::vector<CaseRecord> known;
  if (!options.output.empty()) {
    Result<std::vector<CaseRecord>> read = fidelity::read_records(options.output);
    if (!read) return fail(io, read.error());
    known = *std::move(read);
  }
  Result<BothEngines> engines = make_engines(options);
  if (!engines) return fail(io, engines.error());
  std::vector<Case> cases = fidelity::make_cases(engines->target);
  std::erase_if(cases, [&](const Case& each) { return !is_asked_for(each, options.only); });
  if (cases.empty()) {
    return fail(io,
                {ErrorKind::usage,
                 fmt::format("--only `{}` names no case; \"Dot\", \"Cast f16\" do", options.only)});
  }
  return Recorder(options, *std::move(engines), io).run(cases, known);
}

}  // namespace tilevm::vm
