#include <algorithm>

#include <fmt/format.h>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/frontend.h"
#include "frontend/syntax/lines.h"
#include "isa/inst/scalar.h"
#include "isa/type/dtype.h"
#include "vm/lsp/features.h"

namespace tilevm::vm {

namespace {

/// The occurrence of a symbol at a place; null if there is none.
const Occurrence* symbol_at(const DocumentView& view, std::uint32_t offset) {
  const Occurrence* found = view.analysis().names.at(offset);
  return found != nullptr && found->symbol >= 0 ? found : nullptr;
}

const Symbol& symbol_of(const DocumentView& view, const Occurrence& occurrence) {
  return view.analysis().names.symbols[static_cast<std::size_t>(occurrence.symbol)];
}

template <class F>
void for_each_use(const DocumentView& view, int symbol, F&& f) {
  for (const Occurrence& one : view.analysis().names.occurrences) {
    if (one.symbol == symbol) f(one);
  }
}

bool is_name(std::string_view text) {
  return !text.empty() && frontend::leading_word(text).size() == text.size() &&
         !frontend::is_keyword(text);
}

/// Why a symbol may not get this name; empty if it may.
std::string obstacle(const Names& names, int symbol, const std::string& to) {
  if (!is_name(to)) return fmt::format("`{}` is not a name", to);
  if (frontend::is_instruction(to)) return fmt::format("`{}` is an instruction", to);
  if (isa::parse_dtype(to) || isa::parse_scalar_kind(to)) {
    return fmt::format("`{}` is the name of a type", to);
  }
  const frontend::LanguageWords words = frontend::language_words();
  for (const auto* list : {&words.layouts, &words.layout_methods}) {
    if (std::find(list->begin(), list->end(), to) != list->end()) {
      return fmt::format("`{}` makes a layout", to);
    }
  }
  if (std::find(words.functions.begin(), words.functions.end(), to) != words.functions.end()) {
    return fmt::format("`{}` is a function of the language", to);
  }
  const Symbol& renamed = names.symbols[static_cast<std::size_t>(symbol)];
  for (const Symbol& other : names.symbols) {
    const bool meets =
        other.scope.begin < renamed.scope.end && renamed.scope.begin < other.scope.end;
    if (other.name == to && meets) {
      return fmt::format("`{}` exists already where `{}` is used", to, renamed.name);
    }
  }
  return "";
}

/// SymbolKind of the protocol: a constant, or a function.
int protocol_kind(NameKind kind) { return kind == NameKind::constant ? 14 : 12; }

}  // namespace

Json definition(const DocumentView& view, std::uint32_t offset) {
  const Occurrence* found = symbol_at(view, offset);
  if (found == nullptr) return {};
  return view.location(symbol_of(view, *found).definition);
}

Json references(const DocumentView& view, std::uint32_t offset, bool definitions) {
  const Occurrence* found = symbol_at(view, offset);
  if (found == nullptr) return {};
  Json list = Json::array();
  const Span declared = symbol_of(view, *found).definition;
  for_each_use(view, found->symbol, [&](const Occurrence& use) {
    if (definitions || use.span != declared) list.push(view.location(use.span));
  });
  return list;
}

Json highlights(const DocumentView& view, std::uint32_t offset) {
  const Occurrence* found = symbol_at(view, offset);
  if (found == nullptr) return {};
  Json list = Json::array();
  for_each_use(view, found->symbol, [&](const Occurrence& use) {
    if (!view.analysis().names.is_own(use.span)) return;
    Json item = Json::object();
    list.push(item.set("range", view.range(use.span)).set("kind", use.defines ? 3 : 2));
  });
  return list;
}

Json document_symbols(const DocumentView& view) {
  Json list = Json::array();
  for (const Symbol& symbol : view.analysis().names.symbols) {
    if (!is_of_file(symbol.kind) || !view.analysis().names.is_own(symbol.definition)) continue;
    Json item = Json::object();
    item.set("name", symbol.name).set("kind", protocol_kind(symbol.kind));
    if (symbol.kind == NameKind::constant) item.set("detail", symbol.text);
    item.set("range", view.range(symbol.definition));
    list.push(item.set("selectionRange", view.range(symbol.definition)));
  }
  return list;
}

Json prepare_rename(const DocumentView& view, std::uint32_t offset) {
  const Occurrence* found = symbol_at(view, offset);
  if (found == nullptr) return {};
  Json result = Json::object();
  return result.set("range", view.range(found->span))
      .set("placeholder", symbol_of(view, *found).name);
}

Status may_rename(const DocumentView& view, int symbol, const std::string& to) {
  const Symbol& renamed = view.analysis().names.symbols[static_cast<std::size_t>(symbol)];
  if (renamed.name == to) return Done{};
  if (!view.analysis().parsed) {
    return Error{ErrorKind::program,
                 fmt::format("`{}` or a file that it includes has lines that cannot be read, where "
                             "the name may occur too; correct them first",
                             view.uri())};
  }
  const std::string why = obstacle(view.analysis().names, symbol, to);
  if (why.empty()) return Done{};
  return Error{ErrorKind::program, why + "; choose another name"};
}

Result<Json> rename(const DocumentView& view, std::uint32_t offset, const std::string& to) {
  const Occurrence* found = symbol_at(view, offset);
  if (found == nullptr) {
    return Error{
        ErrorKind::program,
        "only constants, kernels, pipelines, functions, parameters and variables have names to "
        "change"};
  }
  if (symbol_of(view, *found).name == to) return view.workspace_edit(Json::array());
  const Status allowed = may_rename(view, found->symbol, to);
  if (!allowed) return allowed.error();
  Json edits = Json::array();
  for_each_use(view, found->symbol,
               [&](const Occurrence& use) { edits.push(view.edit(use.span, to)); });
  return view.workspace_edit(std::move(edits));
}

}  // namespace tilevm::vm
