// `tilevm debug`: a program, step by step, forwards and backwards; `tilevm dap`: the same for
// editors.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/dap/serve.h"
#include "vm/debug/debugger.h"
#include "vm/debug/expression_text.h"
#include "vm/debug/line_editor.h"

namespace tilevm::vm {

namespace {

std::atomic<bool> interrupted{false};
extern "C" void on_interrupt(int) { interrupted = true; }

/// While it lives Ctrl-C stops a run instead of the tool.
class InterruptGuard {
 public:
  InterruptGuard() { before_ = std::signal(SIGINT, on_interrupt); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard() { std::signal(SIGINT, before_); }

 private:
  void (*before_)(int);
};

/// Shows on a terminal that a long run goes on.
class Progress {
 public:
  explicit Progress(Io& io) : io_(io), shows_(isatty(STDERR_FILENO) != 0) {}

  /// A command begins.
  void begin() { begin_ = std::chrono::steady_clock::now(); }
  /// False if the user interrupted.
  bool tick() {
    if (interrupted.exchange(false)) return false;
    if (!shows_) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now - begin_ < std::chrono::milliseconds(500) * (shown_ + 1)) return true;
    ++shown_;
    const std::chrono::duration<double> took = now - begin_;
    io_.err << fmt::format("\rrunning for {:.1f} s, Ctrl-C stops ", took.count()) << std::flush;
    return true;
  }
  /// The command has ended.
  void end() {
    if (shown_ > 0) io_.err << fmt::format("\r{:40}\r", "") << std::flush;
    shown_ = 0;
  }

 private:
  Io& io_;
  bool shows_;
  int shown_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Exit status_of(const Debugger& debugger) {
  if (debugger.had_error()) return Exit::usage;
  return debugger.met_fault() ? Exit::fault : Exit::ok;
}

/// Reads commands until the end of the input, or `quit`.
void talk(Debugger& debugger, const DebugCommandOptions& options, Progress& progress, Io& io) {
  const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  const bool edits = terminal && !options.batch && !options.json;
  const std::unique_ptr<LineEditor> editor = make_line_editor(io.in, io.out, edits, debugger);
  while (const std::optional<std::string> text = editor->read(Debugger::prompt)) {
    interrupted = false;
    if (!edits && !options.json) io.out << trim(std::string(Debugger::prompt) + *text) << '\n';
    progress.begin();
    const bool goes_on = debugger.line(*text);
    progress.end();
    io.out.flush();
    if (!goes_on) return;
  }
}

}  // namespace

Exit serve_dap(const DapOptions& options, Io& io) {
  std::signal(SIGPIPE, SIG_IGN);
  if (!options.port) {
    dap::serve(STDIN_FILENO, STDOUT_FILENO);
    return Exit::ok;
  }
  const Status served = dap::serve_on_port(*options.port, [&](int port) {
    io.err << fmt::format("listening on 127.0.0.1:{}\n", port) << std::flush;
  });
  return served ? Exit::ok : fail(io, served.error());
}

Exit debug(const DebugCommandOptions& options, Io& io) {
  Progress progress(io);
  auto opened = open_debugger(options, io, [&] { return progress.tick(); });
  if (const Exit* status = std::get_if<Exit>(&opened)) return *status;
  auto& [found, debugger, script] = std::get<OpenDebugger>(opened);
  std::optional<InterruptGuard> guard;
  if (!options.batch) guard.emplace();
  const bool goes_on = script.empty() || debugger->script(script);
  io.out.flush();
  if (goes_on && (!options.batch || options.script.empty())) talk(*debugger, options, progress, io);
  return options.batch ? status_of(*debugger) : Exit::ok;
}

}  // namespace tilevm::vm
