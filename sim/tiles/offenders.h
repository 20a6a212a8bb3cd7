// The elements of a tile that a report is about: how many there are, and which is the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "isa/layout/register_layout.h"

namespace tilevm::sim {

struct NoDetail {};

/// An element that a report counts, and what the report says of the first one.
template <class Detail = NoDetail>
struct Offender {
  isa::Index index;
  Detail detail{};
};

template <class Detail>
struct Offenders {
  std::size_t count = 0;
  isa::Index first;        ///< index of the first in row-major order
  std::size_t thread = 0;  ///< thread that holds the first
  Detail detail{};
};

namespace detail {

template <class ThreadOf, class Look>
auto find_offenders(std::size_t threads, ThreadOf thread_of, std::size_t places, Look& look) {
  using Found = typename std::invoke_result_t<Look&, std::size_t, std::size_t>::value_type;
  Offenders<decltype(Found::detail)> found;
  for (std::size_t k = 0; k < threads; ++k) {
    const std::size_t t = thread_of(k);
    for (std::size_t i = 0; i < places; ++i) {
      auto offender = look(t, i);
      if (!offender || (found.count++ > 0 && offender->index >= found.first)) continue;
      found.first = std::move(offender->index);
      found.detail = std::move(offender->detail);
      found.thread = t;
    }
  }
  return found;
}

}  // namespace detail

/// Calls look(thread, place), which gives an optional Offender, for each place of some threads. If
/// they are the threads that hold their elements first (LayoutParts::first_threads), replicas count
/// once.
template <class Look>
auto find_offenders(const std::vector<std::int32_t>& threads, std::size_t places, Look&& look) {
  return detail::find_offenders(
      threads.size(), [&](std::size_t k) { return static_cast<std::size_t>(threads[k]); }, places,
      look);
}
/// Looks at the elements of all threads.
template <class Look>
auto find_offenders(std::size_t threads, std::size_t places, Look&& look) {
  return detail::find_offenders(threads, [](std::size_t k) { return k; }, places, look);
}

/// "3 elements of `s`".
[[nodiscard]] std::string elements_text(std::size_t count, std::string_view tensor);
/// "`s[1, 2]`".
[[nodiscard]] std::string element_text(std::string_view tensor, const isa::Index& index);

}  // namespace tilevm::sim
