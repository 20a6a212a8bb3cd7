// Commands whose work is done elsewhere: `tilevm lsp` by the language server, `tilevm triton` by
// the Python package, since the user's own Triton is a part of it.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "vm/cli/commands.h"
#include "vm/lsp/server.h"

namespace tilevm::vm {

namespace {

/// The words of `python3 -m tilevm.triton`.
std::vector<std::string> words_of(const TritonOptions& options) {
  const char* named = std::getenv("TILEVM_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  std::vector<std::string> words = {python, "-m", "tilevm.triton", options.file};
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(name);
    words.push_back(value);
  };
  for (const std::string& each : options.signature) add("-s", each);
  for (const std::string& each : options.constants) add("-c", each);
  for (const std::string& each : options.settings) add("-O", each);
  add("--target", options.target);
  add("--compiled-by", options.compiled_by);
  add("--module", options.module);
  add("-o", options.output);
  return words;
}

}  // namespace

/// Becomes the Python program; what is below the call happens if there is none.
Exit triton(const TritonOptions& options, Io& io) {
  std::vector<std::string> words = words_of(options);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  io.out.flush();
  io.err.flush();
  execvp(arguments.front(), arguments.data());
  return fail(io, {ErrorKind::unavailable,
                   fmt::format("`{}` cannot be started ({}); name the Python that has Triton and "
                               "the package tilevm in TILEVM_PYTHON",
                               words.front(), std::strerror(errno))});
}

Exit lsp(const LspOptions& options, Io& io) {
  // An editor that is gone is an error of the next write, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  return static_cast<Exit>(serve_language(io.in, io.out, options.version));
}

}  // namespace tilevm::vm
