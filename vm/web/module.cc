// What the playground's page calls. The command line itself is `main`, which the page calls with
// the words of a command; files are those of the module's own memory, and streams are read and
// written by the page. A terminal is not there: `tilevm debug` opens a debugger that stays, and
// lines for it come one at a time.
#include <string>
#include <utility>
#include <variant>

#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/debug/render.h"
#include "vm/text/stream.h"

namespace tilevm::vm {

namespace {

OpenDebugger& open_now() {
  static OpenDebugger debugger;
  return debugger;
}

}  // namespace

Exit debug(const DebugCommandOptions& options, Io& io) {
  open_now() = {};
  auto opened = open_debugger(options, io, [] { return true; });
  if (const Exit* status = std::get_if<Exit>(&opened)) return *status;
  open_now() = std::get<OpenDebugger>(std::move(opened));
  OpenDebugger& now = open_now();
  if (!now.script.empty()) (void)now.debugger->script(now.script);
  return now.debugger->met_fault() ? Exit::fault : Exit::ok;
}

}  // namespace tilevm::vm

using tilevm::vm::open_now;

/// Does a line of the debugger that `tilevm debug` opened; text goes to standard output. Where the
/// run is then, as the object of `tilevm debug --json` about a stop; "" if the line moved nothing,
/// or if there is no debugger. An empty line tells where the run is without doing anything. Valid
/// until the next call.
extern "C" const char* tilevm_debug(const char* line) {
  static std::string stop;
  stop.clear();
  auto& [found, debugger, script] = open_now();
  if (!debugger) return stop.c_str();
  if (*line != '\0') (void)debugger->line(line);
  if (const auto stopped = debugger->take_stop()) {
    stop = tilevm::vm::reply_json(*stopped, found->target->program).text();
  }
  tilevm::vm::standard_streams().out.flush();
  return stop.c_str();
}
