#include <fmt/format.h>

#include <algorithm>

#include "isa/layout/draw.h"
#include "isa/layout/draw_sheet.h"

namespace tilevm::isa {
namespace {

constexpr std::int64_t max_drawn_cells = 1 << 14;
constexpr int cell_height = 20, min_cell_width = 28, margin = 32, heading_height = 24;

/// Text that is safe inside an XML element or attribute; control characters become blanks.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return out;
}

/// Far apart for neighbouring threads: multiples of the golden angle.
int hue(std::int64_t thread) { return static_cast<int>(thread * 137508 % 360000 / 1000); }

class SvgWriter {
 public:
  explicit SvgWriter(const RegisterLayout& layout)
      : layout_(layout), labels_(layout), sheet_(layout.shape(), max_drawn_cells) {}

  std::string write(const std::string& title) {
    measure(title.size());
    heading(margin, escaped(title), 14);
    for (const auto& panel : sheet_.panels()) write_panel(panel);
    if (sheet_.omitted() > 0) heading(margin, sheet_.omission(), 12);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"monospace\" font-size=\"9\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
        width_, y_ + margin / 2, body_);
  }

 private:
  /// The widest label sets the width of cells; the widest table, or the title, that of the picture.
  void measure(std::size_t title_length) {
    std::size_t longest = 0;
    std::int64_t columns = 1;
    for (const auto& panel : sheet_.panels()) {
      columns = std::max(columns, panel.cols);
      for_each_cell(panel, [&](std::int64_t, std::int64_t, const Index& index) {
        longest = std::max(longest, labels_.label(index).size());
      });
    }
    cell_width_ = std::max(min_cell_width, static_cast<int>(longest) * 6 + 4);
    const std::int64_t title_width =
        static_cast<std::int64_t>(title_length) * 9;  // 14 px monospace
    width_ = std::int64_t{2} * margin + std::max(columns * cell_width_, title_width);
  }

  template <class F>
  void for_each_cell(const Sheet::Panel& panel, F f) const {
    for (std::int64_t row = 0; row < panel.rows; ++row) {
      for (std::int64_t col = 0; col < panel.cols; ++col) {
        if (const auto index = sheet_.index(panel, row, col)) f(row, col, *index);
      }
    }
  }

  void heading(int x, const std::string& text, int size) {
    y_ += heading_height;
    body_ +=
        fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\">{}</text>\n", x, y_ - 8, size, text);
  }

  void number(std::int64_t x, std::int64_t y, std::int64_t value) {
    body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#777\">{}</text>\n",
                         x, y, value);
  }

  void write_panel(const Sheet::Panel& panel) {
    if (!panel.heading.empty()) heading(margin, panel.heading, 12);
    y_ += 14;  // column numbers
    for (std::int64_t col = 0; col < panel.cols; ++col) {
      number(margin + col * cell_width_ + cell_width_ / 2, y_ - 4, col);
    }
    for (std::int64_t row = 0; row < panel.rows; ++row) {
      const std::int64_t first = layout_.rank() == 1 ? row * panel.cols : row;
      number(margin / 2, y_ + row * cell_height + 13, first);
    }
    for_each_cell(panel, [&](std::int64_t row, std::int64_t col, const Index& index) {
      write_cell(margin + col * cell_width_, y_ + row * cell_height, index);
    });
    y_ += panel.rows * cell_height + 4;
  }

  void write_cell(std::int64_t x, std::int64_t y, const Index& index) {
    const std::int64_t thread = labels_.thread(index);
    body_ += fmt::format(
        "<g class=\"c\" data-t=\"{}\"><title>{}: thread {}, local {}</title>"
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"hsl({}, 70%, 80%)\" "
        "stroke=\"#555\" stroke-width=\"0.5\"/>"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>\n",
        thread, to_string(index), labels_.threads(index), layout_.local_of(index), x, y,
        cell_width_, cell_height, hue(thread), x + cell_width_ / 2, y + 13, labels_.label(index));
  }

  const RegisterLayout& layout_;
  CellLabels labels_;
  Sheet sheet_;
  std::string body_;
  int cell_width_ = min_cell_width;
  std::int64_t width_ = 0, y_ = 0;
};

}  // namespace

std::string draw_svg(const RegisterLayout& layout, const std::string& title) {
  return SvgWriter(layout).write(title);
}

std::string draw_html(const RegisterLayout& layout, const std::string& title) {
  // data-t is the first thread of a cell: two cells share threads if and only if it is the same.
  static constexpr const char* page = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{0}</title>
<style>
body {{ font-family: sans-serif; margin: 1em; }}
.on rect {{ stroke: #000; stroke-width: 2; fill: #ff0; }}
</style>
</head>
<body>
<p>{1}</p>
{2}<script>
const cells = document.querySelectorAll(".c");
function mark(thread) {{
  for (const cell of cells) cell.classList.toggle("on", cell.dataset.t === thread);
}}
for (const cell of cells) {{
  cell.addEventListener("mouseenter", () => mark(cell.dataset.t));
  cell.addEventListener("mouseleave", () => mark(null));
}}
</script>
</body>
</html>
)";
  return fmt::format(page, escaped(title), escaped(describe(layout)), draw_svg(layout, title));
}

}  // namespace tilevm::isa
