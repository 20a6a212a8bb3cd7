// `tilevm completion` and `tilevm man`: the command line, described to shells and to man.
#include <filesystem>
#include <ostream>
#include <system_error>

#include <fmt/format.h>

#include "vm/cli/commands.h"
#include "vm/manual/completion.h"
#include "vm/manual/man_page.h"

namespace tilevm::vm {

Exit complete(const CompletionOptions& options, Io& io) {
  Reporter reporter(io, "completion", false);
  const Result<std::string> script = completion(options.table(), options.shell);
  if (!script) return reporter.fail(script.error());
  io.out << *script;
  return reporter.finish(Exit::ok);
}

Exit manual(const ManualOptions& options, Io& io) {
  Reporter reporter(io, "man", false);
  if (options.folder.empty()) {
    const Result<std::string> page = man_page(options.table(), options.command);
    if (!page) return reporter.fail(page.error());
    io.out << *page;
    return reporter.finish(Exit::ok);
  }
  std::error_code failed;
  std::filesystem::create_directories(options.folder, failed);
  const CommandTable table = options.table();
  std::vector<std::string> names{""};
  for (const CommandEntry& command : table.commands) names.push_back(command.name);
  for (const std::string& name : names) {
    const Result<std::string> page = man_page(table, name);
    if (!page) return reporter.fail(page.error());
    const std::string file = options.folder + "/" + man_page_name(name);
    if (const Status written = write_result(io, file, *page); !written) {
      return reporter.fail(written.error());
    }
  }
  return reporter.finish(Exit::ok);
}

}  // namespace tilevm::vm
