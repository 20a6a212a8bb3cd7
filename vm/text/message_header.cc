#include "vm/text/message_header.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace tilevm::vm {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::optional<std::size_t> content_length(std::string_view header) {
  constexpr std::string_view name = "content-length:";
  while (!header.empty()) {
    const std::size_t end = std::min(header.find("\r\n"), header.size());
    std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    const bool found = line.size() > name.size() &&
                       std::equal(name.begin(), name.end(), line.begin(),
                                  [](char wanted, char given) { return wanted == lower(given); });
    if (!found) continue;
    line.remove_prefix(std::min(line.find_first_not_of(" \t", name.size()), line.size()));
    std::size_t length = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), length);
    if (error == std::errc{} && stop == line.data() + line.size()) return length;
    return std::nullopt;
  }
  return std::nullopt;
}

std::string with_header(std::string_view message) {
  return fmt::format("Content-Length: {}{}{}", message.size(), header_end, message);
}

}  // namespace tilevm::vm
