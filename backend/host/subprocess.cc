#include "backend/host/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

namespace tilevm::backend {
namespace {

/// Closes a file descriptor when it goes.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return value_; }
  void close() {
    if (value_ >= 0) ::close(value_);
    value_ = -1;
  }

 private:
  int value_;
};

Error system_error(const std::string& doing, int code) {
  return {ErrorKind::unavailable, fmt::format("{}: {}", doing, std::strerror(code))};
}

std::vector<std::string> child_environment(const ProcessRequest& request) {
  std::vector<std::string> variables{"TMPDIR=" + request.folder};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const auto& dropped = request.dropped_variables;
    if (name == "TMPDIR" || std::find(dropped.begin(), dropped.end(), name) != dropped.end()) {
      continue;
    }
    variables.emplace_back(text);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// How the child differs from us: its folder, its streams, its process group, and signals as a
/// fresh program expects them.
class SpawnPlan {
 public:
  SpawnPlan(const std::string& folder, int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, 1);
    posix_spawn_file_actions_adddup2(&actions_, output, 2);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  /// The child's process id, or the system's error code, negative.
  pid_t spawn(const ProcessRequest& request) const {
    std::vector<std::string> arguments{request.program};
    arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
    std::vector<std::string> variables = child_environment(request);
    pid_t child = 0;
    const int code = posix_spawn(&child, request.program.c_str(), &actions_, &attributes_,
                                 pointers(arguments).data(), pointers(variables).data());
    return code == 0 ? child : -code;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// Reads what is in the pipe; false at its end.
bool drain(int pipe, std::string& output) {
  char buffer[16384];
  for (;;) {
    const ssize_t count = read(pipe, buffer, sizeof buffer);
    if (count > 0) {
      // Output beyond the limit is read and discarded: on a full pipe the child would wait forever.
      const std::size_t room = max_process_output - output.size();
      output.append(buffer, std::min(room, static_cast<std::size_t>(count)));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    return count < 0 && errno == EAGAIN;
  }
}

int status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/// The child's exit status if it has ended; a child that someone else has waited for counts as
/// failed.
std::optional<int> poll_child(pid_t child) {
  int wait_status = 0;
  const pid_t ended = waitpid(child, &wait_status, WNOHANG);
  if (ended == child) return status_of(wait_status);
  if (ended < 0 && errno != EINTR) return 127;
  return std::nullopt;
}

/// Waits for the child's end, not for the pipe's: a grandchild may keep that open.
std::optional<ProcessResult> follow(pid_t child, int pipe, Deadline deadline) {
  ProcessResult result;
  bool open = true;
  while (std::chrono::steady_clock::now() < deadline) {
    if (open) {
      pollfd wanted{pipe, POLLIN, 0};
      poll(&wanted, 1, 10);
      open = drain(pipe, result.output);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (const auto status = poll_child(child)) {
      if (open) drain(pipe, result.output);
      result.exit_status = *status;
      return result;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<ProcessResult> run_process(const ProcessRequest& request) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  const pid_t child = SpawnPlan(request.folder, writing.get()).spawn(request);
  if (child < 0) {
    return system_error(fmt::format("cannot start `{}`", request.program), -child);
  }
  writing.close();
  if (auto result = follow(child, reading.get(), request.deadline)) return *std::move(result);
  kill(-child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Error{ErrorKind::limit,
               fmt::format("`{}` was not done in time and was stopped", request.program)};
}

}  // namespace tilevm::backend
