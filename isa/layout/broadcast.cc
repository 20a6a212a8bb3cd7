#include "isa/layout/broadcast.h"

#include <algorithm>
#include <utility>

#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

using Digit = RegisterLayout::Digit;
using DigitList = std::vector<Digit>;

/// The digits with dimensions counted in a shape of `rank` dimensions, aligned right.
DigitList aligned(DigitList digits, const RegisterLayout& layout, std::size_t rank) {
  for (Digit& digit : digits) {
    if (digit.dim >= 0) digit.dim += static_cast<int>(rank) - layout.rank();
  }
  return digits;
}

/// Takes the lowest `size` values off the last digit.
void take(DigitList& digits, std::int64_t size) {
  Digit& last = digits.back();
  last.size /= size;
  last.stride *= size;
  if (last.size == 1) digits.pop_back();
}

/// The digits of the thread index of a layout that both of these are reductions of, cut where
/// either is cut; nothing if they contradict each other.
std::optional<DigitList> join(DigitList a, DigitList b) {
  DigitList lowest_first;
  while (!a.empty() && !b.empty()) {
    Digit x = a.back(), y = b.back();
    const std::int64_t size = std::min(x.size, y.size);
    if (x.size % size != 0 || y.size % size != 0) return std::nullopt;
    x.size = y.size = size;
    if (x.dim >= 0 && y.dim >= 0 && x != y) return std::nullopt;
    lowest_first.push_back(x.dim >= 0 ? x : y);
    take(a, size);
    take(b, size);
  }
  if (!a.empty() || !b.empty()) return std::nullopt;
  std::reverse(lowest_first.begin(), lowest_first.end());
  return lowest_first;
}

}  // namespace

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  const std::size_t extra = longer.size() - shorter.size();
  for (std::size_t d = 0; d < shorter.size(); ++d) {
    std::int64_t& extent = shape[extra + d];
    if (extent == 1) extent = shorter[d];
    if (shorter[d] != 1 && shorter[d] != extent) return std::nullopt;
  }
  return shape;
}

bool broadcasts_to(const RegisterLayout& operand, const RegisterLayout& result) {
  const auto reduced = reduce_to(result, operand.shape());
  return reduced && thread_local_equivalent(*reduced, operand);
}

std::optional<PlaceMap> broadcast_places(const RegisterLayout& result,
                                         const RegisterLayout& operand) {
  if (!broadcasts_to(operand, result)) return std::nullopt;
  const auto extra = static_cast<std::ptrdiff_t>(result.rank() - operand.rank());
  PlaceMap places;
  for (std::int64_t i = 0; i < result.num_locals(); ++i) {
    const Index part = result.local_part(i);
    Index index(part.begin() + extra, part.end());
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (operand.shape()[d] == 1) index[d] = 0;
    }
    places.push_back(static_cast<std::int32_t>(operand.local_of(index)));
  }
  return places;
}

std::optional<RegisterLayout> joint_layout(const RegisterLayout& a, const RegisterLayout& b) {
  const auto shape = broadcast_shape(a.shape(), b.shape());
  if (!shape) return std::nullopt;
  const std::size_t rank = shape->size();
  auto spatial = join(aligned(a.spatial_digits(), a, rank), aligned(b.spatial_digits(), b, rank));
  if (!spatial) return std::nullopt;
  DigitList local = aligned(a.local_digits(), a, rank);
  for (const Digit& digit : aligned(b.local_digits(), b, rank)) {
    const int in_a = digit.dim - static_cast<int>(rank) + a.rank();
    if (in_a < 0 || a.shape()[static_cast<std::size_t>(in_a)] == 1) local.push_back(digit);
  }
  // Any order of the places would do; this one is that of a product of factors, if there is one.
  std::sort(local.begin(), local.end(), [](const Digit& x, const Digit& y) {
    return x.stride != y.stride ? x.stride > y.stride : x.dim < y.dim;
  });
  const auto layout = RegisterLayout::from_digits(*shape, *std::move(spatial), std::move(local));
  if (!layout || !broadcasts_to(a, *layout) || !broadcasts_to(b, *layout)) return std::nullopt;
  return *layout;
}

}  // namespace tilevm::isa
