// A .tile test as it is read from disk: its expectations, and the program that it tests.
#pragma once

#include <memory>
#include <string>

#include "isa/base/result.h"
#include "isa/base/source.h"
#include "tests/filetest/expectations.h"

namespace tilevm::filetest {

struct TestSource {
  TestFile file;
  std::shared_ptr<const SourceFile> text;     ///< text of the test
  std::shared_ptr<const SourceFile> program;  ///< text of the test, or of the program that it names
};

/// Reads a test. A program that it names is looked for from the folder of the test upwards, so
/// `programs/transpose.tile` is found from every folder of the repository. Error (usage): a file
/// cannot be read, or a directive cannot be understood.
[[nodiscard]] Result<TestSource> read_test_source(const std::string& path);

/// The program without the `# error:` comments of the test.
[[nodiscard]] std::shared_ptr<const SourceFile> without_errors(const TestSource& test);

}  // namespace tilevm::filetest
