// Faults planted into the shipped programs: each must give the one report that is expected of it,
// and the programs as they stand must give none. tests/data/planted_faults.txt says how it is
// written.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "vm/run/vm.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

/// Enough for every program here, and little enough for one that never ends.
constexpr std::uint64_t max_steps = 100'000;

struct PlantedFault {
  std::string fault, program, args, code, line;
  std::vector<std::pair<std::string, std::string>> replacements;
};

std::string read_text(const std::string& path) {
  std::ifstream file(std::string(TILEVM_SOURCE_DIR) + "/" + path);
  REQUIRE_MESSAGE(file, path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

/// What stands before and behind a separator, which must be there.
std::pair<std::string, std::string> split(const std::string& text, const std::string& separator) {
  const std::size_t at = text.find(separator);
  REQUIRE_MESSAGE(at != std::string::npos, text);
  return {text.substr(0, at), text.substr(at + separator.size())};
}

void read_field(PlantedFault& fault, const std::string& key, std::string value) {
  replace_all(value, "\\n", "\n");
  if (key == "fault")
    fault.fault = value;
  else if (key == "program")
    fault.program = value;
  else if (key == "args")
    fault.args = value;
  else if (key == "replace")
    fault.replacements.push_back(split(value, " => "));
  else if (key == "report")
    std::tie(fault.code, fault.line) = split(value, " ");
  else
    FAIL("no field of a planted fault: ", key);
}

std::vector<PlantedFault> planted_faults() {
  std::istringstream lines(read_text("tests/data/planted_faults.txt"));
  std::vector<PlantedFault> faults;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    if (line.empty()) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) faults.emplace_back();
    const auto [key, value] = split(line, ": ");
    read_field(faults.back(), key, value);
  }
  return faults;
}

std::string faulty_text(const PlantedFault& fault) {
  std::string text = read_text("programs/" + fault.program);
  for (const auto& [from, to] : fault.replacements) {
    const std::size_t at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    REQUIRE_MESSAGE(text.find(from, at + 1) == std::string::npos, "stands twice: ", from);
    text.replace(at, from.size(), to);
  }
  return text;
}

/// "CODE: message\n    line" for every report, of checking and of running.
struct Report {
  std::string code, line, message;
};

void add_reports(const Diagnostics& diagnostics, const SourceFile& source,
                 std::vector<Report>& reports) {
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    reports.push_back({to_string(diagnostic.code),
                       std::string(source.line_at(diagnostic.span.begin)), diagnostic.message});
  }
}

std::vector<Report> reports_of(const std::string& name, const std::string& text,
                               const std::string& args) {
  std::vector<std::string> texts;
  std::istringstream words(args);
  for (std::string word; words >> word;) texts.push_back(word);
  const auto defines = parse_defines(texts);
  REQUIRE(defines);
  const Loaded loaded = load(with_includes(std::make_shared<const SourceFile>(name, text),
                                           std::string(TILEVM_SOURCE_DIR) + "/programs/" + name),
                             *defines, {});
  std::vector<Report> reports;
  add_reports(loaded.diagnostics, *loaded.source, reports);
  if (!loaded.program) return reports;
  const auto engine = make_engine("sim", {.max_steps = max_steps});
  const Result<Entry> entry = resolve_entry(*loaded.program, "", {});
  REQUIRE(engine);
  REQUIRE(entry);
  auto tensors = make_tensors(*entry, {});
  REQUIRE(tensors);
  RunReport report;
  const auto failure = (*engine)->run(*loaded.program, *entry, *tensors, report);
  add_reports(report.notes, *loaded.source, reports);
  if (!failure) return reports;
  REQUIRE(std::holds_alternative<Diagnostics>(*failure));
  add_reports(std::get<Diagnostics>(*failure), *loaded.source, reports);
  return reports;
}

std::string describe(const std::vector<Report>& reports) {
  std::string text;
  for (const Report& report : reports) {
    text += "\n" + report.code + ": " + report.message + "\n" + report.line;
  }
  return text;
}

/// The fault's row of the table in docs/results/verified.md.
std::string table_row(const PlantedFault& fault) {
  return "| `" + fault.program + "` | " + fault.fault + " | " + fault.code + " | `" + fault.line +
         "` |\n";
}

}  // namespace

TEST_CASE("a planted fault gives one report, with the expected code and line") {
  const std::vector<PlantedFault> faults = planted_faults();
  CHECK(faults.size() >= 16);
  for (const PlantedFault& fault : faults) {
    CAPTURE(fault.program);
    CAPTURE(fault.fault);
    const auto reports = reports_of(fault.program, faulty_text(fault), fault.args);
    CHECK_MESSAGE(reports.size() == 1, describe(reports));
    if (reports.empty()) continue;
    CHECK_MESSAGE(reports[0].code == fault.code, describe(reports));
    CHECK_MESSAGE(reports[0].line.find(fault.line) != std::string::npos, describe(reports));
  }
}

TEST_CASE("programs without a planted fault give no report") {
  for (const PlantedFault& fault : planted_faults()) {
    CAPTURE(fault.program);
    const auto reports =
        reports_of(fault.program, read_text("programs/" + fault.program), fault.args);
    CHECK_MESSAGE(reports.empty(), describe(reports));
  }
}

TEST_CASE("the table of planted faults is in the documentation") {
  const std::string document = read_text("docs/results/verified.md");
  std::string table;
  for (const PlantedFault& fault : planted_faults()) table += table_row(fault);
  CHECK_MESSAGE(document.find(table) != std::string::npos, "docs/results/verified.md misses\n",
                table);
}
