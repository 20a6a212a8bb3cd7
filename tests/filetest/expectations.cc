#include "tests/filetest/expectations.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tilevm::filetest {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// The first word of `text`, which is taken off it.
std::string take_word(std::string_view& text) {
  text = trim(text);
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string word(text.substr(0, end));
  text = trim(text.substr(end));
  return word;
}

/// "# KEY: rest" anywhere on a line: the column of its `#`, the key and the rest.
struct Directive {
  std::size_t column = 0;
  std::string_view key, rest;
};

std::optional<Directive> find_directive(std::string_view line) {
  constexpr std::array<std::string_view, 12> keys = {
      "test",           "program",       "args",          "expect",
      "expect-values",  "expect-corner", "expect-prints", "expect-shadow",
      "expect-explain", "expect-emit",   "error",         "expect-warnings"};
  for (const std::string_view key : keys) {
    const std::string mark = fmt::format("# {}:", key);
    const std::size_t at = line.find(mark);
    if (at != std::string_view::npos)
      return Directive{at, key, trim(line.substr(at + mark.size()))};
  }
  return std::nullopt;
}

/// Words as a shell would split them; quotes group.
std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == ' ') {
      if (open) words.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) words.push_back(word);
  return words;
}

class Reader {
 public:
  explicit Reader(const std::string& text) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) file_.lines.push_back(line);
    file_.is_expectation.assign(file_.lines.size(), false);
  }

  Result<TestFile> read() {
    for (line_ = 0; line_ < file_.lines.size(); ++line_) {
      if (const std::optional<Directive> directive = find_directive(file_.lines[line_])) {
        read_directive(*directive);
      } else if (!trim(file_.lines[line_]).empty() && trim(file_.lines[line_]).front() != '#') {
        code_line_ = static_cast<int>(line_) + 1;
      }
      if (!file_.program.empty() && code_line_ != 0) {
        wrong_ = "a file that names a program has no code of its own";
      }
      if (!wrong_.empty()) {
        return Error{ErrorKind::usage, fmt::format("line {}: {}", line_ + 1, wrong_)};
      }
    }
    if (file_.cases.empty()) file_.cases.emplace_back();
    return std::move(file_);
  }

 private:
  static bool expects_something(const Case& test) {
    return !test.outputs.empty() || !test.prints.empty() || !test.shadow.empty() ||
           !test.warnings.empty() || !test.explain.empty() || !test.emit.empty();
  }

  Case& current() {
    if (file_.cases.empty()) file_.cases.emplace_back();
    return file_.cases.back();
  }

  void read_directive(const Directive& directive) {
    if (directive.key == "test") return read_kind(directive.rest);
    if (directive.key == "program") return read_program(directive.rest);
    if (directive.key == "args") return read_args(directive.rest);
    if (directive.key == "error") return read_error(directive);
    if (directive.key == "expect") return read_output(directive.rest);
    const std::string rest(directive.rest);
    Lines lines = read_lines();
    Case& test = current();
    // One of the keys is the directive's, so the lines go to one of these.
    if (directive.key == "expect-values") {
      output(rest).values = std::move(lines);
    } else if (directive.key == "expect-corner") {
      output(rest).corner = std::move(lines);
    } else if (directive.key == "expect-prints") {
      test.prints = std::move(lines);
    } else if (directive.key == "expect-shadow") {
      test.shadow = std::move(lines);
    } else if (directive.key == "expect-warnings") {
      test.warnings = std::move(lines);
    } else if (directive.key == "expect-explain") {
      test.explain.push_back({rest, std::move(lines)});
    } else if (directive.key == "expect-emit") {
      test.emit.push_back({rest, std::move(lines)});
    }
  }

  void read_program(std::string_view path) {
    if (!file_.program.empty() || path.empty()) wrong_ = "write `# program: FILE`, once in a file";
    file_.program = path;
  }

  void read_kind(std::string_view rest) {
    constexpr std::array<std::pair<std::string_view, Kind>, 5> kinds = {{{"run", Kind::run},
                                                                         {"check", Kind::check},
                                                                         {"fmt", Kind::format},
                                                                         {"explain", Kind::explain},
                                                                         {"emit", Kind::emit}}};
    const auto* found =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == rest; });
    if (found == kinds.end()) {
      wrong_ = fmt::format("`{}` is not a kind of test: run, check, fmt, explain or emit", rest);
      return;
    }
    Case next;
    next.kind = found->second;
    next.head = line_;
    file_.cases.push_back(std::move(next));
    has_args_ = false;
  }

  void read_args(std::string_view rest) {
    if (has_args_ || file_.cases.empty() || expects_something(file_.cases.back())) {
      const Kind kind = file_.cases.empty() ? Kind::run : file_.cases.back().kind;
      file_.cases.emplace_back().kind = kind;
    }
    file_.cases.back().args = split_words(rest);
    file_.cases.back().head = line_;
    has_args_ = true;
  }

  OutputExpectation& output(const std::string& name) {
    for (OutputExpectation& known : current().outputs) {
      if (known.name == name) return known;
    }
    current().outputs.push_back({name, {}, {}, {}});
    return current().outputs.back();
  }

  void read_output(std::string_view rest) {
    file_.is_expectation[line_] = true;
    const std::string name = take_word(rest);
    if (!rest.starts_with("hash=") || rest.size() != 21) {
      wrong_ = "write `# expect: NAME hash=` and 16 digits";
      return;
    }
    output(name).hash = rest.substr(5);
  }

  /// The lines below a directive that are indented comments.
  Lines read_lines() {
    file_.is_expectation[line_] = true;
    Lines lines;
    while (line_ + 1 < file_.lines.size() && file_.lines[line_ + 1].starts_with("#   ")) {
      ++line_;
      file_.is_expectation[line_] = true;
      lines.push_back(file_.lines[line_].substr(4));
    }
    return lines;
  }

  void read_error(const Directive& directive) {
    const std::string& line = file_.lines[line_];
    const bool alone = trim(std::string_view(line).substr(0, directive.column)).empty();
    if (!alone) code_line_ = static_cast<int>(line_) + 1;
    file_.is_expectation[line_] = alone;
    std::string_view rest = directive.rest;
    ErrorExpectation error;
    error.code = take_word(rest);
    error.line = error.code.starts_with("TV") ? code_line_ : 0;
    if (rest.starts_with("@ ")) {
      rest.remove_prefix(2);
      const std::string place = take_word(rest);
      const std::size_t colon = place.find(':');
      error.line = std::atoi(place.c_str());
      error.column = colon == std::string::npos ? 0 : std::atoi(place.c_str() + colon + 1);
      if (error.line <= 0) wrong_ = fmt::format("`{}` is not a place: write LINE:COLUMN", place);
    }
    error.words = rest;
    if (error.code.empty()) wrong_ = "write `# error: CODE words of the message`";
    file_.errors.push_back(std::move(error));
  }

  TestFile file_;
  std::size_t line_ = 0;
  int code_line_ = 0;
  bool has_args_ = false;
  std::string wrong_;
};

}  // namespace

Result<TestFile> read_test(const std::string& text) { return Reader(text).read(); }

std::string without_errors(const TestFile& file) {
  std::string text;
  for (const std::string& line : file.lines) {
    const std::optional<Directive> directive = find_directive(line);
    if (!directive || directive->key != "error") {
      text += line + '\n';
      continue;
    }
    std::string kept = line.substr(0, directive->column);
    while (!kept.empty() && kept.back() == ' ') kept.pop_back();
    if (!kept.empty()) text += kept + '\n';
  }
  return text;
}

}  // namespace tilevm::filetest
