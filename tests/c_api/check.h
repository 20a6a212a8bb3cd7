// A check that goes on after a failure, for tests in C.
#pragma once

#include <stdio.h>

#include <tilevm.h>

static int failures = 0;

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      ++failures;                                                                  \
      printf("%s:%d: %s; %s\n", __FILE__, __LINE__, #condition, tilevm_message()); \
    }                                                                              \
  } while (0)

/// The status of the process.
static int report(void) {
  printf(failures == 0 ? "all checks hold\n" : "%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}
