#include "vm/dap/transport.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "vm/text/message_header.h"

namespace tilevm::vm::dap {

namespace {

/// Header lines that are longer than this are not header.
constexpr std::size_t max_header = 4096;
/// Bytes that a pipe takes without blocking when it has room, and how long it may have none.
constexpr std::size_t piece = 4096;
constexpr int patience_ms = 10'000;

boost::json::object parse_object(const std::string& text) {
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  return !error && value.is_object() ? value.get_object() : boost::json::object();
}

}  // namespace

Result<std::optional<std::string>> MessageReader::next() {
  const std::size_t end = buffer_.find(header_end);
  if (end == std::string::npos) {
    if (buffer_.size() <= max_header) return std::optional<std::string>();
    return Error{ErrorKind::program, "a message begins with a header of `Content-Length`"};
  }
  const auto length = content_length(std::string_view(buffer_).substr(0, end));
  if (!length || *length > max_message) {
    return Error{ErrorKind::program, length
                                         ? fmt::format("a message of {} bytes is too long", *length)
                                         : std::string("a header without `Content-Length`")};
  }
  const std::size_t begin = end + header_end.size();
  if (buffer_.size() < begin + *length) return std::optional<std::string>();
  std::string message = buffer_.substr(begin, *length);
  buffer_.erase(0, begin + *length);
  return std::optional(std::move(message));
}

Connection::Connection(int input, int output) : input_(input), output_(output) {
  if (pipe(wake_) != 0) wake_[0] = wake_[1] = -1;
  reader_ = std::thread([this] { read(); });
}

Connection::~Connection() {
  if (wake_[1] >= 0) static_cast<void>(!write(wake_[1], "x", 1));
  reader_.join();
  for (const int end : wake_) {
    if (end >= 0) close(end);
  }
}

void Connection::read() {
  MessageReader messages;
  std::array<char, 65536> bytes;
  bool good = true;
  while (good) {
    std::array<pollfd, 2> ready{{{input_, POLLIN, 0}, {wake_[0], POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) break;
    if ((ready[1].revents & (POLLIN | POLLHUP)) != 0) break;
    if (ready[0].revents == 0) continue;
    const ssize_t count = ::read(input_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    messages.add({bytes.data(), static_cast<std::size_t>(count)});
    while (true) {
      Result<std::optional<std::string>> message = messages.next();
      good = message.ok();
      if (!good || !*message) break;
      const std::lock_guard lock(mutex_);
      queue_.push_back(parse_object(**message));
      arrived_.notify_all();
    }
  }
  const std::lock_guard lock(mutex_);
  end_ = true;
  arrived_.notify_all();
}

std::optional<boost::json::object> Connection::receive() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return end_ || !queue_.empty(); });
  if (queue_.empty() || gone_) return std::nullopt;
  boost::json::object message = std::move(queue_.front());
  queue_.pop_front();
  return message;
}

bool Connection::waits(std::string_view command) {
  const std::lock_guard lock(mutex_);
  return std::any_of(queue_.begin(), queue_.end(), [&](const boost::json::object& message) {
    const boost::json::value* const name = message.if_contains("command");
    return name != nullptr && name->is_string() && name->get_string() == command;
  });
}

bool Connection::closed() {
  const std::lock_guard lock(mutex_);
  return gone_ || (end_ && queue_.empty());
}

void Connection::send(const Json& message) {
  const std::string bytes = with_header(message.text());
  for (std::size_t sent = 0; sent < bytes.size() && !gone_;) {
    // A reader that does not read must not stop the tool: small pieces are written when there is
    // room, and after a while it counts as gone.
    pollfd ready{output_, POLLOUT, 0};
    if (poll(&ready, 1, patience_ms) <= 0 || (ready.revents & POLLOUT) == 0) {
      gone_ = true;
      break;
    }
    const ssize_t count = write(output_, bytes.data() + sent, std::min(bytes.size() - sent, piece));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) gone_ = true;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

}  // namespace tilevm::vm::dap
