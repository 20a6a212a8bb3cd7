#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "isa/layout/draw.h"
#include "isa/layout/draw_sheet.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

/// The tables of a sheet, cells padded to one width and two blanks apart; `paint` may add escapes
/// around a padded cell.
std::string tables(const Sheet& sheet, const std::function<std::string(const Index&)>& label,
                   const std::function<std::string(const Index&, std::string)>& paint) {
  std::vector<std::vector<std::pair<Index, std::string>>> lines;
  std::vector<std::string> headings;
  std::size_t width = 0;
  for (const auto& panel : sheet.panels()) {
    for (std::int64_t row = 0; row < panel.rows; ++row) {
      lines.emplace_back();
      headings.push_back(row == 0 ? panel.heading : "");
      for (std::int64_t col = 0; col < panel.cols; ++col) {
        const auto index = sheet.index(panel, row, col);
        if (!index) continue;
        lines.back().emplace_back(*index, label(*index));
        width = std::max(width, lines.back().back().second.size());
      }
    }
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!headings[i].empty()) text += (i > 0 ? "\n" : "") + headings[i] + "\n";
    for (const auto& [index, cell] : lines[i]) {
      if (&index != &lines[i].front().first) text += "  ";
      text += paint(index, fmt::format("{:<{}}", cell, width));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  const std::string omission = sheet.omission();
  return omission.empty() ? text : text + omission + '\n';
}

/// Black on one of eight pale backgrounds of the 256-colour terminal palette: those nearest to Paul
/// Tol's "light" scheme, whose members people with any colour blindness can tell apart.
std::string painted(std::int64_t index, const std::string& cell) {
  constexpr int backgrounds[] = {110, 209, 222, 217, 117, 79, 149, 253};
  return fmt::format("\x1b[30;48;5;{}m{}\x1b[0m", backgrounds[index % 8], cell);
}

}  // namespace

std::string draw_text(const RegisterLayout& layout, bool color, std::int64_t max_cells) {
  const CellLabels labels(layout);
  return tables(
      Sheet(layout.shape(), max_cells), [&](const Index& index) { return labels.label(index); },
      [&](const Index& index, const std::string& cell) {
        return color ? painted(labels.thread(index), cell) : cell;
      });
}

std::string draw_text(const MemoryLayout& layout, int element_bits, bool color) {
  const auto bank = [&](const Index& index) {
    return layout.offset(index) * std::min(element_bits, 128) / 32 % 32;
  };
  const auto label = [&](const Index& index) {
    const std::int64_t offset = layout.offset(index);
    return element_bits <= 0 ? fmt::format("{}", offset)
                             : fmt::format("{}@{}", offset, bank(index));
  };
  return tables(Sheet(layout.shape(), 1 << 14), label,
                [&](const Index& index, const std::string& cell) {
                  return color && element_bits > 0 ? painted(bank(index) / 4, cell) : cell;
                });
}

std::string describe(const RegisterLayout& layout) {
  std::string text = fmt::format("{}: shape {}, {} elements, {} threads x {} local elements",
                                 to_string(layout), to_string(layout.shape()), layout.size(),
                                 layout.num_threads(), layout.num_locals());
  if (layout.num_replicas() > 1) {
    text += fmt::format(", each element in {} threads", layout.num_replicas());
  }
  text += fmt::format("; modes {}, spatial modes [{}], local modes [{}]",
                      to_string(layout.mode_shape()), fmt::join(layout.spatial_modes(), ", "),
                      fmt::join(layout.local_modes(), ", "));
  for (int dim = 0; dim < layout.rank(); ++dim) {
    if (const auto run = contiguity(layout, dim); run > 1) {
      text += fmt::format("; runs of {} along dimension {} in each thread", run, dim);
    }
  }
  return text;
}

}  // namespace tilevm::isa
