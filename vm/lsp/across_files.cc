#include "vm/lsp/across_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "vm/lsp/features.h"

namespace tilevm::vm {

namespace {

constexpr std::size_t most_files = 2000, most_entries = 20'000;

/// The key of one definition, seen from any document.
std::string key_of(const DocumentView& view, const Symbol& symbol) {
  const DocumentView::Place place = view.place_in_file(symbol.definition);
  return fmt::format("{} {} {}", place.path, place.range.text(), symbol.name);
}

const Symbol* symbol_at(const DocumentView& view, std::uint32_t offset) {
  const Names& names = view.analysis().names;
  const Occurrence* found = names.at(offset);
  if (found == nullptr || found->symbol < 0) return nullptr;
  return &names.symbols[static_cast<std::size_t>(found->symbol)];
}

/// Calls f(view, index of the symbol) for the documents that know a symbol, the asking one first.
template <class F>
void for_each_view_of(const DocumentView& view, const Symbol& symbol, const ForEachView& views,
                      F&& f) {
  const std::string key = key_of(view, symbol);
  const auto look = [&](const DocumentView& other) {
    const auto& symbols = other.analysis().names.symbols;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i].name != symbol.name || !is_of_file(symbols[i].kind)) continue;
      if (key_of(other, symbols[i]) == key) f(other, static_cast<int>(i));
    }
  };
  look(view);
  views(symbol.name, [&](const DocumentView& other) {
    if (other.uri() != view.uri()) look(other);
  });
}

}  // namespace

Json references_across(const DocumentView& view, std::uint32_t offset, bool definitions,
                       const ForEachView& views) {
  const Symbol* symbol = symbol_at(view, offset);
  if (symbol == nullptr || !is_of_file(symbol->kind)) return references(view, offset, definitions);
  std::set<std::string> seen;
  Json list = Json::array();
  for_each_view_of(view, *symbol, views, [&](const DocumentView& other, int index) {
    const Names& names = other.analysis().names;
    const Span defined = names.symbols[static_cast<std::size_t>(index)].definition;
    for (const Occurrence& use : names.occurrences) {
      if (use.symbol != index || (!definitions && use.span == defined)) continue;
      const DocumentView::Place place = other.place_in_file(use.span);
      if (place.path.empty() || !seen.insert(place.uri + place.range.text()).second) continue;
      Json location = Json::object();
      list.push(location.set("uri", place.uri).set("range", place.range));
    }
  });
  return list;
}

Result<Json> rename_across(const DocumentView& view, std::uint32_t offset, const std::string& to,
                           const ForEachView& views) {
  const Symbol* symbol = symbol_at(view, offset);
  if (symbol == nullptr || !is_of_file(symbol->kind)) return rename(view, offset, to);
  if (view.place_in_file(symbol->definition).path.empty()) {
    return Error{
        ErrorKind::program,
        fmt::format("`{}` is of the standard library, which cannot be changed", symbol->name)};
  }
  std::set<std::string> seen;
  std::map<std::string, Json> edits;
  Status allowed = Done{};
  for_each_view_of(view, *symbol, views, [&](const DocumentView& other, int index) {
    if (!allowed) return;
    allowed = may_rename(other, index, to);
    for (const Occurrence& use : other.analysis().names.occurrences) {
      if (use.symbol != index) continue;
      const DocumentView::Place place = other.place_in_file(use.span);
      if (place.path.empty() || !seen.insert(place.uri + place.range.text()).second) continue;
      Json edit = Json::object();
      edits.try_emplace(place.uri, Json::array())
          .first->second.push(edit.set("range", place.range).set("newText", to));
    }
  });
  if (!allowed) return allowed.error();
  Json changes = Json::object(), result = Json::object();
  if (symbol->name != to) {
    for (auto& [uri, list] : edits) changes.set(uri, std::move(list));
  }
  return std::move(result.set("changes", std::move(changes)));
}

DiagnosticsByFile diagnostics_by_file(const DocumentView& view) {
  DiagnosticsByFile found;
  for (const Diagnostic& diagnostic : view.analysis().diagnostics.sorted()) {
    const SourceFile& bound = *view.analysis().bound;
    const auto place_in_text =
        static_cast<std::uint32_t>(bound.place_in_text(diagnostic.span.begin));
    if (view.analysis().names.is_own({place_in_text, place_in_text})) continue;
    const DocumentView::Place place = view.place_in_file(diagnostic.span);
    if (place.path.empty()) continue;
    found[place.uri].emplace_back(diagnostic.message,
                                  diagnostic_json(view, diagnostic, place.range));
  }
  return found;
}

std::vector<std::string> program_files(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::set<std::string> found;
  std::size_t looked = 0;
  for (const std::string& folder : folders) {
    std::error_code error;
    auto entry = fs::recursive_directory_iterator(
        folder, fs::directory_options::skip_permission_denied, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (++looked > most_entries || found.size() >= most_files) break;
      const fs::path& path = entry->path();
      if (path.filename().string().starts_with('.')) {
        entry.disable_recursion_pending();
      } else if (path.extension() == ".tile" && entry->is_regular_file(error)) {
        found.insert(fs::weakly_canonical(path, error).generic_string());
      }
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace tilevm::vm
