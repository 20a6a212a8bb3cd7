#include "vm/dap/serve.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "vm/dap/adapter.h"
#include "vm/dap/transport.h"
#include "vm/debug/compare.h"
#include "vm/debug/open.h"
#include "vm/debug/target.h"

namespace tilevm::vm::dap {

namespace {

/// Loads what a client launches.
Result<Launched> open(const LaunchArguments& launch, std::function<bool()> tick) {
  TargetRequest request;
  request.path = launch.program;
  request.defines = launch.defines;
  request.entry = launch.entry;
  request.data.inputs = launch.inputs;
  request.seeding = {launch.seed, launch.wild};
  request.exact = launch.exact;
  request.folders = launch.folders;
  if (!launch.target.empty()) request.architecture = launch.target;
  Result<FoundTarget> found = find_target(request);
  if (!found) return found.error();
  if (!found->target) {
    return Error{ErrorKind::program, render(found->diagnostics, *found->source, false)};
  }
  Launched launched;
  if (found->source && !found->diagnostics.sorted().empty()) {
    launched.notes.push_back(render(found->diagnostics, *found->source, false));
  }
  for (const DataNote& note : found->notes) {
    launched.notes.push_back(fmt::format("note: {} [{}]", note.message, to_string(note.code)));
  }
  DebugOptions options;
  options.timeline.memory = launch.memory << 20;
  options.timeline.tick = std::move(tick);
  options.run.max_steps = launch.max_steps.value_or(options.run.max_steps);
  auto session = open_session(found->target->program, found->target->entry,
                              std::move(found->target->tensors), options);
  if (!session) return session.error();
  launched.session = *std::move(session);
  launched.compare = [request](const std::string& engine) { return compare_with(request, engine); };
  return launched;
}

}  // namespace

namespace {

/// A client, and the request that runs now.
class Service {
 public:
  Service(int input, int output)
      : connection_(input, output),
        adapter_({[this](const LaunchArguments& launch) {
                    return open(launch, [this] { return tick(); });
                  },
                  [this](const Json& message) { connection_.send(message); }}) {}

  void run() {
    while (const auto message = connection_.receive()) {
      begin_ = std::chrono::steady_clock::now();
      told_ = 0;
      const bool goes_on = adapter_.handle(*message);
      if (told_ > 0) adapter_.tell(Adapter::Progress::ends, seconds());
      if (!goes_on) return;
    }
  }

 private:
  /// A message that asks for an end waits behind the run that it should stop.
  bool tick() {
    if (connection_.closed()) return false;
    for (const char* const command : {"pause", "terminate", "disconnect", "cancel"}) {
      if (connection_.waits(command)) return false;
    }
    if (seconds() > 0.5 * (told_ + 1)) {
      adapter_.tell(told_ == 0 ? Adapter::Progress::begins : Adapter::Progress::goes_on, seconds());
      ++told_;
    }
    return true;
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  Connection connection_;
  Adapter adapter_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int told_ = 0;  ///< number of progress messages so far
};

}  // namespace

void serve(int input, int output) { Service(input, output).run(); }

Status serve_on_port(int port, const std::function<void(int)>& listening) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const int yes = 1;
  if (listener >= 0) setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (listener < 0 ||
      bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener, 1) != 0) {
    const std::string why = std::strerror(errno);
    if (listener >= 0) close(listener);
    return Error{ErrorKind::usage, fmt::format("cannot listen on port {}: {}", port, why)};
  }
  socklen_t size = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  listening(ntohs(address.sin_port));
  const int client = accept(listener, nullptr, nullptr);
  close(listener);
  if (client < 0) return Error{ErrorKind::usage, "no client could connect"};
  serve(client, client);
  close(client);
  return Done{};
}

}  // namespace tilevm::vm::dap
