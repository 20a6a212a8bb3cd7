// Register layouts as text: the shortest product of factors, else the unified form.
//
// A product exists if and only if its digits can be put into one row that keeps the order of the
// spatial modes, of the local modes, and of the modes inside each dimension. A row is a path from
// (0, 0) to (all, all), a step taking the next spatial or the next local digits as one factor; the
// best path is found backwards.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "isa/layout/digits.h"
#include "isa/layout/register_layout.h"

namespace tilevm::isa {
namespace {

using Digit = RegisterLayout::Digit;

/// A step of the path: `count` digits from the spatial or the local list, as one factor.
struct Step {
  int cost = std::numeric_limits<int>::max();  ///< cost of the path from here; max: there is none
  bool spatial = false, column = false;
  std::size_t count = 0;
};

class ProductText {
 public:
  explicit ProductText(const RegisterLayout& layout)
      : shape_(layout.shape()),
        lists_{layout.local_digits(), layout.spatial_digits()},
        width_(lists_[0].size() + 1) {
    const std::size_t rows = lists_[1].size() + 1;
    steps_.resize(rows * width_);
    steps_.back().cost = 0;
    for (std::size_t s = rows; s-- > 0;) {
      for (std::size_t l = width_; l-- > 0;) {
        for (const bool spatial : {true, false}) choose(s, l, spatial);
      }
    }
  }

  [[nodiscard]] bool exists() const { return steps_.front().cost != Step{}.cost; }

  [[nodiscard]] std::string text() const {
    std::vector<std::string> factors;
    bool has_rank = shape_.empty();
    for (std::size_t s = 0, l = 0; at(s, l).count > 0;) {
      const Step& step = at(s, l);
      std::size_t& next = step.spatial ? s : l;
      factors.push_back(factor(step, next));
      has_rank = has_rank || lists_[step.spatial ? 1 : 0][next].dim >= 0;
      next += step.count;
    }
    if (!has_rank || factors.empty()) factors.push_back(call("local", Shape(shape_.size(), 1)));
    return fmt::format("{}", fmt::join(factors, "."));
  }

 private:
  [[nodiscard]] const Step& at(std::size_t s, std::size_t l) const {
    return steps_[s * width_ + l];
  }

  /// Whether all higher modes of the digit's dimension are among the first s and l digits.
  [[nodiscard]] bool is_next(const Digit& digit, std::size_t s, std::size_t l) const {
    if (digit.dim < 0) return true;
    const auto is_higher = [&](const Digit& other) {
      return other.dim == digit.dim && other.stride > digit.stride;
    };
    const auto taken = [&](const Digits& list, std::size_t count) {
      return std::none_of(list.begin() + static_cast<std::ptrdiff_t>(count), list.end(), is_higher);
    };
    return taken(lists_[1], s) && taken(lists_[0], l);
  }

  /// Tries every factor that takes its digits from one list at (s, l). A factor has one mode a
  /// dimension, in ascending order of dimensions, or descending for a column factor.
  void choose(std::size_t s, std::size_t l, bool spatial) {
    const Digits& list = lists_[spatial ? 1 : 0];
    std::size_t& next = spatial ? s : l;
    const std::size_t first = next;
    Step& best = steps_[s * width_ + l];
    bool column = false;
    while (next < list.size() && is_next(list[next], s, l)) {
      const int dim = list[next].dim;
      if (next > first) {
        const int before = list[next - 1].dim;
        if (before < 0 || dim < 0 || before == dim) return;
        if (next > first + 1 && column != (dim < before)) return;
        column = dim < before;
      }
      ++next;
      const Step& rest = at(s, l);
      if (rest.cost == Step{}.cost) continue;
      const int cost = rest.cost + (column ? 5 : 4);  // row factors win where the count is equal
      if (cost <= best.cost - (best.spatial && !spatial ? 1 : 0)) {
        best = {cost, spatial, column, next - first};
      }
    }
  }

  static std::string call(const char* name, const Shape& arguments) {
    return fmt::format("{}({})", name, fmt::join(arguments, ", "));
  }

  [[nodiscard]] std::string factor(const Step& step, std::size_t first) const {
    const Digits& list = lists_[step.spatial ? 1 : 0];
    if (list[first].dim < 0) return fmt::format("replicated({})", list[first].size);
    Shape arguments(shape_.size(), 1);
    for (std::size_t i = first; i < first + step.count; ++i) {
      arguments[static_cast<std::size_t>(list[i].dim)] = list[i].size;
    }
    if (step.spatial) return call(step.column ? "column_spatial" : "spatial", arguments);
    return call(step.column ? "column_local" : "local", arguments);
  }

  Shape shape_;
  Digits lists_[2];  // local, spatial
  std::size_t width_;
  std::vector<Step> steps_;
};

}  // namespace

std::string to_string(const RegisterLayout& layout) {
  const ProductText product(layout);
  if (product.exists()) return product.text();
  return fmt::format("layout({}, {}, [{}], [{}])", to_string(layout.shape()),
                     to_string(layout.mode_shape()), fmt::join(layout.spatial_modes(), ", "),
                     fmt::join(layout.local_modes(), ", "));
}

}  // namespace tilevm::isa
