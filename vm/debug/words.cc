#include "vm/debug/words.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/suggest.h"
#include "vm/debug/expression_text.h"
#include "vm/debug/gdb_words.h"

namespace tilevm::vm {

namespace {

Error no_word(std::string message) { return {ErrorKind::usage, std::move(message)}; }

}  // namespace

Result<const Word*> find_word(std::string_view name) {
  std::vector<const Word*> found;
  std::vector<std::string> names;
  for (const Word& word : debug_words()) {
    const bool is_alias =
        std::find(word.aliases.begin(), word.aliases.end(), name) != word.aliases.end();
    if (word.name == name || is_alias) return &word;
    if (word.name.starts_with(name)) found.push_back(&word);
    names.emplace_back(word.name);
  }
  if (const auto advice = gdb_word(name)) {
    return no_word(fmt::format("there is no `{}`; {}", name, *advice));
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    const std::string near = nearest(name, names);
    return no_word(
        fmt::format("`{}` is not a command; {}", shortened(name),
                    near.empty() ? "`help` lists them" : fmt::format("did you mean `{}`?", near)));
  }
  std::vector<std::string_view> all;
  for (const Word* word : found) all.push_back(word->name);
  return no_word(fmt::format("`{}` may be {}", name, fmt::join(all, ", ")));
}

Result<Input> parse_line(std::string_view line) {
  line = trim(line);
  if (line.size() > max_line_bytes) {
    return no_word(
        fmt::format("a line of {} bytes; at most {} are read", line.size(), max_line_bytes));
  }
  std::size_t end = 0;
  while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) != 0 ||
                               line[end] == '-' || line[end] == '_')) {
    ++end;
  }
  const auto word = find_word(line.substr(0, end));
  if (!word) return word.error();
  WordText text{line.substr(end), {}};
  if (text.arguments.starts_with('/')) {
    const std::size_t blank = std::min(text.arguments.find(' '), text.arguments.size());
    text.suffix = text.arguments.substr(1, blank - 1);
    text.arguments = text.arguments.substr(blank);
  }
  text.arguments = trim(text.arguments);
  return (*word)->parse(text);
}

Result<std::string> debug_help(const std::string& name) {
  if (!name.empty()) {
    const auto word = find_word(name);
    if (!word) return word.error();
    std::string text = fmt::format("{}\n  {}\n", (*word)->form, (*word)->help);
    if (!(*word)->aliases.empty()) {
      text += fmt::format("  short: {}\n", fmt::join((*word)->aliases, ", "));
    }
    return text;
  }
  std::string text;
  for (const Word& word : debug_words()) {
    text += word.form.size() <= 34 ? fmt::format("{:<34}  {}\n", word.form, word.help)
                                   : fmt::format("{}\n{:<34}  {}\n", word.form, "", word.help);
  }
  return text + "An empty line repeats a step or a print. A unique beginning of a word will do.\n";
}

std::vector<std::string> complete_word(std::string_view begin) {
  std::vector<std::string> found;
  for (const Word& word : debug_words()) {
    if (word.name.starts_with(begin)) found.emplace_back(word.name);
  }
  return found;
}

}  // namespace tilevm::vm
