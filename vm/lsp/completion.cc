#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "frontend/bind/frontend.h"
#include "frontend/syntax/lines.h"
#include "isa/type/dtype.h"
#include "vm/lsp/features.h"
#include "vm/text/isa_reference.h"

namespace tilevm::vm {

namespace {

/// CompletionItemKind of the protocol.
enum class ItemKind : std::uint8_t {
  method = 2,
  function = 3,
  field = 5,
  variable = 6,
  property = 10,
  keyword = 14,
  constant = 21,
  type = 25,
};

class Items {
 public:
  void put(const std::string& label, ItemKind kind, std::string_view detail = {}) {
    if (!seen_.insert(label).second) return;
    Json item = Json::object();
    item.set("label", label).set("kind", static_cast<int>(kind));
    if (!detail.empty()) item.set("detail", detail);
    list_.push(std::move(item));
  }
  void put(const std::string& label, Json item) {
    if (seen_.insert(label).second) list_.push(std::move(item));
  }

  [[nodiscard]] Json result() {
    Json object = Json::object();
    return object.set("isIncomplete", false).set("items", std::move(list_));
  }

 private:
  std::set<std::string> seen_;
  Json list_ = Json::array();
};

/// "Cast(${1:src}, dtype=${2:dtype})": operands that must be given.
std::string snippet(const InstructionInfo& info) {
  std::string operands;
  int number = 0;
  for (const OperandInfo& operand : info.operands) {
    if (operand.optional) continue;
    ++number;
    const bool plain = operand.type == "register tile" || operand.type == "shared tensor" ||
                       operand.type == "global view" || operand.type == "pointer";
    operands +=
        fmt::format("{}{}${{{}:{}}}", operands.empty() ? "" : ", ",
                    plain ? std::string() : fmt::format("{}=", operand.name), number, operand.name);
  }
  return fmt::format("{}({})$0", info.description.mnemonic, operands);
}

Json instruction_item(const InstructionInfo& info, bool snippets) {
  Json item = Json::object();
  item.set("label", info.description.mnemonic);
  item.set("kind", static_cast<int>(ItemKind::function)).set("detail", signature(info));
  item.set("documentation", info.description.summary);
  if (!snippets) return item;
  return item.set("insertText", snippet(info)).set("insertTextFormat", 2);
}

void add_operands(const OpenCall& call, Items& items) {
  for (const InstructionInfo& info : all_instructions()) {
    if (info.description.mnemonic != call.callee) continue;
    for (const OperandInfo& operand : info.operands) {
      Json item = Json::object();
      const std::string label = fmt::format("{}=", operand.name);
      item.set("label", label).set("kind", static_cast<int>(ItemKind::property));
      item.set("detail", operand.type).set("documentation", operand.doc);
      items.put(label, item.set("sortText", fmt::format("0{}", operand.name)));
    }
    if (info.description.result == isa::ResultKind::register_tile) {
      items.put("out=", ItemKind::property, "register tile");
    }
  }
}

void add_names(const Analysis& analysis, std::uint32_t offset, Items& items) {
  for (const Symbol& symbol : analysis.names.symbols) {
    if (offset < symbol.scope.begin || offset > symbol.scope.end) continue;
    switch (symbol.kind) {
      case NameKind::constant:
        items.put(symbol.name, ItemKind::constant, symbol.text);
        break;
      case NameKind::kernel:
      case NameKind::pipeline:
      case NameKind::function:
        items.put(symbol.name, ItemKind::function);
        break;
      case NameKind::parameter:
      case NameKind::variable: {
        const Occurrence use{
            {},    symbol.kind, static_cast<int>(&symbol - analysis.names.symbols.data()),
            false, {},          offset};
        const isa::Type* type = analysis.type_of(use);
        items.put(symbol.name, ItemKind::variable,
                  type != nullptr ? to_string(*type) : symbol.text);
        break;
      }
      case NameKind::keyword:
      case NameKind::instruction:
      case NameKind::layout:
      case NameKind::type:
      case NameKind::operand:
      case NameKind::decorator:
      case NameKind::number:
      case NameKind::string:
      case NameKind::comment:
      case NameKind::unknown:
        break;
    }
  }
}

/// The character before the word that ends at a place, blanks skipped; 0 at the begin of a line.
char before_word(const std::string& text, std::uint32_t offset) {
  std::uint32_t at = std::min(offset, static_cast<std::uint32_t>(text.size()));
  while (at > 0 && frontend::is_word_byte(text[at - 1])) --at;
  while (at > 0 && text[at - 1] == ' ') --at;
  return at == 0 || text[at - 1] == '\n' ? '\0' : text[at - 1];
}

}  // namespace

/// Brackets are counted backwards over a bounded part of the text; strings and comments may hide
/// some, which costs a wrong suggestion and nothing else.
std::optional<OpenCall> open_call(const SourceFile& source, std::uint32_t offset) {
  constexpr std::uint32_t farthest = 4096;
  const std::string& text = source.text();
  const std::uint32_t from = std::min(offset, static_cast<std::uint32_t>(text.size()));
  OpenCall call;
  int depth = 0;
  std::string_view argument;
  std::uint32_t end = from;
  for (std::uint32_t at = from; at > 0 && from - at < farthest; --at) {
    const char c = text[at - 1];
    if (c == ')' || c == ']') ++depth;
    if (c == '[' && depth-- == 0) {
      depth = 0;
      call.operand = 0;  // commas so far were inside of this list
      argument = {};
      continue;
    }
    if (c == ',' && depth == 0) {
      if (call.operand++ == 0) argument = std::string_view(text).substr(at, end - at);
    }
    if (c != '(') continue;
    if (depth-- > 0) continue;
    if (call.operand == 0) argument = std::string_view(text).substr(at, end - at);
    std::uint32_t begin = at - 1;
    while (begin > 0 && frontend::is_word_byte(text[begin - 1])) --begin;
    call.callee = text.substr(begin, at - 1 - begin);
    if (call.callee.empty() || call.callee.front() < 'A' || call.callee.front() > 'Z') {
      // A layout or a group inside of a call: what is around it counts.
      depth = 0;
      call = {};
      argument = {};
      end = begin;
      continue;
    }
    const std::size_t first = argument.find_first_not_of(" \n");
    if (first != std::string_view::npos) argument.remove_prefix(first);
    const std::string_view name = frontend::leading_word(argument);
    const std::string_view rest = argument.substr(name.size());
    const std::size_t equals = rest.find_first_not_of(' ');
    if (equals != std::string_view::npos && rest[equals] == '=') call.name = name;
    return call;
  }
  return std::nullopt;
}

Json completion(const DocumentView& view, std::uint32_t offset, bool snippets) {
  Items items;
  const frontend::LanguageWords words = frontend::language_words();
  const std::string& text = view.source().text();
  const Occurrence* at = view.analysis().names.at(offset);
  if (at != nullptr && (at->kind == NameKind::comment || at->kind == NameKind::string)) {
    return items.result();
  }
  const char before = before_word(text, offset);
  if (before == '.') {
    for (const std::string& name : words.layout_methods) items.put(name, ItemKind::method);
    for (const std::string& name : words.layouts) items.put(name, ItemKind::method);
    return items.result();
  }
  if (before == '@') {
    for (const std::string& name : words.decorators) items.put(name, ItemKind::function);
    return items.result();
  }
  if (const auto call = open_call(view.source(), offset)) add_operands(*call, items);
  add_names(view.analysis(), offset, items);
  for (const InstructionInfo& info : all_instructions()) {
    items.put(std::string(info.description.mnemonic), instruction_item(info, snippets));
  }
  for (const std::string& name : words.layouts) items.put(name, ItemKind::function, "layout");
  for (const std::string& name : words.functions) items.put(name, ItemKind::function);
  for (const isa::DType& type : isa::all_dtypes()) {
    items.put(isa::to_string(type), ItemKind::type, fmt::format("{} bits", type.bits));
  }
  for (const std::string& name : words.keywords) items.put(name, ItemKind::keyword);
  return items.result();
}

}  // namespace tilevm::vm
