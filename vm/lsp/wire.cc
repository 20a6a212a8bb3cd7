#include "vm/lsp/wire.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <optional>
#include <ostream>

#include <fmt/format.h>

namespace tilevm::vm {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The number after "Content-Length:", in any case; nothing if no line has it.
std::optional<std::size_t> content_length(std::string_view header) {
  constexpr std::string_view name = "content-length:";
  while (!header.empty()) {
    const std::size_t end = header.find("\r\n");
    std::string_view line = header.substr(0, end);
    header.remove_prefix(end == std::string_view::npos ? header.size() : end + 2);
    const bool found = line.size() > name.size() &&
                       std::equal(name.begin(), name.end(), line.begin(),
                                  [](char wanted, char given) { return wanted == lower(given); });
    if (!found) continue;
    line.remove_prefix(name.size());
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    std::size_t value = 0;
    const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error == std::errc{} && stop == line.data() + line.size()) return value;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

/// Reads what has arrived; if nothing has and `wait`, waits for a byte. False at the end.
bool Wire::fill(bool wait) {
  std::array<char, 1U << 16> chunk;  // NOLINT: filled by the read
  std::streamsize taken = in_.readsome(chunk.data(), chunk.size());
  if (taken == 0 && wait) {
    if (!in_.get(chunk[0])) return false;
    taken = 1;
  }
  buffer_.append(chunk.data(), static_cast<std::size_t>(taken));
  return taken > 0;
}

/// After a whole header: `message` if a body follows.
Wire::Got Wire::take_header() {
  const std::size_t end = buffer_.find("\r\n\r\n");
  if (end == std::string::npos) return buffer_.size() > max_header ? Got::not_ours : Got::nothing;
  const std::optional<std::size_t> length =
      content_length(std::string_view(buffer_).substr(0, end));
  buffer_.erase(0, end + 4);
  if (!length) return Got::skipped;
  in_body_ = true;
  missing_ = *length;
  too_long_ = *length > max_message;
  return Got::message;
}

Wire::Got Wire::read(std::string& message, bool wait) {
  while (true) {
    if (!in_body_) {
      const Got header = take_header();
      if (header == Got::skipped || header == Got::not_ours) return header;
    }
    if (in_body_ && too_long_) {
      const std::size_t left_out = std::min(missing_, buffer_.size());
      buffer_.erase(0, left_out);
      missing_ -= left_out;
      if (missing_ == 0) {
        in_body_ = false;
        return Got::skipped;
      }
    } else if (in_body_ && buffer_.size() >= missing_) {
      message = buffer_.substr(0, missing_);
      buffer_.erase(0, missing_);
      in_body_ = false;
      return Got::message;
    }
    if (!fill(wait)) return wait || in_.eof() ? Got::end : Got::nothing;
  }
}

bool Wire::write(std::string_view message) {
  out_ << fmt::format("Content-Length: {}\r\n\r\n", message.size()) << message;
  out_.flush();
  return static_cast<bool>(out_);
}

}  // namespace tilevm::vm
