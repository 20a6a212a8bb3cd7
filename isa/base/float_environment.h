// The floating-point environment that all arithmetic here assumes.
#pragma once

#include <cfenv>

namespace tilevm {

/// Rounds to nearest and keeps subnormals, whatever the host program has set, until the end of a
/// scope; then the host's environment is back. Threads that are made inside inherit it.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&hosts_);
    std::fesetenv(FE_DFL_ENV);
#ifdef __SSE2__
    constexpr unsigned no_flush_no_trap = 0x1f80;  // the state in which a process begins
    __builtin_ia32_ldmxcsr(no_flush_no_trap);
#endif
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;
  ~DefaultFloatEnvironment() { std::fesetenv(&hosts_); }

 private:
  std::fenv_t hosts_{};
};

}  // namespace tilevm
