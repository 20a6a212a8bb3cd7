#include "tests/unit/vm/seeded_difference.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iomanip>
#include <sstream>

#include <fmt/format.h>

#include "isa/inst/instruction_set.h"

namespace tilevm::vm {

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

/// The lines of emitted code that belong to one statement: [begin, end).
struct Segment {
  std::size_t begin = 0, end = 0;
};

/// How many blocks a line of code opens, less those that it closes.
int depth_change(const std::string& line) {
  return static_cast<int>(std::count(line.begin(), line.end(), '{') -
                          std::count(line.begin(), line.end(), '}'));
}

/// The code after the last comment in a row that quotes the statement: a line may have several
/// statements, and what is inside of brackets comes first.
std::optional<Segment> find_segment(const std::vector<std::string>& lines, std::size_t from,
                                    const std::string& statement) {
  const std::string quoted = "// " + statement;
  std::optional<Segment> found;
  for (std::size_t i = from; i < lines.size() && lines[i] != "}"; ++i) {
    if (trimmed(lines[i]) == quoted) found = Segment{i + 1, i + 1};
  }
  if (!found) return std::nullopt;
  for (int depth = 0; found->end < lines.size(); ++found->end) {
    const std::string line = trimmed(lines[found->end]);
    depth += depth_change(line);
    if (line.starts_with("//") || depth < 0) break;
  }
  return found;
}

/// Where the code of a statement ends and its probe begins.
std::size_t end_of_code(const std::vector<std::string>& lines, const Segment& segment) {
  for (std::size_t i = segment.begin; i < segment.end; ++i) {
    for (const char* probe : {"probe_.tile<", "probe_.scalar(", "probe_.record("}) {
      if (lines[i].find(probe) != std::string::npos) return i;
    }
  }
  return segment.end;
}

/// Whether the statement's instruction gives scalars.
bool gives_scalar(const std::string& statement) {
  bool found = false;
  isa::for_each_instruction([&]<class Inst>() {
    constexpr isa::Description description = Inst::schema.description;
    const bool scalar = description.result == isa::ResultKind::scalar ||
                        description.result == isa::ResultKind::indices;
    const std::string call = fmt::format(" = {}(", description.mnemonic);
    found = found || (scalar && statement.find(call) != std::string::npos);
  });
  return found;
}

/// Whether a variable is one of those left of the statement's "=".
bool is_result(const std::string& variable, const std::string& statement) {
  const std::string left = ", " + statement.substr(0, statement.find(" = "));
  return (left + ",").find(", " + variable + ",") != std::string::npos;
}

}  // namespace

bool SeededDifference::apply(std::string& text, std::size_t begin) const {
  std::vector<std::string> lines;
  std::istringstream stream(text.substr(begin));
  for (std::string each; std::getline(stream, each);) lines.push_back(each);
  const std::optional<Segment> segment = find_segment(lines, 0, statement);
  if (!segment) return false;
  bool changed = true;
  if (variable.empty()) {
    std::string code;
    for (std::size_t i = segment->begin; i < segment->end; ++i) code += lines[i] + '\n';
    const std::size_t at = code.find(old);
    changed = at != std::string::npos;
    if (changed) code.replace(at, old.size(), by);
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(segment->begin),
                lines.begin() + static_cast<std::ptrdiff_t>(segment->end));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(segment->begin), code);
  } else {
    // A scalar is an assignable name, a tile an array of words.
    const bool scalar = gives_scalar(statement);
    const std::string place = scalar ? variable : fmt::format("{}[{}]", variable, bit / 32);
    const std::string flip = fmt::format("if (tv::thread() == {}u) {} ^= {}u;", thread, place,
                                         std::uint32_t{1} << bit % 32);
    const auto at = static_cast<std::ptrdiff_t>(end_of_code(lines, *segment));
    lines.insert(lines.begin() + at, flip);
    // What the statement reads is as before once it has run.
    const bool reads =
        !is_result(variable, statement) && statement.find("out=" + variable) == std::string::npos;
    if (reads) lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(segment->begin), flip);
  }
  text.resize(begin);
  for (const std::string& each : lines) text += each + '\n';
  return changed;
}

std::optional<SeededDifference> parse_seeded(const std::string& line, int number) {
  const std::string mark = "# seeded: ";
  const std::size_t at = line.find(mark);
  // A comment that begins the line explains.
  if (at == std::string::npos || line.starts_with('#')) return std::nullopt;
  SeededDifference seeded;
  seeded.line = number;
  seeded.statement = trimmed(line);
  std::istringstream words(line.substr(at + mark.size()));
  std::string verb, word;
  words >> verb;
  if (verb == "flip") {
    words >> seeded.variable >> word >> seeded.bit;
  } else {
    words >> std::quoted(seeded.old) >> word >> std::quoted(seeded.by);
  }
  words >> word >> seeded.thread;
  CAPTURE(line);
  REQUIRE((verb == "flip" || verb == "replace"));
  REQUIRE(word == "thread");
  if (words >> word) words >> seeded.buffer >> word >> seeded.byte;
  REQUIRE((words || words.eof()));
  return seeded;
}

}  // namespace tilevm::vm
