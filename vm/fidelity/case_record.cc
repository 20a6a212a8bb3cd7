#include "vm/fidelity/case_record.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "vm/text/file.h"
#include "vm/text/json.h"
#include "vm/text/json_line.h"

namespace tilevm::vm::fidelity {

namespace {

/// Throws what Boost.JSON throws where a member is missing or of another type.
CaseRecord read_object(const boost::json::object& object) {
  const auto text = [&](const char* key) { return std::string(object.at(key).as_string()); };
  CaseRecord record;
  record.name = text("case");
  record.target = text("target");
  record.size = text("size");
  record.seed = object.at("seed").to_number<std::uint64_t>();
  record.outputs = object.at("outputs").to_number<std::uint64_t>();
  for (const auto& [name, hash] : object.at("hashes").as_object()) {
    record.outcomes.push_back({std::string(name), std::string(hash.as_string()), 0, {}});
  }
  const boost::json::object& different = object.at("different").as_object();
  for (Outcome& outcome : record.outcomes) {
    const auto* found = different.if_contains(outcome.name);
    if (found == nullptr) continue;
    outcome.different = found->as_object().at("elements").to_number<std::uint64_t>();
    outcome.first = std::string(found->as_object().at("first").as_string());
  }
  record.backend = text("backend");
  record.device = text("device");
  record.driver = text("driver");
  record.compiler = text("compiler");
  return record;
}

/// Replaces an older record that says no more.
void merge(std::vector<CaseRecord>& records, CaseRecord record) {
  const auto same = std::find_if(records.begin(), records.end(), [&](const CaseRecord& other) {
    return other.name == record.name && other.device == record.device;
  });
  if (same == records.end()) {
    records.push_back(std::move(record));
  } else if (record.outputs >= same->outputs || !record.exact()) {
    *same = std::move(record);
  }
}

}  // namespace

bool CaseRecord::exact() const {
  return std::all_of(outcomes.begin(), outcomes.end(),
                     [](const Outcome& outcome) { return outcome.different == 0; });
}

std::string format_record(const CaseRecord& record) {
  Json hashes = Json::object(), different = Json::object();
  for (const Outcome& outcome : record.outcomes) {
    hashes.set(outcome.name, outcome.hash);
    if (outcome.different == 0) continue;
    Json object = Json::object();
    object.set("elements", outcome.different).set("first", outcome.first);
    different.set(outcome.name, std::move(object));
  }
  Json object = Json::object();
  object.set("schema", 1).set("case", record.name).set("target", record.target);
  object.set("size", record.size).set("seed", record.seed).set("outputs", record.outputs);
  object.set("hashes", std::move(hashes)).set("different", std::move(different));
  object.set("backend", record.backend).set("device", record.device);
  object.set("driver", record.driver).set("compiler", record.compiler);
  return object.text() + '\n';
}

Result<CaseRecord> parse_case_record(const std::string& line) {
  return read_json_line(line, "no record of a case", read_object);
}

Result<std::vector<CaseRecord>> read_records(const std::string& path) {
  std::vector<CaseRecord> records;
  std::ifstream lines(path);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    Result<CaseRecord> record = parse_case_record(line);
    if (!record && lines.eof() && is_torn_json(line)) break;  // append_line removes it
    if (!record) {
      return Error{ErrorKind::program,
                   fmt::format("{}:{}: {}", path, number, record.error().message)};
    }
    merge(records, *std::move(record));
  }
  return records;
}

}  // namespace tilevm::vm::fidelity
