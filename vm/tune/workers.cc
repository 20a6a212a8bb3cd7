#include "vm/tune/workers.h"

#include <algorithm>

#include <fmt/format.h>

#include "vm/tune/inputs.h"

namespace tilevm::vm::tuning {

namespace {

/// For one process, with its wait for the others.
constexpr std::chrono::minutes patience{5};

void add_defines(std::vector<std::string>& arguments,
                 const std::vector<frontend::Define>& defines) {
  for (const frontend::Define& define : defines) {
    arguments.insert(arguments.end(), {"-D", define.name + "=" + define.value});
  }
}

/// `defines`, with the values of `overrides` for the names that these have.
std::vector<frontend::Define> overridden(std::vector<frontend::Define> defines,
                                         const std::vector<frontend::Define>& overrides) {
  std::erase_if(defines, [&](const frontend::Define& define) {
    return std::any_of(overrides.begin(), overrides.end(),
                       [&](const frontend::Define& other) { return other.name == define.name; });
  });
  defines.insert(defines.end(), overrides.begin(), overrides.end());
  return defines;
}

void add_each(std::vector<std::string>& arguments, const std::string& option,
              const std::vector<std::string>& values) {
  for (const std::string& value : values) arguments.insert(arguments.end(), {option, value});
}

bool is_killed(const Result<backend::ProcessResult>& ended, Clock::time_point deadline) {
  return !ended && ended.error().kind == ErrorKind::limit && Clock::now() >= deadline;
}

}  // namespace

std::vector<frontend::Define> Workers::defines_of(const Candidate& candidate) const {
  return overridden(settings_.fixed, candidate.point);
}

Result<backend::ProcessResult> Workers::start(std::vector<std::string> arguments,
                                              Clock::time_point deadline) const {
  return backend::run_process({.program = settings_.worker,
                               .arguments = std::move(arguments),
                               .folder = folder_,
                               .dropped_variables = {},
                               .deadline = std::min(deadline, Clock::now() + patience)});
}

std::optional<Trial> Workers::time(const Candidate& candidate, bool refuse_spills,
                                   Clock::time_point deadline) const {
  std::vector<std::string> arguments = {"bench",
                                        settings_.file,
                                        "--json",
                                        "--no-peak",
                                        "--no-check",
                                        "--repeat",
                                        fmt::format("{}", settings_.rounds),
                                        "--lock",
                                        lock()};
  if (refuse_spills) arguments.emplace_back("--refuse-spills");
  if (!settings_.entry.empty()) arguments.insert(arguments.end(), {"--entry", settings_.entry});
  if (!settings_.kernel.empty()) {
    arguments.insert(arguments.end(), {"--kernel", settings_.kernel});
  }
  add_each(arguments, "--in", settings_.inputs);
  add_each(arguments, "-I", settings_.folders);
  add_defines(arguments, defines_of(candidate));
  const Result<backend::ProcessResult> ended = start(std::move(arguments), deadline);
  if (is_killed(ended, deadline)) return std::nullopt;
  Trial trial = ended ? read_bench(ended->output, ended->exit_status) : Trial{};
  if (!ended) trial.reason = ended.error().message;
  trial.key = candidate.key;
  trial.point = to_string(candidate.point);
  trial.rounds = settings_.rounds;
  return trial;
}

std::optional<Workers::Proof> Workers::prove(const Candidate& candidate,
                                             Clock::time_point deadline) const {
  std::vector<std::string> arguments = {"diff", settings_.file, "--seeds", "0..4", "--json"};
  if (!settings_.entry.empty()) arguments.insert(arguments.end(), {"--entry", settings_.entry});
  add_each(arguments, "--in", inputs_of_proof(settings_.inputs, !settings_.reduced.empty()));
  add_each(arguments, "-I", settings_.folders);
  add_defines(arguments, overridden(defines_of(candidate), settings_.reduced));
  const Result<backend::ProcessResult> ended = start(std::move(arguments), deadline);
  if (is_killed(ended, deadline)) return std::nullopt;
  if (ended && ended->exit_status == 0) return Proof{true, {}};
  return Proof{
      false, "not proved on the reduced problem: " +
                 (ended ? read_refusal(ended->output, ended->exit_status) : ended.error().message)};
}

}  // namespace tilevm::vm::tuning
