#include "isa/layout/draw_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "isa/layout/digits.h"

namespace tilevm::isa {
namespace {

constexpr std::int64_t folded_columns = 8;
constexpr std::size_t max_runs = 4;

std::string panel_heading(const Index& lead) {
  std::string text = "[";
  for (const std::int64_t i : lead) text += fmt::format("{}, ", i);
  return text + ":, :]";
}

}  // namespace

Sheet::Sheet(const Shape& shape, std::int64_t max_cells) : shape_(shape) {
  const std::size_t rank = shape.size();
  std::int64_t left = std::max<std::int64_t>(max_cells, 1);
  const std::int64_t size = element_count(shape);
  if (rank < 2) {
    const std::int64_t shown = std::min(left, size);
    const std::int64_t cols = std::min(shown, folded_columns);
    const std::int64_t rows = shown < size ? shown / cols : (shown + cols - 1) / cols;
    panels_.push_back({"", {}, rows, cols});
    omitted_ = std::max<std::int64_t>(size - panels_[0].rows * cols, 0);
    return;
  }
  const Shape outer(shape.begin(), shape.end() - 2);
  const std::int64_t panel_count = element_count(outer);
  std::int64_t shown = 0;
  for (std::int64_t p = 0; p < panel_count && left > 0; ++p) {
    const std::int64_t cols = std::min(shape[rank - 1], left);
    const std::int64_t rows = std::min(shape[rank - 2], left / cols);
    Index lead = unravel(p, outer);
    std::string heading = rank > 2 ? panel_heading(lead) : "";
    panels_.push_back({std::move(heading), std::move(lead), rows, cols});
    shown += rows * cols;
    left -= rows * cols;
    if (rows < shape[rank - 2] || cols < shape[rank - 1]) break;
  }
  omitted_ = size - shown;
}

std::string Sheet::omission() const {
  return omitted_ > 0 ? fmt::format("... {} more elements", omitted_) : "";
}

std::optional<Index> Sheet::index(const Panel& panel, std::int64_t row, std::int64_t col) const {
  if (shape_.empty()) return Index{};
  if (shape_.size() == 1) {
    const std::int64_t x = row * folded_columns + col;
    return x < shape_[0] ? std::optional(Index{x}) : std::nullopt;
  }
  Index index = panel.lead;
  index.push_back(row);
  index.push_back(col);
  return index;
}

CellLabels::CellLabels(const RegisterLayout& layout) : layout_(layout) {
  for (const std::int64_t t : layout.threads_of(Index(layout.shape().size(), 0))) {
    if (!runs_.empty() && runs_.back().last + 1 == t) {
      runs_.back().last = t;
    } else if (runs_.size() < max_runs) {
      runs_.push_back({t, t});
    } else {
      more_ = true;
      break;
    }
  }
}

std::int64_t CellLabels::thread(const Index& index) const {
  std::int64_t thread = 0;
  for (const auto& term : layout_.thread_terms()) {
    thread += index[static_cast<std::size_t>(term.dim)] / term.stride % term.size * term.divisor;
  }
  return thread;
}

std::string CellLabels::threads(const Index& index) const {
  const std::int64_t base = thread(index);
  std::string text;
  for (const Run& run : runs_) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}", base + run.first);
    if (run.last > run.first) {
      text += fmt::format("{}{}", run.last == run.first + 1 ? "," : "..", base + run.last);
    }
  }
  return more_ ? text + ",.." : text;
}

std::string CellLabels::label(const Index& index) const {
  return fmt::format("{}:{}", threads(index), layout_.local_of(index));
}

}  // namespace tilevm::isa
