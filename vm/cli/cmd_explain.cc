
#include <fmt/format.h>

#include "isa/base/codes.h"
#include "isa/base/suggest.h"
#include "vm/cli/commands.h"

namespace tilevm::vm {

namespace {

Json code_entry_json(Code code) {
  const CodeInfo info = *code_info(code);
  Json item = Json::object();
  item.set("code", to_string(code)).set("title", info.title);
  return std::move(item.set("explanation", info.explanation));
}

Exit list_codes(Reporter& reporter) {
  Json list = Json::array();
  for (const Code code : all_codes()) {
    if (reporter.json()) {
      list.push(code_entry_json(code));
    } else {
      reporter.io().out << fmt::format("{}  {}\n", to_string(code), code_info(code)->title);
    }
  }
  reporter.set("codes", std::move(list));
  return reporter.finish(Exit::ok);
}

Error no_such_code(const std::string& text) {
  std::vector<std::string> names;
  for (const Code each : all_codes()) names.push_back(to_string(each));
  const std::string near = nearest(text, names);
  return {ErrorKind::usage, fmt::format("there is no code `{}`; {}", text,
                                        near.empty() ? "`tilevm explain` lists them all"
                                                     : fmt::format("did you mean `{}`?", near))};
}

}  // namespace

Exit explain(const ExplainOptions& options, Io& io) {
  Reporter reporter(io, "explain", options.json);
  if (options.code.empty()) return list_codes(reporter);
  const std::optional<Code> code = parse_code(options.code);
  if (!code) return reporter.fail(no_such_code(options.code));
  if (!options.json) {
    const CodeInfo info = *code_info(*code);
    io.out << paint(fmt::format("{}: {}", to_string(*code), info.title), Style::bold, io.color_out)
           << "\n\n"
           << info.explanation << '\n';
  }
  Json list = Json::array();
  list.push(code_entry_json(*code));
  reporter.set("codes", std::move(list));
  return reporter.finish(Exit::ok);
}

}  // namespace tilevm::vm
