#include "vm/text/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "isa/base/origin.h"
#include "isa/inst/slot_table.h"

namespace tilevm::vm {

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = fmt::format("{}{:<{}}", indent, row[0], widths[0]);
    for (std::size_t c = 1; c < row.size(); ++c) {
      line += fmt::format("  {:>{}}", row[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string_view mnemonic(std::size_t instruction) {
  return isa::instruction_table()[instruction].description->mnemonic;
}

std::string location_of(const isa::VerifiedProgram& program, Span span) {
  std::string text = program.source().location(span.begin);
  if (const auto origin = origin_at(program.source(), span.begin)) {
    text += fmt::format(" ({})", origin_text(*origin));
  }
  return text;
}

std::string grouped(std::uint64_t value) {
  std::string text = fmt::format("{}", value);
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

}  // namespace tilevm::vm
