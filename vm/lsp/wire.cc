#include "vm/lsp/wire.h"

#include <algorithm>
#include <array>
#include <istream>
#include <optional>
#include <ostream>

#include "vm/text/message_header.h"

namespace tilevm::vm {

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
  const std::size_t end = buffer_.find(header_end);
  if (end == std::string::npos) return buffer_.size() > max_header ? Got::not_ours : Got::nothing;
  const std::optional<std::size_t> length =
      content_length(std::string_view(buffer_).substr(0, end));
  buffer_.erase(0, end + header_end.size());
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
  out_ << with_header(message);
  out_.flush();
  return static_cast<bool>(out_);
}

}  // namespace tilevm::vm
