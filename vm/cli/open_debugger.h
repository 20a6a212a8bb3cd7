// The debugger as the options of `tilevm debug` ask for it. Who talks to it is the caller's
// business: a terminal, a script, or a page.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "vm/cli/commands.h"
#include "vm/debug/debugger.h"
#include "vm/debug/target.h"

namespace tilevm::vm {

struct OpenDebugger {
  std::unique_ptr<FoundTarget> found;  ///< what is debugged
  std::unique_ptr<Debugger> debugger;  ///< writes to the streams that it was opened with
  std::string script;                  ///< the text of the options' script, or empty
};

/// Opens and greets; `tick` is called now and then while a run goes on, and ends it with false. The
/// status where there is nothing to debug, which has been said.
[[nodiscard]] std::variant<OpenDebugger, Exit> open_debugger(const DebugCommandOptions& options,
                                                             Io& io, std::function<bool()> tick);

}  // namespace tilevm::vm
