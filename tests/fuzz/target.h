// A fuzz target: a function that takes any bytes, returns if all its laws hold, and aborts if one
// does not.
//
// One function runs in two ways. Built with TILEVM_LIBFUZZER it is the entry of a libFuzzer binary
// (`./dev fuzz`). Otherwise it registers itself by its name, and tests/fuzz/replay.cc gives it the
// files of the corpus in every build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tilevm::fuzz {

using Target = void (*)(std::string_view bytes);

/// Adds a target to those that replay.cc knows.
bool add_target(const char* name, Target target);

/// A law: stops the run where it does not hold, so that the fuzzer keeps the input.
inline void require(bool holds, const char* law) {
  if (holds) return;
  std::fprintf(stderr, "a law does not hold: %s\n", law);
  std::abort();
}

}  // namespace tilevm::fuzz

#ifdef TILEVM_LIBFUZZER
#define TILEVM_FUZZ_TARGET(name, function)                                             \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { \
    function({reinterpret_cast<const char*>(bytes), size});                            \
    return 0;                                                                          \
  }                                                                                    \
  static_assert(true)
#else
#define TILEVM_FUZZ_TARGET(name, function) \
  static const bool name##_is_added = ::tilevm::fuzz::add_target(#name, function)
#endif
