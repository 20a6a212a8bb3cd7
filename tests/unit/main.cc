// Runs the tests of one folder. They leave the user's kernel cache alone.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("TILEVM_CACHE", "off", 0);
  return doctest::Context(argc, argv).run();
}
