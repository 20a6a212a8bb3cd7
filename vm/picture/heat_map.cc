#include "vm/picture/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "isa/type/number.h"
#include "vm/picture/canvas.h"

namespace tilevm::vm {

namespace {

constexpr std::uint64_t most_side = 64;
constexpr std::int64_t cell_side = 9;
constexpr std::string_view not_finite_color = "#d7191c";

/// Rows and columns that a tensor is drawn with.
struct Grid {
  std::uint64_t rows = 1, columns = 1;

  explicit Grid(const HostTensor& tensor) {
    const std::uint64_t size = tensor.size();
    if (tensor.shape.size() >= 2) {
      columns = std::max<std::uint64_t>(static_cast<std::uint64_t>(tensor.shape.back()), 1);
    } else {
      columns = std::min<std::uint64_t>(std::max<std::uint64_t>(size, 1), most_side);
    }
    rows = (size + columns - 1) / columns;
  }
};

/// The colours of cividis, from the darkest: five of its colours, with straight lines between them.
std::string color_at(double share) {
  constexpr std::array<std::array<int, 3>, 5> stops{
      {{0, 32, 77}, {65, 77, 107}, {124, 123, 120}, {187, 175, 113}, {255, 233, 69}}};
  const double at = std::clamp(share, 0.0, 1.0) * (stops.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  const double part = at - static_cast<double>(low);
  std::array<int, 3> color{};
  for (std::size_t i = 0; i < color.size(); ++i) {
    color[i] =
        static_cast<int>(std::lround(stops[low][i] + part * (stops[low + 1][i] - stops[low][i])));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", color[0], color[1], color[2]);
}

struct Cell {
  std::uint64_t finite = 0, nans = 0, infinities = 0;
  double sum = 0;

  [[nodiscard]] double mean() const { return finite == 0 ? 0 : sum / static_cast<double>(finite); }
};

/// From the least to the greatest cell.
class Scale {
 public:
  explicit Scale(const std::vector<Cell>& cells) {
    bool first = true;
    for (const Cell& cell : cells) {
      if (cell.finite == 0) continue;
      least_ = first ? cell.mean() : std::min(least_, cell.mean());
      greatest_ = first ? cell.mean() : std::max(greatest_, cell.mean());
      first = false;
    }
  }
  [[nodiscard]] double share(double value) const {
    const double spread = greatest_ - least_;
    return spread > 0 ? (value - least_) / spread : 0.5;
  }

 private:
  double least_ = 0, greatest_ = 0;
};

}  // namespace

TensorSummary summarise(const HostTensor& tensor) {
  TensorSummary summary;
  summary.elements = tensor.size();
  bool first = true;
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    const isa::Number number = isa::decode(tensor.dtype, tensor.code(k));
    if (number.is_nan()) {
      ++summary.nans;
    } else if (number.is_inf()) {
      ++summary.infinities;
    } else {
      const double value = isa::to_double(number);
      summary.least = first ? value : std::min(summary.least, value);
      summary.greatest = first ? value : std::max(summary.greatest, value);
      first = false;
    }
  }
  return summary;
}

std::string draw_heat_map(const std::string& name, const HostTensor& tensor) {
  const Grid grid(tensor);
  const std::uint64_t rows = std::min(grid.rows, most_side);
  const std::uint64_t columns = std::min(grid.columns, most_side);
  const TensorSummary summary = summarise(tensor);
  std::vector<Cell> cells(rows * columns);
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    const std::uint64_t row = k / grid.columns * rows / grid.rows;
    const std::uint64_t column = k % grid.columns * columns / grid.columns;
    Cell& cell = cells[row * columns + column];
    const isa::Number number = isa::decode(tensor.dtype, tensor.code(k));
    cell.nans += number.is_nan() ? 1 : 0;
    cell.infinities += number.is_inf() ? 1 : 0;
    if (number.is_nan() || number.is_inf()) continue;
    ++cell.finite;
    cell.sum += isa::to_double(number);
  }
  Canvas canvas;
  std::int64_t y = Canvas::margin + 12;
  const std::string title =
      fmt::format("{}: {}, from {} to {}", name, format_type(tensor.dtype, tensor.shape),
                  summary.least, summary.greatest);
  canvas.word(Canvas::margin, y, title, 12);
  y += 8;
  const Scale scale(cells);
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      const Cell& cell = cells[row * columns + column];
      const std::int64_t left = Canvas::margin + static_cast<std::int64_t>(column) * cell_side;
      const std::int64_t top = y + static_cast<std::int64_t>(row) * cell_side;
      const bool marked = cell.nans + cell.infinities > 0;
      if (cell.finite == 0 && !marked) continue;
      canvas.box(left, top, cell_side, cell_side,
                 marked ? std::string(not_finite_color) : color_at(scale.share(cell.mean())));
      if (!marked) continue;
      canvas.mark(left, top, left + cell_side, top + cell_side);
      if (cell.nans > 0) canvas.mark(left, top + cell_side, left + cell_side, top);
    }
  }
  y += static_cast<std::int64_t>(rows) * cell_side + 16;
  std::string legend = "dark blue: the least cell, yellow: the greatest";
  if (grid.rows > rows || grid.columns > columns) legend += "; a cell is a mean of several";
  canvas.word(Canvas::margin, y, legend, 11, Canvas::Anchor::start, true);
  if (summary.nans + summary.infinities > 0) {
    canvas.word(Canvas::margin, y + 15,
                fmt::format("{} NaN (red, crossed), {} infinities (red, one stroke)", summary.nans,
                            summary.infinities),
                11);
  }
  return canvas.finish(title);
}

}  // namespace tilevm::vm
