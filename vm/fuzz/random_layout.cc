#include "vm/fuzz/random_layout.h"

#include <algorithm>
#include <vector>

#include "isa/base/check.h"

namespace tilevm::vm::fuzz {
namespace {

using isa::LayoutDigit;
using isa::MemoryLayout;
using isa::RegisterLayout;
using isa::Shape;

std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> factors;
  for (std::int64_t p = 2; n > 1; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  return factors;
}

std::vector<std::int64_t> shuffled_factors(Draw& draw, std::int64_t n) {
  std::vector<std::int64_t> factors = prime_factors(n);
  draw.shuffle(factors);
  return factors;
}

RegisterLayout built(Result<RegisterLayout> layout) {
  TILEVM_CHECK(layout.ok(), "a drawn register layout is well formed");
  return *std::move(layout);
}

/// Digits that are given to dimensions from the least significant on.
class DigitMaker {
 public:
  explicit DigitMaker(std::size_t rank) : shape_(rank, 1) {}

  LayoutDigit next(std::size_t dim, std::int64_t size) {
    const LayoutDigit digit{static_cast<int>(dim), size, shape_[dim]};
    shape_[dim] *= size;
    return digit;
  }
  [[nodiscard]] const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
};

}  // namespace

Shape random_shape(Draw& draw, int rank, std::int64_t most) {
  static const std::vector<std::int64_t> extents = {1,  2,  2, 4, 4, 8, 8,  8,
                                                    16, 16, 3, 5, 6, 7, 12, 32};
  Shape shape;
  for (int d = 0; d < rank; ++d) {
    std::int64_t extent = draw.pick(extents);
    while (extent > most) extent = extent > 16 ? extent / 2 : std::max<std::int64_t>(most, 1);
    shape.push_back(extent);
    most /= extent;
  }
  return shape;
}

RegisterLayout random_layout(Draw& draw, std::int64_t threads, const Shape& shape) {
  std::vector<std::int64_t> spare = shuffled_factors(draw, threads);
  std::vector<LayoutDigit> spatial, local;
  DigitMaker digits(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (const std::int64_t factor : shuffled_factors(draw, shape[d])) {
      const LayoutDigit digit = digits.next(d, factor);
      const auto thread_factor = std::find(spare.begin(), spare.end(), factor);
      if (thread_factor == spare.end() || draw.chance(15)) {
        local.push_back(digit);
      } else {
        spatial.push_back(digit);
        spare.erase(thread_factor);
      }
    }
  }
  for (const std::int64_t factor : spare) spatial.push_back({-1, factor, 0});
  // Half of the layouts keep neighbours together, so that wide accesses occur.
  if (draw.chance(50)) {
    draw.shuffle(spatial);
    draw.shuffle(local);
  } else {
    std::reverse(spatial.begin(), spatial.end());
    std::reverse(local.begin(), local.end());
  }
  return built(RegisterLayout::from_digits(shape, std::move(spatial), std::move(local)));
}

RegisterLayout with_other_places(Draw& draw, const RegisterLayout& layout) {
  std::vector<LayoutDigit> local;
  for (const LayoutDigit& digit : layout.local_digits()) {
    std::int64_t stride = digit.stride;
    for (const std::int64_t factor : shuffled_factors(draw, digit.size)) {
      local.push_back({digit.dim, factor, stride});
      stride *= factor;
    }
  }
  draw.shuffle(local);
  return built(
      RegisterLayout::from_digits(layout.shape(), layout.spatial_digits(), std::move(local)));
}

RegisterLayout random_view(Draw& draw, const RegisterLayout& from, std::int64_t places) {
  const auto rank = static_cast<std::size_t>(draw.between(1, 3));
  struct Part {
    std::size_t position;  // among the thread's digits, or beyond them a place's
    std::int64_t size;
  };
  std::vector<LayoutDigit> spatial = from.spatial_digits();
  std::vector<Part> parts;
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    if (spatial[i].dim >= 0) parts.push_back({i, spatial[i].size});
  }
  for (const std::int64_t factor : prime_factors(places)) {
    parts.push_back({spatial.size() + parts.size(), factor});
  }
  draw.shuffle(parts);
  DigitMaker digits(rank);
  std::vector<LayoutDigit> local;
  for (const Part& part : parts) {
    const auto dim = static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(rank)));
    const LayoutDigit digit = digits.next(dim, part.size);
    if (part.position < spatial.size()) {
      spatial[part.position] = digit;
    } else {
      local.push_back(digit);
    }
  }
  draw.shuffle(local);
  return built(RegisterLayout::from_digits(digits.shape(), std::move(spatial), std::move(local)));
}

MemoryLayout random_memory(Draw& draw, const Shape& shape) {
  struct Mode {
    std::size_t at;
    std::int64_t size;
  };
  std::vector<std::int64_t> mode_shape;
  std::vector<Mode> modes;
  for (const std::int64_t extent : shape) {
    for (const std::int64_t factor : shuffled_factors(draw, extent)) {
      modes.push_back({mode_shape.size(), factor});
      mode_shape.push_back(factor);
    }
  }
  if (draw.chance(50)) {
    draw.shuffle(modes);
  } else {
    std::reverse(modes.begin(), modes.end());
  }
  std::vector<std::int64_t> strides(mode_shape.size(), 1);
  std::int64_t step = 1;
  for (const Mode& mode : modes) {
    strides[mode.at] = step;
    step *= mode.size;
    if (draw.chance(10)) step += draw.between(1, 3);  // a gap
  }
  std::optional<isa::Swizzle> swizzle;
  if (draw.chance(40)) {
    const int bits = static_cast<int>(draw.between(1, 2));
    swizzle =
        isa::Swizzle{static_cast<int>(draw.below(4)), bits, bits + static_cast<int>(draw.below(2))};
  }
  Result<MemoryLayout> layout = MemoryLayout::make(shape, mode_shape, strides, swizzle);
  TILEVM_CHECK(layout.ok(), "a drawn memory layout is well formed");
  return *std::move(layout);
}

}  // namespace tilevm::vm::fuzz
