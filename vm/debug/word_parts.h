// What follows a word of the debugger: counts, formats, parts of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/base/result.h"
#include "sim/debug/command.h"
#include "vm/debug/words.h"

namespace tilevm::vm {

/// An Error of kind usage.
[[nodiscard]] Error wrong(std::string message);

/// A count from 1 on; 1 if it is left out.
[[nodiscard]] Result<std::uint64_t> count_of(std::string_view text);
/// The number of a breakpoint.
[[nodiscard]] Result<int> number_of(std::string_view text);
/// The letter after a slash.
[[nodiscard]] Result<Format> format_of(std::string_view suffix);
[[nodiscard]] Result<sim::debug::Selection> need_selection(std::string_view text);
/// A topic of `info`, or its beginning.
[[nodiscard]] Result<sim::debug::command::Topic> topic_of(std::string_view text);
/// The topics of `info` that begin so.
[[nodiscard]] std::vector<std::string> complete_topic(std::string_view begin);
/// A line: "14", or "layouts.tile:14"; nothing if it is another word. Error (usage): what looks
/// like a line and is none.
[[nodiscard]] Result<std::optional<sim::debug::command::NamedLine>> line_of(std::string_view text);
/// The text up to a word, and what follows the word.
[[nodiscard]] std::pair<std::string_view, std::string_view> split_at(std::string_view text,
                                                                     std::string_view word);

}  // namespace tilevm::vm
