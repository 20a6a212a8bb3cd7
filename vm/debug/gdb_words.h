// Words of gdb that mean something else here, or nothing: which word does it.
#pragma once

#include <optional>
#include <string_view>

namespace tilevm::vm {

/// What does here what a word of gdb does there; nothing if the word is none of gdb's.
[[nodiscard]] std::optional<std::string_view> gdb_word(std::string_view word);

/// The topic of what follows `info`.
[[nodiscard]] std::optional<std::string_view> gdb_topic(std::string_view topic);

}  // namespace tilevm::vm
