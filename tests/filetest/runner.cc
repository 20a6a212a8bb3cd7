#include "tests/filetest/runner.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/print/print.h"
#include "frontend/syntax/grammar.h"
#include "vm/data/hash.h"
#include "vm/run/shadow.h"

namespace tilevm::filetest {

namespace {

/// The options of a case.
struct Arguments {
  std::vector<std::string> defines;
  vm::DataOptions data;
  vm::Seeding seeding;
  std::string entry;
  std::string target = "sm_90";
  bool shadow = false;
};

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--wild") {
      arguments.seeding.wild = true;
      continue;
    }
    if (word == "--shadow") {
      arguments.shadow = true;
      continue;
    }
    if (word.starts_with("-D") && word.size() > 2) {
      arguments.defines.push_back(word.substr(2));
      continue;
    }
    if (++i == words.size()) return Error{ErrorKind::usage, word + " needs a value"};
    if (word == "-D") {
      arguments.defines.push_back(words[i]);
    } else if (word == "--in") {
      arguments.data.inputs.push_back(words[i]);
    } else if (word == "--entry") {
      arguments.entry = words[i];
    } else if (word == "--target") {
      arguments.target = words[i];
    } else if (word == "--seed") {
      arguments.seeding.seed = std::strtoull(words[i].c_str(), nullptr, 10);
    } else {
      return Error{ErrorKind::usage, fmt::format("`{}` is no option of a test", word)};
    }
  }
  return arguments;
}

std::string kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::program:
      return "program";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::limit:
      return "limit";
  }
  return "usage";
}

void add(Outcome& outcome, const Error& error) {
  outcome.errors.push_back({kind_name(error.kind), 0, 0, error.message});
}

void add(Outcome& outcome, const Diagnostics& diagnostics, const SourceFile& source) {
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    if (diagnostic.severity != Severity::error) continue;
    const LineColumn place = source.locate(diagnostic.span.begin);
    outcome.errors.push_back(
        {to_string(diagnostic.code), place.line, place.column, diagnostic.message});
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void run_program(const isa::VerifiedProgram& program, const Arguments& arguments,
                 vm::Engine& engine, Outcome& outcome) {
  const Result<vm::Entry> entry = resolve_entry(program, arguments.entry, arguments.data);
  if (!entry) return add(outcome, entry.error());
  Result<std::vector<vm::HostTensor>> tensors = make_tensors(*entry, arguments.seeding);
  if (!tensors) return add(outcome, tensors.error());
  vm::RunReport report;
  const auto failure = engine.run(program, *entry, *tensors, report);
  outcome.prints = lines_of(vm::format_prints(program, report.prints));
  if (arguments.shadow) outcome.shadow = lines_of(vm::shadow_table(program, report));
  if (failure) {
    if (const auto* error = std::get_if<Error>(&*failure)) return add(outcome, *error);
    return add(outcome, std::get<Diagnostics>(*failure), program.source());
  }
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    const vm::Entry::Tensor& tensor = entry->tensors[i];
    if (tensor.output) outcome.outputs.emplace_back(tensor.name, std::move((*tensors)[i]));
  }
}

Outcome run_format(const SourceFile& source) {
  Outcome outcome;
  Diagnostics diagnostics;
  const auto tree = frontend::parse(source, diagnostics);
  add(outcome, diagnostics, source);
  if (tree && frontend::print(*tree) != source.text()) {
    add(outcome, {ErrorKind::program, "the file is not in canonical form (tilevm fmt)"});
  }
  return outcome;
}

/// Words of a line with one space between them, so that alignment does not matter.
std::string words_of(const std::string& line) {
  std::istringstream stream(line);
  std::string joined;
  for (std::string word; stream >> word;) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

std::vector<std::string> normal(std::vector<std::string> lines) {
  for (std::string& line : lines) line = words_of(line);
  return lines;
}

std::vector<std::string> corner_lines(const vm::HostTensor& tensor) {
  return normal(lines_of(format_corner(tensor)));
}

bool matches(const ErrorExpectation& expected, const SeenError& seen) {
  return expected.code == seen.code && expected.line == seen.line &&
         (expected.column == 0 || expected.column == seen.column) &&
         seen.message.find(expected.words) != std::string::npos;
}

std::string describe(const std::string& code, int line, int column, const std::string& words) {
  if (line == 0) return fmt::format("{} {}", code, words);
  return fmt::format("{} @ {}:{} {}", code, line, column, words);
}

void compare_errors(const TestFile& file, const Outcome& outcome, std::vector<std::string>& wrong) {
  std::vector<SeenError> left = outcome.errors;
  for (const ErrorExpectation& expected : file.errors) {
    const auto found = std::find_if(left.begin(), left.end(),
                                    [&](const SeenError& seen) { return matches(expected, seen); });
    if (found != left.end()) {
      left.erase(found);
    } else {
      wrong.push_back("expected, not seen: " +
                      describe(expected.code, expected.line, expected.column, expected.words));
    }
  }
  for (const SeenError& seen : left) {
    wrong.push_back("seen, not expected: " +
                    describe(seen.code, seen.line, seen.column, seen.message));
  }
}

void compare_outputs(const Case& test, const Outcome& outcome, std::vector<std::string>& wrong) {
  for (const OutputExpectation& expected : test.outputs) {
    const auto found = std::find_if(outcome.outputs.begin(), outcome.outputs.end(),
                                    [&](const auto& o) { return o.first == expected.name; });
    if (found == outcome.outputs.end()) {
      wrong.push_back(fmt::format("there is no output `{}`", expected.name));
      continue;
    }
    const std::string hash = format_hash(content_hash(found->second));
    if (!expected.hash.empty() && expected.hash != hash) {
      wrong.push_back(
          fmt::format("`{}` has hash {}, expected {}", expected.name, hash, expected.hash));
    }
    if (expected.corner && normal(*expected.corner) != corner_lines(found->second)) {
      wrong.push_back(fmt::format("the corner of `{}` is\n    {}\n  expected\n    {}",
                                  expected.name, fmt::join(corner_lines(found->second), "\n    "),
                                  fmt::join(*expected.corner, "\n    ")));
    }
  }
}

void compare_lines(std::string_view what, const std::vector<std::string>& expected,
                   const std::vector<std::string>& seen, std::vector<std::string>& wrong) {
  if (normal(expected) == normal(seen)) return;
  wrong.push_back(fmt::format("it {}\n    {}\n  expected\n    {}", what, fmt::join(seen, "\n    "),
                              fmt::join(expected, "\n    ")));
}

std::vector<std::string> expectation_lines(const Case& test, const Outcome& outcome) {
  std::vector<std::string> lines;
  for (const auto& [name, tensor] : outcome.outputs) {
    lines.push_back(fmt::format("# expect: {} hash={}", name, format_hash(content_hash(tensor))));
    for (const OutputExpectation& expected : test.outputs) {
      if (expected.name != name || !expected.corner) continue;
      lines.push_back("# expect-corner: " + name);
      for (const std::string& line : corner_lines(tensor)) lines.push_back("#   " + line);
    }
  }
  const auto add = [&](const std::string& head, const std::vector<std::string>& below) {
    if (!below.empty()) lines.push_back(head);
    for (const std::string& line : below) lines.push_back("#   " + line);
  };
  add("# expect-prints:", outcome.prints);
  add("# expect-shadow:", outcome.shadow);
  return lines;
}

/// The file again, with an `# error:` below each line that has one.
std::string bless_errors(const TestFile& file, const std::vector<SeenError>& errors) {
  std::string text;
  std::istringstream stream(without_errors(file));
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    text += line + '\n';
    for (const SeenError& error : errors) {
      if (error.line != number && (error.line != 0 || number != 1)) continue;
      text += fmt::format("# error: {} {}\n", error.code, error.message);
    }
  }
  return text;
}

}  // namespace

Outcome run_case(const Case& test, const std::shared_ptr<const SourceFile>& source,
                 vm::Engine* engine) {
  if (test.kind == Kind::format) return run_format(*source);
  Outcome outcome;
  const Result<Arguments> arguments = parse_arguments(test.args);
  if (!arguments) {
    add(outcome, arguments.error());
    return outcome;
  }
  const Result<std::vector<frontend::Define>> defines = vm::parse_defines(arguments->defines);
  const Result<isa::Target> target = isa::parse_target(arguments->target);
  if (!defines || !target) {
    add(outcome, defines ? target.error() : defines.error());
    return outcome;
  }
  const vm::Loaded loaded = vm::load(source, *defines, *target);
  add(outcome, loaded.diagnostics, *source);
  if (!loaded.program || test.kind != Kind::run || engine == nullptr) return outcome;
  if (!arguments->shadow) {
    run_program(*loaded.program, *arguments, *engine, outcome);
    return outcome;
  }
  const auto with_shadow = vm::make_engine("sim", {.keep_shadow = true});
  if (!with_shadow) {
    add(outcome, with_shadow.error());
    return outcome;
  }
  run_program(*loaded.program, *arguments, **with_shadow, outcome);
  return outcome;
}

std::string why_not(const TestFile& file, const vm::Engine& engine) {
  const std::optional<isa::Target> device = engine.target();
  if (!device) return {};
  if (!file.errors.empty()) return "its errors are found without it";
  for (const Case& test : file.cases) {
    const Result<Arguments> arguments = parse_arguments(test.args);
    if (arguments && arguments->shadow) return "a GPU has no shadow values";
    const Result<isa::Target> target = isa::parse_target(arguments ? arguments->target : "sm_90");
    if (target && target->sm != device->sm) return "it is for " + isa::to_string(*target);
  }
  return {};
}

std::vector<std::string> complaints(const TestFile& file, const Case& test,
                                    const Outcome& outcome) {
  std::vector<std::string> wrong;
  compare_errors(file, outcome, wrong);
  compare_outputs(test, outcome, wrong);
  compare_lines("prints", test.prints, outcome.prints, wrong);
  compare_lines("shows the errors", test.shadow, outcome.shadow, wrong);
  if (test.kind == Kind::run && file.errors.empty() && test.outputs.empty() &&
      test.prints.empty()) {
    wrong.emplace_back("the case expects nothing; TILEVM_BLESS=1 writes what it gives");
  }
  return wrong;
}

std::string bless(const TestFile& file, const std::vector<Outcome>& outcomes) {
  if (!outcomes.front().errors.empty()) return bless_errors(file, outcomes.front().errors);
  std::string text;
  const auto write_case = [&](std::size_t i) {
    for (const std::string& line : expectation_lines(file.cases[i], outcomes[i]))
      text += line + '\n';
  };
  for (std::size_t n = 0; n < file.lines.size(); ++n) {
    if (!file.is_expectation[n]) text += file.lines[n] + '\n';
    for (std::size_t i = 0; i < file.cases.size(); ++i) {
      if (file.cases[i].head == n) write_case(i);
    }
  }
  for (std::size_t i = 0; i < file.cases.size(); ++i) {
    if (file.cases[i].head || file.cases[i].kind != Kind::run) continue;
    text += "\n# test: run\n";
    write_case(i);
  }
  return text;
}

}  // namespace tilevm::filetest
