// Whether a text has a part, for tests of messages and of emitted code.
#pragma once

#include <string_view>

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
