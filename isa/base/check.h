// TILEVM_CHECK: our own invariants. Never used on a user's input.
#pragma once

namespace tilevm {

/// Prints what was violated and where, asks for a report, and exits with status 70.
[[noreturn]] void check_failed(const char* condition, const char* message, const char* file,
                               int line);

}  // namespace tilevm

#define TILEVM_CHECK(condition, message) \
  ((condition) ? static_cast<void>(0)    \
               : ::tilevm::check_failed(#condition, message, __FILE__, __LINE__))
