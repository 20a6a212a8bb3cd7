#include "vm/text/style.h"

#include <fmt/format.h>

namespace tilevm::vm {

std::string paint(std::string_view text, Style style, bool color) {
  if (!color) return std::string(text);
  const auto escape = [style] {
    switch (style) {
      case Style::bold:
        return "\x1b[1m";
      case Style::dim:
        return "\x1b[2m";
      case Style::green:
        return "\x1b[32m";
      case Style::yellow:
        return "\x1b[33m";
      case Style::red:
        return "\x1b[1;31m";
    }
    return "";
  };
  return fmt::format("{}{}\x1b[0m", escape(), text);
}

}  // namespace tilevm::vm
