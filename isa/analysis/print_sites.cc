#include "isa/analysis/print_sites.h"

#include <algorithm>

#include "isa/analysis/statements.h"

namespace tilevm::isa {
namespace {

/// Indices from each end of a dimension of a large tile; fewer where there are many dimensions.
constexpr std::int64_t max_edge = 4;
/// Longer names are cut.
constexpr std::size_t max_name = 60;

Shape shown_shape(const Shape& shape) {
  if (element_count(shape) <= max_shown_elements) return shape;
  Shape shown = shape;
  for (std::int64_t edge = max_edge; edge > 0; --edge) {
    for (std::size_t d = 0; d < shape.size(); ++d) shown[d] = std::min(shape[d], 2 * edge);
    if (element_count(shown) <= max_shown_elements) break;
  }
  return shown;
}

std::size_t container_bytes(unsigned bits) {
  if (bits <= 8) return 1;
  if (bits <= 16) return 2;
  return bits <= 32 ? 4 : 8;
}

/// The program's text with single spaces, cut where it is long.
std::string name_from(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) name += c;
    if (space && !name.empty() && name.back() != ' ') name += ' ';
  }
  if (name.size() <= max_name) return name;
  std::size_t end = max_name;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) --end;  // UTF-8
  return name.substr(0, end) + "...";
}

PrintSite site_of(const Print& print, const InstStmt& stmt, Span span, const Kernel& kernel,
                  const SourceFile& source) {
  PrintSite site;
  site.stmt = &stmt;
  site.span = span;
  if (print.label) site.label = print.label->value;
  if (!stmt.slot_spans.empty()) site.name = name_from(source.text(stmt.slot_spans[0]));
  if (const auto* tile = std::get_if<RegisterOperand>(&print.value.value)) {
    const Variable& variable = kernel.variable(tile->var);
    const auto& type = *std::get_if<RegisterType>(&variable.type);
    if (site.name.empty()) site.name = variable.name;
    site.dtype = type.dtype;
    site.shape = type.shape();
  } else {
    const Expr& value = std::get_if<ScalarOperand>(&print.value.value)->value;
    if (site.name.empty()) site.name = to_string(value);
    site.dtype = element_type(value.kind());
    site.scalar = value.kind();
  }
  site.shown = shown_shape(site.shape);
  site.element_bytes = container_bytes(site.dtype.bits);
  const auto elements = static_cast<std::size_t>(element_count(site.shown));
  site.record_bytes = print_header_bytes + (elements * site.element_bytes + 7) / 8 * 8;
  return site;
}

}  // namespace

std::vector<PrintSite> find_print_sites(const Kernel& kernel, const SourceFile& source) {
  std::vector<PrintSite> sites;
  const Statements statements(kernel);
  statements.for_each_instruction([&](StmtId id, const InstStmt& stmt) {
    if (const auto* print = std::get_if<Print>(&stmt.inst)) {
      sites.push_back(site_of(*print, stmt, statements[id].span, kernel, source));
    }
  });
  return sites;
}

}  // namespace tilevm::isa
