#include "vm/lsp/document.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "frontend/syntax/grammar.h"
#include "isa/analysis/idle_code.h"
#include "vm/run/load.h"

namespace tilevm::vm {

namespace {

/// Bytes and UTF-16 units of the character that begins a text; a byte that is not UTF-8 counts as
/// one of each.
struct Character {
  std::size_t bytes = 1;
  std::int64_t units = 1;
};

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  bytes = std::min(bytes, text.size());
  return {bytes, bytes == 4 ? 2 : 1};
}

std::int64_t units_of(std::string_view text) {
  std::int64_t units = 0;
  while (!text.empty()) {
    const Character next = first_character(text);
    units += next.units;
    text.remove_prefix(next.bytes);
  }
  return units;
}

std::uint32_t line_begin(const SourceFile& source, std::int64_t line) {
  const std::string_view text = source.line(static_cast<int>(line + 1));
  return static_cast<std::uint32_t>(text.data() - source.text().data());
}

}  // namespace

std::uint32_t to_offset(const SourceFile& source, Position position, Encoding encoding) {
  const auto end = static_cast<std::uint32_t>(source.text().size());
  if (position.line < 0) return 0;
  if (position.line >= source.line_count()) return end;
  std::string_view rest = source.line(static_cast<int>(position.line + 1));
  std::uint32_t offset = line_begin(source, position.line);
  std::int64_t left = position.character;
  while (!rest.empty() && left > 0) {
    const Character next = first_character(rest);
    left -= encoding == Encoding::utf8 ? static_cast<std::int64_t>(next.bytes) : next.units;
    offset += static_cast<std::uint32_t>(next.bytes);
    rest.remove_prefix(next.bytes);
  }
  return offset;
}

Position to_position(const SourceFile& source, std::uint32_t offset, Encoding encoding) {
  const LineColumn at = source.locate(offset);
  const std::int64_t line = at.line - 1;
  const std::uint32_t bytes = static_cast<std::uint32_t>(at.column - 1);
  if (encoding == Encoding::utf8) return {line, bytes};
  return {line, units_of(std::string_view(source.text()).substr(line_begin(source, line), bytes))};
}

const isa::Type* Analysis::type_of(const Occurrence& occurrence) const {
  if (occurrence.symbol < 0) return nullptr;
  const Symbol& symbol = names.symbols[static_cast<std::size_t>(occurrence.symbol)];
  const auto of_item = variables.find(symbol.item);
  if (of_item == variables.end()) return nullptr;
  const auto found = of_item->second.find(symbol.name);
  if (found == of_item->second.end()) return nullptr;
  // The last variable of the name before this place; a name may begin a new variable.
  const std::vector<const isa::Variable*>& list = found->second;
  const auto after = std::partition_point(list.begin(), list.end(), [&](const isa::Variable* one) {
    return one->span.begin < occurrence.visible_from || one->span == occurrence.span;
  });
  return after == list.begin() ? &list.front()->type : &(*std::prev(after))->type;
}

Analysis::Found Analysis::instruction_at(std::uint32_t offset) const {
  const isa::Program& known = program ? program->program() : partial;
  for (std::size_t k = 0; k < known.kernels.size(); ++k) {
    Found found;
    Span smallest{};
    isa::for_each_statement(known.kernels[k].body, [&](const isa::Stmt& stmt) {
      const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
      if (inst == nullptr || offset < stmt.span.begin || offset > stmt.span.end) return;
      if (found.stmt != nullptr &&
          stmt.span.end - stmt.span.begin > smallest.end - smallest.begin) {
        return;
      }
      found = {static_cast<int>(k), inst};
      smallest = stmt.span;
    });
    if (found.stmt != nullptr) return found;
  }
  return {};
}

namespace {

/// The path of `file:///home/a%20b.tile`; "-" for what is not a file, which includes nothing.
std::string plain_path_of(std::string_view uri) {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme)) return "-";
  std::string path;
  for (std::size_t i = scheme.size(); i < uri.size(); ++i) {
    unsigned code = 0;
    const bool escaped = uri[i] == '%' && i + 2 < uri.size();
    const char* const end = uri.data() + i + 3;
    if (escaped && std::from_chars(uri.data() + i + 1, end, code, 16).ptr == end) {
      path += static_cast<char>(code);
      i += 2;
    } else {
      path += uri[i];
    }
  }
  return path;
}

/// The variables of the kernels of `analysis.partial`.
std::map<int, Analysis::Variables> index_variables(const Analysis& analysis) {
  std::map<std::uint32_t, int> item_of_kernel;
  const auto items = all_items(analysis.tree);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto* kernel = std::get_if<frontend::ast::Kernel>(&items[i]->node);
    if (kernel != nullptr) item_of_kernel[kernel->name.span.begin] = static_cast<int>(i);
  }
  std::map<int, Analysis::Variables> index;
  for (const isa::Kernel& kernel : analysis.partial.kernels) {
    const auto item = item_of_kernel.find(kernel.span.begin);
    if (item == item_of_kernel.end()) continue;
    Analysis::Variables& variables = index[item->second];
    for (const isa::Variable& variable : kernel.variables) {
      variables[variable.name].push_back(&variable);
    }
    for (auto& [name, list] : variables) {
      std::stable_sort(list.begin(), list.end(),
                       [](const auto* a, const auto* b) { return a->span.begin < b->span.begin; });
    }
  }
  return index;
}

}  // namespace

std::string path_of(std::string_view uri) {
  const std::string path = plain_path_of(uri);
  std::error_code error;
  return path == "-" ? path : std::filesystem::weakly_canonical(path, error).generic_string();
}

std::string uri_of(const std::string& path) {
  std::string uri = "file://";
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("/._-~+").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Analysis analyse_names(const std::string& uri, std::string text, const Settings& settings,
                       const EditedText& edited) {
  Analysis result;
  result.source = std::make_shared<const SourceFile>(uri, std::move(text));
  result.bound = with_includes(result.source, plain_path_of(uri), edited, settings.folders);
  result.tree = frontend::parse_partially(*result.bound, result.diagnostics);
  result.parsed = !result.diagnostics.has_errors();
  result.names = find_names(result.tree, *result.bound);
  return result;
}

Analysis analyse(const std::string& uri, std::string text, const Settings& settings,
                 const EditedText& edited) {
  Analysis result = analyse_names(uri, std::move(text), settings, edited);
  // Only types of a tree without its faulty lines give diagnostics: what is missing causes errors.
  Diagnostics of_faulty_tree;
  const frontend::BindOptions options{settings.defines, settings.target};
  result.partial = frontend::bind_partially(result.tree, result.bound, options,
                                            result.parsed ? result.diagnostics : of_faulty_tree);
  result.bound = result.partial.source;
  result.variables = index_variables(result);
  if (!result.diagnostics.has_errors()) {
    result.program = isa::verify(result.partial, settings.target, result.diagnostics);
  }
  if (result.program) {
    for (const isa::Kernel& kernel : result.program->program().kernels) {
      isa::note_idle_code(kernel, result.program->source(), result.diagnostics);
    }
  }
  return result;
}

Position DocumentView::position(std::uint32_t offset) const {
  const auto end = static_cast<std::uint32_t>(source().text().size());
  const std::uint32_t place = std::min(offset, end);
  const bool goes_on = source().locate(place).line - 1 == last_.line && place >= last_offset_;
  if (encoding_ == Encoding::utf16 && goes_on) {
    last_.character +=
        units_of(std::string_view(source().text()).substr(last_offset_, place - last_offset_));
  } else {
    last_ = to_position(source(), place, encoding_);
  }
  last_offset_ = place;
  return last_;
}

Json DocumentView::place(std::uint32_t offset) const {
  const Position at = position(offset);
  Json object = Json::object();
  return object.set("line", at.line).set("character", at.character);
}

Json DocumentView::range(Span span) const {
  Json object = Json::object();
  return object.set("start", place(span.begin)).set("end", place(span.end));
}

DocumentView::Place DocumentView::place_in_file(Span span) const {
  const SourceFile& bound = *analysis_.bound;
  const auto begin = static_cast<std::uint32_t>(bound.place_in_text(span.begin));
  const auto file =
      std::prev(std::ranges::upper_bound(bound.files(), begin, {}, &SourceFile::File::begin));
  Place place;
  if (file == bound.files().begin()) {
    place.path = path_of(uri_);
    place.uri = uri_;
  } else if (!file->name.starts_with("std/")) {
    std::error_code error;
    place.path = std::filesystem::weakly_canonical(file->name, error).generic_string();
    place.uri = find_uri_ ? find_uri_(place.path) : uri_of(place.path);
  }
  const SourceFile alone("", bound.text().substr(file->begin, file->end - file->begin));
  const auto at = [&](std::uint32_t offset) {
    const Position position = to_position(alone, offset - std::min(offset, file->begin), encoding_);
    Json object = Json::object();
    return object.set("line", position.line).set("character", position.character);
  };
  place.range = Json::object();
  place.range.set("start", at(begin));
  place.range.set("end", at(begin + (span.end - span.begin)));
  return place;
}

Json DocumentView::location(Span span) const {
  const auto& files = analysis_.bound->files();
  if (files.size() > 1 && analysis_.bound->place_in_text(span.begin) >= files[1].begin) {
    const Place place = place_in_file(span);
    if (place.path.empty()) return {};
    Json object = Json::object();
    return object.set("uri", place.uri).set("range", place.range);
  }
  Json object = Json::object();
  return object.set("uri", uri_).set("range", range(span));
}

Json DocumentView::edit(Span span, std::string_view text) const {
  Json object = Json::object();
  return object.set("range", range(span)).set("newText", text);
}

Json DocumentView::workspace_edit(Json edits) const {
  Json changes = Json::object();
  changes.set(uri_, std::move(edits));
  Json object = Json::object();
  return object.set("changes", std::move(changes));
}

std::int64_t DocumentView::length(Span span) const {
  const Position begin = position(span.begin);  // ascending, as position() likes it
  return position(span.end).character - begin.character;
}

}  // namespace tilevm::vm
