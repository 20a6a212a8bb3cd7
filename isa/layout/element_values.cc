#include "isa/layout/element_values.h"

#include <algorithm>

namespace tilevm::isa {
namespace {

/// Digits are independent, so the turn of an element is that of its thread's part plus that of its
/// place's, both at most the tile's size.
std::int32_t turn_of(const Index& part, const Shape& shape, std::int64_t count) {
  return static_cast<std::int32_t>(ravel(part, shape) % count);
}

std::vector<std::int32_t> turns_of_places(const RegisterLayout& layout, std::int64_t count) {
  std::vector<std::int32_t> turns;
  for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
    turns.push_back(turn_of(layout.local_part(i), layout.shape(), count));
  }
  return turns;
}

}  // namespace

std::vector<std::int32_t> value_turns(const RegisterLayout& layout, std::int64_t count) {
  const auto places = turns_of_places(layout, count);
  std::vector<std::int32_t> turns;
  turns.reserve(places.size() * static_cast<std::size_t>(layout.num_threads()));
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    const std::int64_t thread = turn_of(layout.thread_part(t), layout.shape(), count);
    for (const std::int32_t place : places) {
      turns.push_back(static_cast<std::int32_t>((thread + place) % count));
    }
  }
  return turns;
}

std::optional<std::vector<std::int32_t>> local_turns(const RegisterLayout& layout,
                                                     std::int64_t count) {
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    if (turn_of(layout.thread_part(t), layout.shape(), count) != 0) return std::nullopt;
  }
  return turns_of_places(layout, count);
}

}  // namespace tilevm::isa
