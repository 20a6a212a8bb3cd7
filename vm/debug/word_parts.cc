#include "vm/debug/word_parts.h"

#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/debug/expression_text.h"
#include "vm/debug/gdb_words.h"

namespace tilevm::vm {

namespace command = sim::debug::command;

Error wrong(std::string message) { return {ErrorKind::usage, std::move(message)}; }

Result<std::uint64_t> count_of(std::string_view text) {
  if (text.empty()) return std::uint64_t{1};
  const auto number = parse_integer(text);
  if (!number || *number < 1) {
    return wrong(fmt::format("`{}` is not a count, an integer from 1 on", text));
  }
  return static_cast<std::uint64_t>(*number);
}

Result<sim::debug::Selection> need_selection(std::string_view text) {
  const auto selection = parse_selection(text);
  if (selection) return *selection;
  return wrong(fmt::format(
      "`{}` is not a tensor or part of one; write T, T[i, j], T[0:4, :] or T@t", shortened(text)));
}

Result<int> number_of(std::string_view text) {
  const auto number = parse_integer(text);
  if (number && *number > 0 && *number < 1'000'000'000) return static_cast<int>(*number);
  return wrong(fmt::format("`{}` is not a number of a breakpoint", text));
}

Result<Format> format_of(std::string_view suffix) {
  if (suffix.empty() || suffix == "f" || suffix == "d") return Format::value;
  if (suffix == "x") return Format::hex;
  if (suffix == "t") return Format::bits;
  if (suffix == "c") return Format::codes;
  return wrong(
      fmt::format("`/{}` is not a format; there are /x (hexadecimal), /t (bits), /c (codes) "
                  "and /f (values)",
                  suffix));
}

namespace {

struct NamedTopic {
  std::string_view name;
  command::Topic topic;
};
// The first that begins with a word is meant: `info b` is gdb's.
constexpr std::array<NamedTopic, 11> topics{{
    {"breakpoints", command::Topic::breakpoints},
    {"blocks", command::Topic::blocks},
    {"races", command::Topic::races},
    {"groups", command::Topic::groups},
    {"barriers", command::Topic::barriers},
    {"stats", command::Topic::stats},
    {"cost", command::Topic::cost},
    {"locals", command::Topic::locals},
    {"scalars", command::Topic::scalars},
    {"tensors", command::Topic::tensors},
    {"snapshots", command::Topic::snapshots},
}};

}  // namespace

Result<command::Topic> topic_of(std::string_view text) {
  for (const NamedTopic& topic : topics) {
    if (!text.empty() && topic.name.starts_with(text)) return topic.topic;
  }
  if (const auto advice = gdb_topic(text)) {
    return wrong(fmt::format("there is no `info {}`; {}", text, *advice));
  }
  std::vector<std::string_view> names;
  for (const NamedTopic& topic : topics) names.push_back(topic.name);
  return wrong(fmt::format("`info` takes one of: {}", fmt::join(names, ", ")));
}

std::vector<std::string> complete_topic(std::string_view begin) {
  std::vector<std::string> found;
  for (const NamedTopic& topic : topics) {
    if (topic.name.starts_with(begin)) found.emplace_back(topic.name);
  }
  return found;
}

Result<std::optional<command::NamedLine>> line_of(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool has_file = colon != std::string_view::npos;
  const std::string_view digits = has_file ? text.substr(colon + 1) : text;
  const auto line = parse_integer(digits);
  if (!line && !has_file) return std::optional<command::NamedLine>();
  if (!line || *line < 1 || *line > 1'000'000'000 || colon == 0) {
    return wrong(fmt::format("`{}` is not a line; write 14, or layouts.tile:14", text));
  }
  return std::optional(command::NamedLine{
      has_file ? std::string(text.substr(0, colon)) : std::string(), static_cast<int>(*line)});
}

std::pair<std::string_view, std::string_view> split_at(std::string_view text,
                                                       std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return {text, {}};
  return {trim(text.substr(0, at)), trim(text.substr(at + word.size()))};
}

}  // namespace tilevm::vm
