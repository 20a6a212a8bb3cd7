// Test files of the `filetest` runner: their directives are understood, or refused with the line.
#include <string>

#include "tests/filetest/expectations.h"
#include "tests/filetest/text_parts.h"
#include "tests/fuzz/target.h"

namespace tilevm::fuzz {
namespace {

void fuzz_expectations(std::string_view bytes) {
  const std::string text(bytes);
  const Result<filetest::TestFile> test = filetest::read_test(text);
  if (!test) {
    require(!test.error().message.empty(), "a refusal has words");
    return;
  }
  require(!test->cases.empty(), "a test has a case");
  require(test->is_expectation.size() == test->lines.size(), "each line is marked");
  for (const filetest::Case& each : test->cases) {
    require(!each.head || *each.head < test->lines.size(), "a case begins inside of its file");
  }
  const std::string rest = filetest::without_errors(*test);
  const Result<filetest::TestFile> again = filetest::read_test(rest);
  require(again.ok() && again->errors.empty(), "without errors none is expected");
  require(filetest::matches_lines(test->lines, test->lines), "lines are as they are");
  require(filetest::matches_lines({"..."}, test->lines), "`...` is any lines");
}

TILEVM_FUZZ_TARGET(expectations, fuzz_expectations);

}  // namespace
}  // namespace tilevm::fuzz
