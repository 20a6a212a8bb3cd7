// A text cut into parts.
#pragma once

#include <string_view>
#include <vector>

namespace tilevm::vm {

/// What stands between the marks, such as lines; after the last one only if something stands there.
[[nodiscard]] inline std::vector<std::string_view> parts_of(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(mark);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

}  // namespace tilevm::vm
