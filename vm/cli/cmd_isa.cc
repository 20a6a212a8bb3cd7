#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "frontend/bind/frontend.h"
#include "isa/base/suggest.h"
#include "isa/type/dtype.h"
#include "vm/cli/commands.h"
#include "vm/text/isa_reference.h"

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

Json word_list_json(const std::vector<std::string>& words) {
  Json list = Json::array();
  for (const std::string& word : words) list.push(word);
  return list;
}

/// {"schema": 1, "keywords": [..], "instructions": [..], ..}
Json words_json() {
  const frontend::LanguageWords words = frontend::language_words();
  std::vector<std::string> instructions, types, operands;
  for (const InstructionInfo& info : all_instructions()) {
    instructions.emplace_back(info.description.mnemonic);
    for (const OperandInfo& operand : info.operands) operands.emplace_back(operand.name);
  }
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  for (const isa::DType& type : isa::all_dtypes()) types.push_back(isa::to_string(type));
  Json object = Json::object();
  object.set("schema", 1).set("keywords", word_list_json(words.keywords));
  object.set("instructions", word_list_json(instructions))
      .set("operands", word_list_json(operands));
  object.set("layouts", word_list_json(words.layouts));
  object.set("layout_methods", word_list_json(words.layout_methods));
  object.set("functions", word_list_json(words.functions));
  return object.set("decorators", word_list_json(words.decorators))
      .set("types", word_list_json(types));
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

/// The instructions as items of `instructions`.
Exit show_json(const std::vector<InstructionInfo>& infos, Reporter& reporter) {
  Json list = Json::array();
  for (const InstructionInfo& info : infos) list.push(reference_json(info));
  reporter.set("instructions", std::move(list));
  return reporter.finish(Exit::ok);
}

}  // namespace

Exit isa_reference(const IsaOptions& options, Io& io) {
  Reporter reporter(io, "isa", options.json);
  if (options.markdown) {
    io.out << markdown_reference();
    return Exit::ok;
  }
  if (options.words) {
    io.out << words_json().text() << '\n';
    return Exit::ok;
  }
  const std::vector<InstructionInfo> infos = all_instructions();
  if (options.mnemonic.empty()) {
    if (options.json) return show_json(infos, reporter);
    list_all(infos, io);
    return Exit::ok;
  }
  std::vector<std::string> names;
  for (const InstructionInfo& info : infos) {
    if (equal_ignoring_case(info.description.mnemonic, options.mnemonic)) {
      if (options.json) return show_json({info}, reporter);
      io.out << terminal_page(info);
      return Exit::ok;
    }
    names.emplace_back(info.description.mnemonic);
  }
  const std::string near = nearest(options.mnemonic, names);
  return reporter.fail(
      Error{ErrorKind::usage, fmt::format("there is no instruction `{}`; {}", options.mnemonic,
                                          near.empty() ? "`tilevm isa` lists them all"
                                                       : fmt::format("did you mean `{}`?", near))});
}

}  // namespace tilevm::vm
