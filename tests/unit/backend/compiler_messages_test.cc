#include "backend/compile/compiler_messages.h"

#include <doctest/doctest.h>

namespace tilevm::backend {
namespace {

ErrorKind kind_of(const std::string& log) {
  const auto error = failure_of_machine("nvcc 13.0", log);
  return error ? error->kind : ErrorKind::program;
}

TEST_CASE("a full disk and short memory are not faults of the program") {
  CHECK(kind_of("x.cu(3): error: expected a `;`") == ErrorKind::program);
  CHECK(kind_of("cc1plus: fatal error: error writing to /tmp/a.s: No space left on device") ==
        ErrorKind::unavailable);
  CHECK(kind_of("nvcc fatal   : Could not open output file '/tmp/tmpxft_1'") ==
        ErrorKind::unavailable);
  CHECK(kind_of("cicc: std::bad_alloc") == ErrorKind::limit);
  CHECK(kind_of("nvcc error   : 'cicc' died due to signal 9 (Kill signal)") == ErrorKind::limit);
  CHECK(kind_of("virtual memory exhausted: Cannot allocate memory") == ErrorKind::limit);
}

}  // namespace
}  // namespace tilevm::backend
