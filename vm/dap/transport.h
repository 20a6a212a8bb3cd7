// Messages of the Debug Adapter Protocol on a pair of file descriptors: a header with the length,
// an empty line, JSON.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <boost/json.hpp>

#include "isa/base/result.h"
#include "vm/text/json.h"

namespace tilevm::vm::dap {

/// The longest message that is read, in bytes.
inline constexpr std::size_t max_message = std::size_t{1} << 24;

/// Takes messages apart, whatever pieces they arrive in.
class MessageReader {
 public:
  /// Adds what has arrived.
  void add(std::string_view bytes) { buffer_ += bytes; }
  /// The next message; nothing if it is not complete yet. Error (program): a header without a
  /// length, or one that is too large: nothing that follows can be read.
  [[nodiscard]] Result<std::optional<std::string>> next();

 private:
  std::string buffer_;
};

/// Reads messages in a thread of its own, so that a run can look whether it should stop.
class Connection {
 public:
  /// Reads from `input`, writes to `output`; neither is closed.
  Connection(int input, int output);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// The next message, as soon as there is one; nothing at the end of the input. Text that is not a
  /// JSON object gives an object without members.
  [[nodiscard]] std::optional<boost::json::object> receive();
  /// Whether a message with such a command waits.
  [[nodiscard]] bool waits(std::string_view command);
  /// Whether the other side is gone.
  [[nodiscard]] bool closed();
  /// Sends an object; what cannot be sent is dropped.
  void send(const Json& message);

 private:
  void read();

  int input_, output_;
  int wake_[2] = {-1, -1};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<boost::json::object> queue_;
  bool end_ = false;
  bool gone_ = false;  // nothing can be sent any more
  std::thread reader_;
};

}  // namespace tilevm::vm::dap
