#include "vm/picture/canvas.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tilevm::vm {

namespace {

constexpr int label_size = 11;

/// Words and lines outside of cells follow the reader's choice of light or dark; cells are pale in
/// both and their words black.
constexpr std::string_view svg_style =
    ".bg{fill:#fff}.w{fill:#1b1b1b}.f{fill:#5c5c5c}"
    ".c rect{stroke:#3c3c3c;stroke-width:.6}.c text{fill:#000}.m "
    "rect{stroke:#a00000;stroke-width:2.4}"
    "@media(prefers-color-scheme:dark){.bg{fill:#16181c}.w{fill:#f0f0f0}.f{fill:#b4b4b4}"
    ".m rect{stroke:#ff3b30}}";

}  // namespace

std::string_view palette(std::int64_t index) {
  static constexpr std::array<std::string_view, palette_size> colors{
      "#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#dddddd"};
  return colors[static_cast<std::size_t>(((index % palette_size) + palette_size) % palette_size)];
}

std::string escape_xml(std::string_view text) {
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

int Canvas::width_of(std::string_view text, int size) {
  // 0.6 em a character, rounded up.
  return (static_cast<int>(text.size()) * size * 6 + 9) / 10;
}

void Canvas::reach(std::int64_t x, std::int64_t y) {
  width_ = std::max(width_, x);
  height_ = std::max(height_, y);
}

void Canvas::cell(const Cell& cell) {
  body_ += fmt::format("<g class=\"c{}\"{}{}>", cell.marked ? " m" : "",
                       cell.attributes.empty() ? "" : " ", cell.attributes);
  if (!cell.hover.empty()) body_ += fmt::format("<title>{}</title>", escape_xml(cell.hover));
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>", cell.x,
                       cell.y, cell.width, cell.height, cell.fill);
  if (!cell.label.empty()) {
    body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                         cell.x + cell.width / 2, cell.y + (cell.height + label_size) / 2 - 2,
                         escape_xml(cell.label));
  }
  body_ += "</g>\n";
  reach(cell.x + cell.width, cell.y + cell.height);
}

void Canvas::box(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height,
                 std::string_view fill) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x, y,
                       width, height, fill);
  reach(x + width, y + height);
}

void Canvas::word(std::int64_t x, std::int64_t y, std::string_view text, int size, Anchor anchor,
                  bool faint) {
  static constexpr std::array<std::string_view, 3> anchors{"start", "middle", "end"};
  body_ += fmt::format(
      "<text class=\"{}\" x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\">{}</text>\n",
      faint ? "f" : "w", x, y, size, anchors[static_cast<std::size_t>(anchor)], escape_xml(text));
  const int width = width_of(text, size);
  reach(anchor == Anchor::start ? x + width : anchor == Anchor::middle ? x + width / 2 : x, y + 4);
}

void Canvas::mark(std::int64_t x0, std::int64_t y0, std::int64_t x1, std::int64_t y1) {
  body_ += fmt::format("<path d=\"M{} {}L{} {}\" stroke=\"#fff\"/>\n", x0, y0, x1, y1);
}

std::string Canvas::finish(std::string_view title) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Consolas, monospace\" "
      "font-size=\"{2}\" role=\"img\">\n<title>{3}</title>\n<style>{4}</style>\n"
      "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n{5}</svg>\n",
      width_ + margin, height_ + margin, label_size, escape_xml(title), svg_style, body_);
}

}  // namespace tilevm::vm
