// Runs the tests of one folder. They leave the user's kernel cache alone.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/unit/sanitizers.h"

bool tilevm::tests::under_sanitizers() {
#ifdef __has_feature
  return __has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
  return true;
#else
  return false;
#endif
}

int main(int argc, char** argv) {
  setenv("TILEVM_CACHE", "off", 0);
  return doctest::Context(argc, argv).run();
}
