#include "tests/filetest/compare.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/type/number.h"
#include "tests/filetest/text_parts.h"
#include "vm/data/hash.h"

namespace tilevm::filetest {

namespace {

Lines normal(Lines lines) {
  for (std::string& line : lines) line = words_of(line);
  return lines;
}

Lines corner_lines(const vm::HostTensor& tensor) { return lines_of(format_corner(tensor)); }

/// Rows of the last dimension, cut after 16 elements.
Lines value_lines(const vm::HostTensor& tensor) {
  const std::size_t row = tensor.shape.empty() ? 1 : static_cast<std::size_t>(tensor.shape.back());
  std::size_t width = 0;
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    width = std::max(width, isa::format_value(tensor.dtype, tensor.code(k)).size());
  }
  Lines lines;
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    const bool begins = k % row % 16 == 0;
    if (begins) lines.emplace_back();
    lines.back() += fmt::format("{}{:>{}}", begins ? "" : "  ",
                                isa::format_value(tensor.dtype, tensor.code(k)), width);
  }
  return lines;
}

bool matches(const ErrorExpectation& expected, const SeenError& seen, bool anywhere) {
  const bool at_line = expected.line == seen.line || (anywhere && expected.line == 0);
  return expected.code == seen.code && at_line &&
         (expected.column == 0 || expected.column == seen.column) &&
         seen.message.find(expected.words) != std::string::npos;
}

std::string describe(const std::string& code, int line, int column, const std::string& words) {
  if (line == 0) return fmt::format("{} {}", code, words);
  return fmt::format("{} @ {}:{} {}", code, line, column, words);
}

void compare_errors(const TestFile& file, const Outcome& outcome, Lines& wrong) {
  std::vector<SeenError> left = outcome.errors;
  for (const ErrorExpectation& expected : file.errors) {
    const auto found = std::find_if(left.begin(), left.end(), [&](const SeenError& seen) {
      return matches(expected, seen, !file.program.empty());
    });
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

void complain(const std::string& what, const Lines& expected, const Lines& seen, Lines& wrong) {
  wrong.push_back(fmt::format("{}\n    {}\n  expected\n    {}", what, fmt::join(seen, "\n    "),
                              fmt::join(expected, "\n    ")));
}

void compare_lines(const std::string& what, const Lines& expected, const Lines& seen,
                   Lines& wrong) {
  if (normal(expected) != normal(seen)) complain(what, expected, seen, wrong);
}

void compare_outputs(const Case& test, const Outcome& outcome, Lines& wrong) {
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
    if (expected.corner) {
      compare_lines(fmt::format("the corner of `{}` is", expected.name), *expected.corner,
                    corner_lines(found->second), wrong);
    }
    if (!expected.values) continue;
    if (found->second.size() > max_values) {
      wrong.push_back(
          fmt::format("`{}` has {} elements, and values are for at most {}; write "
                      "`# expect-corner: {}`",
                      expected.name, found->second.size(), max_values, expected.name));
    } else {
      compare_lines(fmt::format("the values of `{}` are", expected.name), *expected.values,
                    value_lines(found->second), wrong);
    }
  }
}

/// What the text of a case has for an expectation: of the report or of the code.
Result<Lines> part_of(const Outcome& outcome, Kind kind, const std::string& part) {
  return kind == Kind::emit ? code_part(outcome.code, part)
                            : report_part(outcome.report, part, outcome.kernels);
}

const std::vector<TextExpectation>& text_expectations(const Case& test) {
  return test.kind == Kind::emit ? test.emit : test.explain;
}

void compare_texts(const Case& test, const Outcome& outcome, Lines& wrong) {
  const bool of_text = test.kind == Kind::explain || test.kind == Kind::emit;
  const std::size_t count = test.explain.size() + test.emit.size();
  if (count != (of_text ? text_expectations(test).size() : 0)) {
    wrong.emplace_back("expect-explain is for `# test: explain`, expect-emit for `# test: emit`");
  }
  if (!of_text || outcome.kernels.empty()) return;
  for (const TextExpectation& expected : text_expectations(test)) {
    const Result<Lines> seen = part_of(outcome, test.kind, expected.part);
    if (!seen) {
      wrong.push_back(seen.error().message);
      continue;
    }
    if (matches_lines(expected.lines, *seen)) continue;
    complain(test.kind == Kind::emit ? "the code is" : "the report is", expected.lines, *seen,
             wrong);
  }
}

/// Expected lines with `...` stay while they are right.
Lines text_lines(const Case& test, const Outcome& outcome) {
  std::vector<TextExpectation> texts = text_expectations(test);
  if (texts.empty()) texts.emplace_back();
  Lines lines;
  for (const TextExpectation& text : texts) {
    lines.emplace_back(test.kind == Kind::emit ? "# expect-emit:" : "# expect-explain:");
    if (!text.part.empty()) lines.back() += " " + text.part;
    const Result<Lines> seen = part_of(outcome, test.kind, text.part);
    const bool keep = !seen || matches_lines(text.lines, *seen);
    for (const std::string& line : keep ? text.lines : *seen) lines.push_back("#   " + line);
  }
  return lines;
}

/// What was expected if it differs only in spaces, so that blessing changes no line without need.
Lines kept(const Lines& expected, const Lines& seen) {
  return normal(expected) == normal(seen) ? expected : seen;
}

Lines expectation_lines(const Case& test, const Outcome& outcome) {
  if (test.kind == Kind::explain || test.kind == Kind::emit) return text_lines(test, outcome);
  Lines lines;
  const auto add = [&](const std::string& head, const Lines& below) {
    if (!below.empty()) lines.push_back(head);
    for (const std::string& line : below) lines.push_back("#   " + line);
  };
  for (const auto& [name, tensor] : outcome.outputs) {
    lines.push_back(fmt::format("# expect: {} hash={}", name, format_hash(content_hash(tensor))));
    for (const OutputExpectation& expected : test.outputs) {
      if (expected.name != name) continue;
      const bool small = tensor.size() <= max_values;
      if (expected.values && small) {
        add("# expect-values: " + name, kept(*expected.values, value_lines(tensor)));
      }
      if (expected.corner) {
        add("# expect-corner: " + name, kept(*expected.corner, corner_lines(tensor)));
      }
    }
  }
  add("# expect-prints:", kept(test.prints, outcome.prints));
  add("# expect-shadow:", kept(test.shadow, outcome.shadow));
  if (outcome.warnings) add("# expect-warnings:", kept(test.warnings, *outcome.warnings));
  return lines;
}

/// The file again, with an `# error:` below each line that has one, and at the end for a program
/// that the file names.
std::string bless_errors(const TestFile& file, const std::vector<SeenError>& errors) {
  std::string text;
  std::istringstream stream(without_errors(file));
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    text += line + '\n';
    if (!file.program.empty()) continue;
    for (const SeenError& error : errors) {
      if (error.line != number && (error.line != 0 || number != 1)) continue;
      text += fmt::format("# error: {} {}\n", error.code, error.message);
    }
  }
  if (file.program.empty()) return text;
  for (const SeenError& error : errors) {
    text += fmt::format("# error: {} {}\n", error.code, error.message);
  }
  return text;
}

}  // namespace

std::vector<std::string> complaints(const TestFile& file, const Case& test,
                                    const Outcome& outcome) {
  Lines wrong;
  compare_errors(file, outcome, wrong);
  compare_outputs(test, outcome, wrong);
  compare_lines("it prints", test.prints, outcome.prints, wrong);
  compare_lines("it shows the errors", test.shadow, outcome.shadow, wrong);
  if (outcome.warnings) compare_lines("it warns", test.warnings, *outcome.warnings, wrong);
  compare_texts(test, outcome, wrong);
  const bool runs = test.kind == Kind::run;
  const bool compiles = test.kind == Kind::explain || test.kind == Kind::emit;
  const bool expects_text = !test.explain.empty() || !test.emit.empty();
  if (file.errors.empty() &&
      ((runs && test.outputs.empty() && test.prints.empty()) || (compiles && !expects_text))) {
    wrong.emplace_back("the case expects nothing; TILEVM_BLESS=1 writes what it gives");
  }
  return wrong;
}

bool is_readable(const TestFile& file) {
  const auto shows = [](const OutputExpectation& output) { return output.values || output.corner; };
  return !file.errors.empty() ||
         std::any_of(file.cases.begin(), file.cases.end(), [&](const Case& test) {
           return !test.prints.empty() || !test.shadow.empty() || !test.warnings.empty() ||
                  std::any_of(test.outputs.begin(), test.outputs.end(), shows);
         });
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
