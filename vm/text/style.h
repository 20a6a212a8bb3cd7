// Colours of text on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace tilevm::vm {

/// The styles that commands use; without colour the text itself.
enum class Style { bold, dim, green, yellow, red };
[[nodiscard]] std::string paint(std::string_view text, Style style, bool color);

}  // namespace tilevm::vm
