// TILEVM_CHECK, TILEVM_NO_ENUMERATOR: our own invariants. Never used on a user's input.
#pragma once

namespace tilevm {

/// Prints what was violated and where, asks for a report, and exits with status 70.
[[noreturn]] void check_failed(const char* condition, const char* message, const char* file,
                               int line);

}  // namespace tilevm

/// After a switch that returns for every enumerator: a value that no enumerator has. Such a switch
/// has no default, so an enumerator that it forgets stops the build.
#define TILEVM_NO_ENUMERATOR() \
  ::tilevm::check_failed("switch", "a value that is not an enumerator", __FILE__, __LINE__)

#define TILEVM_CHECK(condition, message) \
  ((condition) ? static_cast<void>(0)    \
               : ::tilevm::check_failed(#condition, message, __FILE__, __LINE__))
