// `tilevm lsp`: serves an editor on standard input and output.
#include <csignal>

#include "vm/cli/commands.h"
#include "vm/lsp/server.h"

namespace tilevm::vm {

Exit lsp(const LspOptions& options, Io& io) {
  // An editor that is gone is an error of the next write, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  return static_cast<Exit>(serve_language(io.in, io.out, options.version));
}

}  // namespace tilevm::vm
