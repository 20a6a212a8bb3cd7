// What a picture of a layout consists of: tables of cells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// The tables of a picture: one for rank 0 to 2, else one a leading index; rank 1 is folded into
/// rows of 8. Cut to a number of cells.
class Sheet {
 public:
  struct Panel {
    std::string heading;      ///< "[0, 1, :, :]", or empty for the only table
    Index lead;               ///< indices of all but the last two dimensions
    std::int64_t rows, cols;  ///< extents that are drawn
  };

  Sheet(const Shape& shape, std::int64_t max_cells);

  [[nodiscard]] const std::vector<Panel>& panels() const { return panels_; }
  /// Elements that are not drawn.
  [[nodiscard]] std::int64_t omitted() const { return omitted_; }
  /// "... 24 more elements", or empty.
  [[nodiscard]] std::string omission() const;

  /// The element of a cell; nothing past the end of a folded row.
  [[nodiscard]] std::optional<Index> index(const Panel& panel, std::int64_t row,
                                           std::int64_t col) const;

 private:
  Shape shape_;
  std::vector<Panel> panels_;
  std::int64_t omitted_ = 0;
};

/// Labels of a register layout's cells. The threads of every element form the same pattern of
/// replicas, shifted, so the pattern is computed once.
class CellLabels {
 public:
  explicit CellLabels(const RegisterLayout& layout);

  /// The first thread that holds an element.
  [[nodiscard]] std::int64_t thread(const Index& index) const;
  /// "5", "0,4", "0..3", "0..3,64..67"; at most four runs, then "..".
  [[nodiscard]] std::string threads(const Index& index) const;
  /// "0..3:1".
  [[nodiscard]] std::string label(const Index& index) const;

 private:
  struct Run {
    std::int64_t first, last;
  };
  const RegisterLayout& layout_;
  std::vector<Run> runs_;
  bool more_ = false;
};

}  // namespace tilevm::isa
