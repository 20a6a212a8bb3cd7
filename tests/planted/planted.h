// Which change is made in an instrumented copy of the sources (planted.py); in no other build.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace planted {

extern int active;  ///< $PLANTED, or -1
/// 1 for each number whose location ran; null unless $PLANTED_SEEN is a file.
extern unsigned char* seen;

/// Whether change `number` is made. Constants are computed while nothing is changed.
constexpr bool is(int number) {
  if (std::is_constant_evaluated()) return false;
  if (seen != nullptr) seen[number] = 1;
  return active == number;
}

/// A part of the prelude, with the change in it if there is one ($PLANTED_TEXT is a file).
std::string text(std::string_view part, std::string_view original);

}  // namespace planted
