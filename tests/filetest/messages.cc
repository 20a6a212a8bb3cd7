#include "tests/filetest/messages.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tests/filetest/runner.h"
#include "tests/filetest/test_source.h"

namespace tilevm::filetest {

std::vector<std::string> tests_below(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".tile") paths.push_back(entry.path().generic_string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::string> all_messages(const std::vector<std::string>& folders, vm::Engine& engine) {
  std::string text =
      "What users read of the errors that tests expect. A test tells when this page is stale, and\n"
      "how it is written again.\n";
  for (const std::string& path : tests_below(folders)) {
    const Result<TestSource> test = read_test_source(path);
    if (!test) return Error{test.error().kind, path + ": " + test.error().message};
    if (test->file.errors.empty()) continue;
    text += fmt::format("\n== {}\n", path);
    const auto program = without_errors(*test);
    for (const Outcome& outcome : run_cases(test->file, program, engine)) {
      text += outcome.rendered;
    }
  }
  return text;
}

}  // namespace tilevm::filetest
