// Messages of a language server on two streams: `Content-Length: N`, an empty line, N bytes.
//
// A peer may send anything. So headers and messages have a limit, and what is not a message is an
// answer of this class, never an exception.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace tilevm::vm {

class Wire {
 public:
  /// A text of 4 MiB (the largest program) takes at most six times as much as a JSON string.
  static constexpr std::size_t max_message = std::size_t{32} << 20;
  static constexpr std::size_t max_header = std::size_t{8} << 10;

  Wire(std::istream& in, std::ostream& out) : in_(in), out_(out) {}

  enum class Got {
    message,
    nothing,   ///< no whole message has arrived; only if asked not to wait
    skipped,   ///< a header without a length, or a message beyond the limit; it is left out
    not_ours,  ///< a header without end: what is sent is not a protocol, reading on makes no sense
    end,       ///< the stream ended
  };
  /// The next message; waits for it if asked to.
  [[nodiscard]] Got read(std::string& message, bool wait);

  /// Writes a message; false if the reader is gone.
  [[nodiscard]] bool write(std::string_view message);

 private:
  bool fill(bool wait);
  Got take_header();

  std::istream& in_;
  std::ostream& out_;
  std::string buffer_;
  bool in_body_ = false;
  bool too_long_ = false;
  std::size_t missing_ = 0;  ///< bytes of the body
};

}  // namespace tilevm::vm
