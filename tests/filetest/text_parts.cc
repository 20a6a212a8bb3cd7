#include "tests/filetest/text_parts.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "isa/inst/instruction_set.h"

namespace tilevm::filetest {

namespace {

std::size_t indentation(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_directive(const std::string& line) { return line.starts_with("#line "); }
bool is_blank(const std::string& line) { return indentation(line) == line.size(); }

/// What a comment of the emitted code quotes of the program; empty if the line is none.
std::string quotation(const std::string& line) {
  const std::size_t begin = indentation(line);
  return line.compare(begin, 3, "// ") == 0 ? words_of(line.substr(begin + 3)) : "";
}

/// Appends lines [begin, end), moved to the left as far as the first one is indented.
void append_moved(const Lines& lines, std::size_t begin, std::size_t end, Lines& to) {
  if (begin == end) return;
  const std::size_t first = indentation(lines[begin]);
  for (std::size_t i = begin; i < end; ++i) {
    to.push_back(lines[i].substr(std::min(first, indentation(lines[i]))));
  }
}

/// The line after the last one of the statement that line `begin` quotes: statements inside are
/// indented further, the next one is quoted at the same indentation.
std::size_t end_of_statement(const Lines& lines, std::size_t begin) {
  const std::size_t depth = indentation(lines[begin]);
  std::size_t end = begin + 1;
  while (end < lines.size() && indentation(lines[end]) >= depth &&
         (indentation(lines[end]) > depth || quotation(lines[end]).empty())) {
    ++end;
  }
  return end;
}

/// What a reader may ask a report for.
struct Wanted {
  std::set<std::string> kernels, instructions;

  [[nodiscard]] bool kernel(const std::string& name) const {
    return kernels.empty() || kernels.contains(name);
  }
  [[nodiscard]] bool instruction(const std::string& name) const {
    return instructions.empty() || instructions.contains(name);
  }
};

Result<Wanted> parse_part(const std::string& part, const Lines& kernels) {
  std::set<std::string> instructions;
  isa::for_each_instruction(
      [&]<class Inst>() { instructions.emplace(Inst::schema.description.mnemonic); });
  Wanted wanted;
  std::istringstream stream(part);
  for (std::string word; stream >> word;) {
    const bool is_kernel = std::find(kernels.begin(), kernels.end(), word) != kernels.end();
    if (!is_kernel && !instructions.contains(word)) {
      return Error{ErrorKind::usage,
                   fmt::format("`{}` is neither an instruction nor a kernel of the program", word)};
    }
    (is_kernel ? wanted.kernels : wanted.instructions).insert(word);
  }
  return wanted;
}

std::string first_word(const std::string& line) {
  const std::string words = words_of(line);
  return words.substr(0, words.find(' '));
}

}  // namespace

std::string words_of(const std::string& line) {
  std::istringstream stream(line);
  std::string joined;
  for (std::string word; stream >> word;) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Result<Lines> report_part(const std::string& report, const std::string& part,
                          const Lines& kernels) {
  const Result<Wanted> wanted = parse_part(part, kernels);
  if (!wanted) return wanted.error();
  Lines lines;
  std::string statement;
  bool in_kernel = true;
  for (const std::string& line : lines_of(report)) {
    const std::size_t depth = indentation(line);
    if (depth == 0) in_kernel = wanted->kernel(first_word(line));
    if (!in_kernel) continue;
    if (wanted->instructions.empty()) {
      lines.push_back(line);
    } else if (depth < 4) {
      statement = line;
    } else if (wanted->instruction(first_word(line))) {
      if (!statement.empty()) lines.push_back(statement.substr(indentation(statement)));
      statement.clear();
      lines.push_back(line.substr(2));
    }
  }
  if (lines.empty()) {
    return Error{ErrorKind::usage, fmt::format("the report says nothing of `{}`", part)};
  }
  return lines;
}

Result<Lines> code_part(const std::string& code, const std::string& part) {
  Lines lines = lines_of(code);
  std::erase_if(lines,
                [](const std::string& line) { return is_directive(line) || is_blank(line); });
  if (part.empty()) return lines;
  Lines chosen;
  bool found = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (quotation(lines[i]).find(words_of(part)) == std::string::npos) continue;
    found = true;
    const std::size_t end = end_of_statement(lines, i);
    append_moved(lines, i + 1, end, chosen);
    i = end - 1;
  }
  if (!found) {
    return Error{ErrorKind::usage, fmt::format("the code quotes no statement with `{}`", part)};
  }
  return chosen;
}

bool matches_lines(const Lines& expected, const Lines& seen) {
  // matched[k]: whether the expected lines so far can be the first k seen ones.
  std::vector<bool> matched(seen.size() + 1, false);
  matched[0] = true;
  for (const std::string& line : expected) {
    const std::string words = words_of(line);
    std::vector<bool> next(matched.size(), false);
    for (std::size_t k = 0; k < matched.size(); ++k) {
      if (words == "...") {
        next[k] = matched[k] || (k > 0 && next[k - 1]);
      } else if (k > 0) {
        next[k] = matched[k - 1] && words_of(seen[k - 1]) == words;
      }
    }
    matched = next;
  }
  return matched.back();
}

}  // namespace tilevm::filetest
