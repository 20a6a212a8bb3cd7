// The commands as CLI11 reads them: names, options, and which member each option fills.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "vm/cli/io.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 calls itself so
class App;
}

namespace tilevm::vm {

/// A subcommand and what to call once it is parsed.
struct Command {
  CLI::App* app;
  std::function<Exit(Io&)> call;
};
using Commands = std::vector<Command>;

/// Adds the command of a name to the root: the options of all others would take longer than a small
/// program. Where no command has the name, and where it describes all, adds every command in the
/// order of the help page.
[[nodiscard]] Commands add_commands(CLI::App& root, std::string_view named);

}  // namespace tilevm::vm
