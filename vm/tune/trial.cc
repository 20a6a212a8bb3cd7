#include "vm/tune/trial.h"

#include <algorithm>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "vm/bench/bench_report.h"
#include "vm/text/file.h"

namespace tilevm::vm::tuning {

namespace {

std::string text_of(const boost::json::object& object, const char* key) {
  return std::string(object.at(key).as_string());
}

/// A line that tests/bench/quantized_linear.py writes for tilevm.nn, beside the trials of a device.
bool is_crossover(const boost::json::object& object) {
  const auto* command = object.if_contains("command");
  return command != nullptr && command->as_string() == "crossover";
}

/// Throws what Boost.JSON throws where a member is missing or of another type.
Trial read_object(const boost::json::object& object) {
  Trial trial;
  trial.key = text_of(object, "key");
  trial.point = text_of(object, "point");
  trial.rounds = object.at("rounds").to_number<int>();
  if (!object.at("us").is_null()) trial.us = object.at("us").to_number<double>();
  trial.reason = text_of(object, "reason");
  trial.registers = object.at("registers").to_number<int>();
  trial.spill_bytes = object.at("spill_bytes").to_number<std::int64_t>();
  trial.shared_bytes = object.at("shared_bytes").to_number<std::int64_t>();
  if (!object.at("exact").is_null()) trial.exact = object.at("exact").as_bool();
  if (const auto* defines = object.if_contains("defines")) {
    for (const boost::json::value& define : defines->as_array()) {
      trial.defines.emplace_back(define.as_string());
    }
  }
  return trial;
}

/// What a line of a table says, with what it was measured for.
struct Line {
  Trial trial;
  std::string file;  ///< name of the file without its folders
  Environment environment;
};

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Calls f(line) for each trial. One line may be damaged, by an interrupt.
template <class F>
Status for_each_line(std::istream& file, const std::string& path, F&& f) {
  int number = 0, damaged = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    try {
      const boost::json::object object = boost::json::parse(text).as_object();
      if (is_crossover(object)) continue;
      const boost::json::object& measured = object.at("environment").as_object();
      const auto* name = object.if_contains("file");
      f(Line{read_object(object),
             name == nullptr ? "" : name_of(std::string(name->as_string())),
             {text_of(measured, "device"), text_of(measured, "target"), text_of(measured, "driver"),
              text_of(measured, "compiler")}});
    } catch (const std::exception&) {
      if (file.eof() && is_torn_json(text)) break;  // append_line removes it
      if (++damaged == 1) continue;
      return Error{ErrorKind::usage,
                   fmt::format("`{}`, line {}, is not a result of `tilevm tune`; name another file",
                               path, number)};
    }
  }
  return Done{};
}

Trial read_bench_object(const boost::json::object& object, int status) {
  Trial trial;
  if (const auto* error = object.if_contains("error")) trial.reason = error->as_string();
  const auto* kernels = object.if_contains("kernels");
  if (status != 0 || kernels == nullptr) return trial;
  trial.rounds = object.at("rounds").to_number<int>();
  double sum = 0;
  for (const boost::json::value& each : kernels->as_array()) {
    const boost::json::object& kernel = each.as_object();
    sum += kernel.at("us").at("median").to_number<double>();
    trial.registers = std::max(trial.registers, kernel.at("registers").to_number<int>());
    trial.spill_bytes =
        std::max(trial.spill_bytes, kernel.at("spill_bytes").to_number<std::int64_t>());
    trial.shared_bytes =
        std::max(trial.shared_bytes, kernel.at("shared_bytes").to_number<std::int64_t>());
  }
  trial.us = sum;
  return trial;
}

std::string last_line(const std::string& output) {
  const std::size_t end = output.find_last_not_of('\n');
  if (end == std::string::npos) return {};
  const std::size_t begin = output.rfind('\n', end) + 1;  // npos + 1 is 0
  return output.substr(begin, end + 1 - begin);
}

std::string ending(int status) {
  return status > 128 ? fmt::format("ended by signal {}", status - 128)
                      : fmt::format("ended with status {}", status);
}

}  // namespace

std::string to_line(const Trial& trial, const Environment& environment, const Problem& problem) {
  Json defines = Json::array();
  for (const std::string& define : problem.defines) defines.push(Json(define));
  Json object = Json::object();
  object.set("schema", 1).set("command", "tune").set("key", trial.key);
  object.set("file", problem.file).set("defines", std::move(defines));
  object.set("point", trial.point).set("rounds", trial.rounds);
  object.set("us", trial.us ? Json(*trial.us) : Json()).set("reason", trial.reason);
  object.set("registers", trial.registers).set("spill_bytes", trial.spill_bytes);
  object.set("shared_bytes", trial.shared_bytes);
  object.set("exact", trial.exact ? Json(*trial.exact) : Json());
  object.set("environment", to_json(environment));
  return object.text() + "\n";
}

Result<Trials> read_trials(const std::string& path, const Environment& environment) {
  std::ifstream file(path, std::ios::binary);
  return read_trials(file, path, environment);
}

Result<Trials> read_trials(std::istream& file, const std::string& path,
                           const Environment& environment) {
  Trials trials;
  const Status read = for_each_line(file, path, [&](Line line) {
    if (line.environment != environment) return;
    const std::pair at{line.trial.key, line.trial.rounds};
    trials.insert_or_assign(at, std::move(line.trial));
  });
  if (!read) return read.error();
  return trials;
}

Result<std::vector<std::string>> read_starts(std::istream& file, const std::string& path,
                                             const Problem& problem, std::size_t most) {
  std::map<std::pair<std::string, std::vector<std::string>>, Trial> fastest;
  const Status read = for_each_line(file, path, [&](Line line) {
    Trial& trial = line.trial;
    if (line.file != name_of(problem.file) || !trial.us || trial.exact == false) return;
    const std::pair at{line.environment.device, trial.defines};
    const auto found = fastest.find(at);
    if (found == fastest.end() || *trial.us < *found->second.us) {
      fastest.insert_or_assign(at, std::move(trial));
    }
  });
  if (!read) return read.error();
  std::multimap<std::size_t, std::string, std::greater<>> by_likeness;
  for (const auto& [at, trial] : fastest) {
    const auto shared =
        std::count_if(trial.defines.begin(), trial.defines.end(), [&](const std::string& define) {
          return std::count(problem.defines.begin(), problem.defines.end(), define) > 0;
        });
    by_likeness.emplace(static_cast<std::size_t>(shared), trial.point);
  }
  std::vector<std::string> points;
  for (const auto& [shared, point] : by_likeness) {
    if (points.size() < most) points.push_back(point);
  }
  return points;
}

Trial read_bench(const std::string& output, int status) {
  const std::string last = last_line(output);
  Trial trial;
  try {
    trial = read_bench_object(boost::json::parse(last).as_object(), status);
  } catch (const std::exception&) {
    trial.reason = last;  // it ended before it could answer
  }
  if (!trial.us && trial.reason.empty()) trial.reason = read_refusal(output, status);
  return trial;
}

std::string read_refusal(const std::string& output, int status) {
  const std::string last = last_line(output);
  std::string words = last;
  try {
    const boost::json::object object = boost::json::parse(last).as_object();
    if (object.contains("exact")) return "other bits than the simulator's";
    const auto* error = object.if_contains("error");
    words = error != nullptr
                ? error->as_string()
                : object.at("diagnostics").as_array().at(0).as_object().at("message").as_string();
  } catch (const std::exception&) {
    words = last;
  }
  if (words.empty()) words = last;
  return words.empty() ? ending(status) : words;
}

}  // namespace tilevm::vm::tuning
