#include "tests/filetest/debug_sessions.h"

#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/filetest/text_parts.h"
#include "vm/cli/commands.h"
#include "vm/debug/debugger.h"
#include "vm/debug/expression_text.h"

namespace tilevm::filetest {

namespace {

constexpr std::string_view command = "$ tilevm debug ";

/// The words of a command line; quotes keep blanks.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      if (!open) words.emplace_back();
      open = true;
    } else if (c == ' ' && !quoted) {
      open = false;
    } else {
      if (!open) words.emplace_back();
      open = true;
      words.back() += c;
    }
  }
  return words;
}

Result<vm::DebugCommandOptions> options_of(std::string_view text) {
  vm::DebugCommandOptions options;
  options.batch = true;
  const std::vector<std::string> words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--wild") {
      options.execution.wild = true;
    } else if (word == "--json") {
      options.json = true;
    } else if (word == "-D" && has_value) {
      options.program.defines.push_back(words[++i]);
    } else if (word == "--in" && has_value) {
      options.execution.data.inputs.push_back(words[++i]);
    } else if (word == "--entry" && has_value) {
      options.execution.entry = words[++i];
    } else if (word == "--check" && has_value) {
      options.checks = words[++i];
    } else if (word == "-x" && has_value) {
      options.script = words[++i];
    } else if (!word.starts_with('-') && options.program.file.empty()) {
      options.program.file = word;
    } else {
      return Error{ErrorKind::usage, fmt::format("`{}` is not an option of a session", word)};
    }
  }
  return options;
}

/// What a session shows today.
Result<std::string> repeat(std::string_view arguments, const std::vector<std::string>& typed) {
  const Result<vm::DebugCommandOptions> options = options_of(arguments);
  if (!options) return options.error();
  std::string input;
  for (const std::string& line : typed) input += line + '\n';
  std::istringstream in(input);
  std::ostringstream out;
  vm::Io io{in, out, out};
  static_cast<void>(vm::debug(*options, io));
  return out.str();
}

}  // namespace

Result<std::string> repeat_sessions(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  std::string result;
  bool any = false;
  for (std::size_t i = 0; i < lines.size();) {
    result += lines[i] + '\n';
    if (!lines[i].starts_with(command)) {
      ++i;
      continue;
    }
    any = true;
    const std::string arguments = lines[i++].substr(command.size());
    std::vector<std::string> typed;
    for (; i < lines.size() && !lines[i].starts_with('$') && !lines[i].starts_with("```"); ++i) {
      if (lines[i] == vm::trim(vm::Debugger::prompt)) {
        typed.emplace_back();
      } else if (lines[i].starts_with(vm::Debugger::prompt)) {
        typed.push_back(lines[i].substr(vm::Debugger::prompt.size()));
      }
    }
    const Result<std::string> shown = repeat(arguments, typed);
    if (!shown) return shown.error();
    result += *shown;
    if (i < lines.size() && lines[i].starts_with('$')) result += '\n';
  }
  if (!any) return Error{ErrorKind::usage, "no line begins with `$ tilevm debug `"};
  return result;
}

}  // namespace tilevm::filetest
