#include "vm/fidelity/record.h"

#include <sstream>

#include <fmt/format.h>
#include <boost/json/src.hpp>  // Boost.JSON is compiled here and nowhere else

#include "isa/base/render.h"
#include "vm/data/hash.h"
#include "vm/text/json.h"
#include "vm/text/json_line.h"

namespace tilevm::vm {

namespace {

Json strings(const std::vector<std::string>& items) {
  Json list = Json::array();
  for (const std::string& item : items) list.push(item);
  return list;
}

std::string text_of(const boost::json::object& object, const char* key) {
  return std::string(object.at(key).as_string());
}

std::vector<std::string> texts_of(const boost::json::object& object, const char* key) {
  std::vector<std::string> texts;
  for (const boost::json::value& item : object.at(key).as_array()) {
    texts.emplace_back(item.as_string());
  }
  return texts;
}

/// Throws what Boost.JSON throws where a member is missing or of another type.
Record read_object(const boost::json::object& object) {
  Record record;
  record.file = text_of(object, "file");
  record.entry = text_of(object, "entry");
  record.target = text_of(object, "target");
  record.defines = texts_of(object, "defines");
  record.inputs = texts_of(object, "inputs");
  record.seed = object.at("seed").to_number<std::uint64_t>();
  record.wild = object.at("wild").as_bool();
  for (const auto& [name, hash] : object.at("outputs").as_object()) {
    record.outputs.emplace_back(std::string(name), std::string(hash.as_string()));
  }
  record.backend = text_of(object, "backend");
  record.device = text_of(object, "device");
  record.driver = text_of(object, "driver");
  record.compiler = text_of(object, "compiler");
  return record;
}

/// The hashes of the outputs against the recorded ones.
std::optional<std::string> differences(const Record& record, const Entry& entry,
                                       const std::vector<HostTensor>& tensors) {
  for (const auto& [name, hash] : record.outputs) {
    std::string seen = "no such output";
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Entry::Tensor& tensor = entry.tensors[i];
      if (tensor.output && tensor.name == name) seen = format_hash(content_hash(tensors[i]));
    }
    if (seen != hash) {
      return fmt::format("`{}`: recorded {} on {}, now {}", name, hash, record.device, seen);
    }
  }
  return std::nullopt;
}

std::string failure_text(const Failure& failure, const SourceFile& source) {
  if (const auto* error = std::get_if<Error>(&failure)) return error->message;
  return render(std::get<Diagnostics>(failure), source, false);
}

}  // namespace

std::string format_record(const Record& record) {
  Json outputs = Json::object();
  for (const auto& [name, hash] : record.outputs) outputs.set(name, hash);
  Json object = Json::object();
  object.set("schema", 1).set("file", record.file).set("entry", record.entry);
  object.set("target", record.target).set("defines", strings(record.defines));
  object.set("inputs", strings(record.inputs)).set("seed", record.seed).set("wild", record.wild);
  object.set("outputs", std::move(outputs)).set("backend", record.backend);
  object.set("device", record.device).set("driver", record.driver);
  object.set("compiler", record.compiler);
  return object.text() + '\n';
}

Result<Record> parse_record(const std::string& line) {
  return read_json_line(line, "no record of a run", read_object);
}

std::string compiler_of(const Engine& engine) {
  const std::string compiler = engine.compiler();
  return compiler.substr(0, compiler.find(" ("));
}

std::optional<std::string> replay(const Record& record, const std::string& root, Engine& engine) {
  std::istringstream none;
  Result<std::shared_ptr<const SourceFile>> source = read_program(root + "/" + record.file, none);
  if (!source) return source.error().message;
  const Result<isa::Target> target = isa::parse_target(record.target);
  if (!target) return target.error().message;
  const Result<std::vector<frontend::Define>> defines = parse_defines(record.defines);
  if (!defines) return defines.error().message;
  const Loaded loaded = load(*source, *defines, *target);
  if (!loaded.program) return render(loaded.diagnostics, *loaded.source, false);
  const Result<Entry> entry = resolve_entry(*loaded.program, record.entry, {record.inputs, {}});
  if (!entry) return entry.error().message;
  Result<std::vector<HostTensor>> tensors = make_tensors(*entry, {record.seed, record.wild});
  if (!tensors) return tensors.error().message;
  RunReport report;
  const std::optional<Failure> failure = engine.run(*loaded.program, *entry, *tensors, report);
  if (failure) return failure_text(*failure, *loaded.source);
  return differences(record, *entry, *tensors);
}

}  // namespace tilevm::vm
