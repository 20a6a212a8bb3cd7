// Commands whose work is done elsewhere: `tilevm lsp` by the language server, `tilevm triton` by
// the Python package, since the user's own Triton is a part of it, and `tilevm pack`, since the
// formats of checkpoints are read there.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "vm/cli/commands.h"
#include "vm/lsp/server.h"

namespace tilevm::vm {

namespace {

/// `python3 -m MODULE`, with the Python that TILEVM_PYTHON names.
std::vector<std::string> python_of(const char* module) {
  const char* named = std::getenv("TILEVM_PYTHON");
  return {named != nullptr && *named != '\0' ? named : "python3", "-m", module};
}

/// Becomes the Python program; returns if there is none.
Exit become(std::vector<std::string> words, const char* what, Io& io) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  io.out.flush();
  io.err.flush();
  execvp(arguments.front(), arguments.data());
  return fail(io, {ErrorKind::unavailable,
                   fmt::format("`{}` cannot be started ({}); name the Python that has {} in "
                               "TILEVM_PYTHON",
                               words.front(), std::strerror(errno), what)});
}

std::vector<std::string> words_of(const TritonOptions& options) {
  std::vector<std::string> words = python_of("tilevm.triton");
  words.push_back(options.file);
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

Exit triton(const TritonOptions& options, Io& io) {
  return become(words_of(options), "Triton and the package tilevm", io);
}

Exit pack(const PackOptions& options, Io& io) {
  std::vector<std::string> words = python_of("tilevm.checkpoints");
  if (options.quiet) words.emplace_back("--quiet");
  words.emplace_back("--");
  words.push_back(options.source);
  if (!options.destination.empty()) words.push_back(options.destination);
  return become(std::move(words), "the package tilevm", io);
}

Exit lsp(const LspOptions& options, Io& io) {
  // An editor that is gone is an error of the next write, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  return static_cast<Exit>(serve_language(io.in, io.out, options.version));
}

}  // namespace tilevm::vm
