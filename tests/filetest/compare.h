// Compares what a .tile test gave with what it expects, and writes what it gave as expectations.
#pragma once

#include <string>
#include <vector>

#include "tests/filetest/expectations.h"
#include "tests/filetest/runner.h"

namespace tilevm::filetest {

/// The largest tensor that `# expect-values:` shows, in elements.
inline constexpr std::size_t max_values = 64;

/// What is not as expected, one line each; empty if all is well.
[[nodiscard]] std::vector<std::string> complaints(const TestFile& file, const Case& test,
                                                  const Outcome& outcome);

/// Whether a reader can check a result of the file by hand: values, a corner, prints or errors.
[[nodiscard]] bool is_readable(const TestFile& file);

/// The text of the file with expectations that its outcomes (one a case) meet.
[[nodiscard]] std::string bless(const TestFile& file, const std::vector<Outcome>& outcomes);

}  // namespace tilevm::filetest
