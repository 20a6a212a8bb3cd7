#include <algorithm>
#include <cctype>
#include <ostream>

#include <fmt/format.h>

#include "isa/base/suggest.h"
#include "vm/cli/commands.h"
#include "vm/cli/isa_reference.h"

namespace tilevm::vm {

namespace {

void list_all(const std::vector<InstructionInfo>& infos, Io& io) {
  std::vector<isa::Category> shown;
  for (const InstructionInfo& first : infos) {
    const isa::Category category = first.description.category;
    if (std::find(shown.begin(), shown.end(), category) != shown.end()) continue;
    io.out << (shown.empty() ? "" : "\n")
           << paint(isa::to_string(category), Style::bold, io.color_out) << '\n';
    shown.push_back(category);
    for (const InstructionInfo& info : infos) {
      if (info.description.category != category) continue;
      io.out << fmt::format("  {:<17} {}\n", info.description.mnemonic, info.description.summary);
    }
  }
  io.out << "\n`tilevm isa NAME` says more about one of them\n";
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

Exit isa_reference(const IsaOptions& options, Io& io) {
  if (options.markdown) {
    io.out << markdown_reference();
    return Exit::ok;
  }
  const std::vector<InstructionInfo> infos = all_instructions();
  if (options.mnemonic.empty()) {
    list_all(infos, io);
    return Exit::ok;
  }
  std::vector<std::string> names;
  for (const InstructionInfo& info : infos) {
    if (equal_ignoring_case(info.description.mnemonic, options.mnemonic)) {
      io.out << terminal_page(info);
      return Exit::ok;
    }
    names.emplace_back(info.description.mnemonic);
  }
  const std::string near = nearest(options.mnemonic, names);
  return fail(
      io, {ErrorKind::usage, fmt::format("there is no instruction `{}`; {}", options.mnemonic,
                                         near.empty() ? "`tilevm isa` lists them all"
                                                      : fmt::format("did you mean `{}`?", near))});
}

}  // namespace tilevm::vm
