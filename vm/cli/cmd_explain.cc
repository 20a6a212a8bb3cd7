#include <ostream>

#include <fmt/format.h>

#include "isa/base/codes.h"
#include "isa/base/suggest.h"
#include "vm/cli/commands.h"

namespace tilevm::vm {

Exit explain(const ExplainOptions& options, Io& io) {
  if (options.code.empty()) {
    for (const Code code : all_codes()) {
      io.out << fmt::format("{}  {}\n", to_string(code), code_info(code)->title);
    }
    return Exit::ok;
  }
  const std::optional<Code> code = parse_code(options.code);
  if (!code) {
    std::vector<std::string> names;
    for (const Code each : all_codes()) names.push_back(to_string(each));
    const std::string near = nearest(options.code, names);
    return fail(io, {ErrorKind::usage,
                     fmt::format("there is no code `{}`; {}", options.code,
                                 near.empty() ? "`tilevm explain` lists them all"
                                              : fmt::format("did you mean `{}`?", near))});
  }
  const CodeInfo info = *code_info(*code);
  io.out << paint(fmt::format("{}: {}", to_string(*code), info.title), Style::bold, io.color_out)
         << "\n\n"
         << info.explanation << '\n';
  return Exit::ok;
}

}  // namespace tilevm::vm
