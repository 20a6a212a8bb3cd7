// How many enumerators an enum has, for tables that have an entry for each.
#pragma once

#include <cstddef>

namespace tilevm {

/// The number of enumerators of an enum that counts from 0 and has a constexpr to_string: a switch
/// that names every enumerator and gives "" for any other value. Such a switch cannot forget one,
/// so neither can this count.
template <class Enum>
consteval std::size_t enumerator_count() {
  std::size_t count = 0;
  while (!to_string(static_cast<Enum>(count)).empty()) ++count;
  return count;
}

}  // namespace tilevm
