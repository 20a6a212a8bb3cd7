// The command line: options in, one command called, its exit status out.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "backend/compile/kernel_cache.h"
#include "isa/base/shown.h"
#include "isa/base/suggest.h"
#include "vm/cli/command_line.h"
#include "vm/cli/help.h"
#include "vm/text/large_stack.h"
#include "vm/text/stream.h"

namespace {

using tilevm::Error;
using tilevm::ErrorKind;
using tilevm::vm::Commands;
using tilevm::vm::Exit;
using tilevm::vm::Io;

/// Options before or after the command's name.
struct Common {
  std::string color = "auto";
};

/// Help pages open with lines that can be typed as they are, and end with the exit statuses.
class ExamplesFirst : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    const std::string examples = tilevm::vm::help_examples(app->get_name());
    const std::string summary = app->get_description() + "\n";
    return examples.empty() ? summary : summary + "\n" + examples + "\n";
  }
  std::string make_footer(const CLI::App* app) const override {
    return "\n" + tilevm::vm::help_statuses(app->get_name());
  }
};

std::vector<std::string> command_names(const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::App* app : root.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(app->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// The command that was being parsed, or the root.
const CLI::App& active(const CLI::App& root) {
  const std::vector<CLI::App*> parsed = root.get_subcommands();
  return parsed.empty() ? root : *parsed.front();
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = tilevm::nearest(name, names);
  return near.empty() ? std::string() : "; did you mean `" + near + "`?";
}

std::string unknown_command(const std::string& word, const CLI::App& root) {
  return "unknown command `" + tilevm::shortened(word) + "`" +
         did_you_mean(word, command_names(root)) + " (`tilevm --help` lists them)";
}

/// CLI11's complaint in our words.
std::string usage_message(const CLI::ParseError& error, const CLI::App& root) {
  const CLI::App& app = active(root);
  const std::string help =
      &app == &root ? "`tilevm --help`" : "`tilevm " + app.get_name() + " --help`";
  const std::vector<std::string> rest = root.remaining(true);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !rest.empty()) {
    const std::string word = tilevm::shortened(rest.front());
    if (word.size() > 1 && word.front() == '-') {
      const std::string name = word.substr(0, word.find('='));
      return "unknown option `" + name + "`" + did_you_mean(name, option_names(app)) + " (" + help +
             " lists them)";
    }
    if (&app == &root) {
      return unknown_command(rest.front(), root);
    }
    return "`" + word + "` is one operand too many (" + help + ")";
  }
  std::string message = error.what();
  if (const std::size_t end = message.find('\n'); end != std::string::npos) message.resize(end);
  while (!message.empty() && message.back() == '.') message.pop_back();
  return message + " (" + help + ")";
}

bool wants_color(const std::string& choice, int descriptor) {
  if (choice != "auto") return choice == "always";
  const char* const none = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  if (none != nullptr && *none != '\0') return false;
  const char* const force = std::getenv("CLICOLOR_FORCE");
  if (force != nullptr && *force != '\0' && std::string_view(force) != "0") return true;
  if (term != nullptr && std::string_view(term) == "dumb") return false;
  return isatty(descriptor) == 1;
}

/// Parses and runs; help and version come back as CLI11's own exceptions.
Exit dispatch(CLI::App& root, const Commands& commands, const Common& common, Io& io) {
  io.color_out = wants_color(common.color, STDOUT_FILENO);
  io.color_err = wants_color(common.color, STDERR_FILENO);
  for (const tilevm::vm::Command& command : commands) {
    if (command.app->parsed()) return command.call(io);
  }
  io.out << root.help();
  return Exit::ok;
}

/// Whether nested brackets and blocks may need more stack than the shell permits.
bool has_small_stack() {
  rlimit limit{};
  constexpr rlim_t enough = rlim_t{1} << 22;
  return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < enough;
}

Exit run_main(int argc, char** argv, Io& io) {
  CLI::App root("tilevm: a virtual machine for GPU thread blocks", "tilevm");
  Common common;
  io.color_err = wants_color(common.color, STDERR_FILENO);
  root.formatter(std::make_shared<ExamplesFirst>());
  root.set_version_flag("-V,--version", std::string("tilevm ") + TILEVM_VERSION);
  root.add_option("--color", common.color, "auto (default), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  root.require_subcommand(0, 1);
  root.fallthrough();
  const Commands commands = tilevm::vm::add_commands(root, argc > 1 ? argv[1] : "");
  // `tilevm help run` is `tilevm run --help`.
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    const std::vector<std::string> known = command_names(root);
    if (const std::string asked = argc > 2 ? argv[2] : "";
        !asked.empty() && asked.front() != '-' && std::ranges::find(known, asked) == known.end()) {
      return tilevm::vm::fail(io, {ErrorKind::usage, unknown_command(asked, root)});
    }
    words.push_back("--help");
  }
  try {
    root.parse(static_cast<int>(words.size()), words.data());
    return dispatch(root, commands, common, io);
  } catch (const CLI::Success& asked) {
    root.exit(asked, io.out, io.err);
    return Exit::ok;
  } catch (const CLI::ParseError& error) {
    const bool json =
        std::find(words.begin(), words.end(), std::string_view("--json")) != words.end();
    tilevm::vm::Reporter reporter(io, active(root).get_name(), json);
    return reporter.fail(Error{ErrorKind::usage, usage_message(error, root)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto [in, out, err] = tilevm::vm::standard_streams();
  Io io{in, out, err};
  // A file that grows beyond the process's limit is an error of the write, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  tilevm::backend::on_cache_warning(
      [&](const std::string& what) { io.err << "tilevm: warning: " << what << '\n'; });
  Exit status = Exit::internal;
  try {
    const auto run = [&] { return run_main(argc, argv, io); };
    status = has_small_stack() ? tilevm::vm::on_large_stack(run) : run();
  } catch (const std::bad_alloc&) {
    status = tilevm::vm::fail(io, {ErrorKind::limit, "out of memory"});
  } catch (const std::exception& error) {
    io.err << "tilevm: internal error: " << error.what() << "; please report this\n";
  }
  io.out.flush();
  if (!io.out) {
    io.err << "tilevm: error: cannot write to standard output\n";
    return static_cast<int>(Exit::usage);
  }
  return static_cast<int>(status);
}
