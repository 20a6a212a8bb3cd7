#include "tests/filetest/test_source.h"

#include <filesystem>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "vm/run/vm.h"

namespace tilevm::filetest {

namespace {

Result<std::string> find_program(const std::string& test, const std::string& program) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(test, ignored).parent_path();
  while (!std::filesystem::exists(folder / program, ignored)) {
    if (folder == folder.parent_path()) {
      return Error{ErrorKind::usage,
                   fmt::format("`# program: {}` is in no folder above the test", program)};
    }
    folder = folder.parent_path();
  }
  return std::filesystem::proximate(folder / program, ignored).string();
}

}  // namespace

Result<TestSource> read_test_source(const std::string& path) {
  const auto text = vm::read_source(path, std::cin);
  if (!text) return text.error();
  Result<TestFile> file = read_test((*text)->text());
  if (!file) return file.error();
  TestSource test{std::move(*file), *text, *text};
  if (test.file.program.empty()) {
    test.program = vm::with_includes(*text, path);
    return test;
  }
  const Result<std::string> found = find_program(path, test.file.program);
  if (!found) return found.error();
  const auto program = vm::read_program(*found, std::cin);
  if (!program) return program.error();
  test.program = *program;
  return test;
}

std::shared_ptr<const SourceFile> without_errors(const TestSource& test) {
  if (!test.file.program.empty()) return test.program;
  const auto text =
      std::make_shared<const SourceFile>(test.text->name(), without_errors(test.file));
  return vm::with_includes(text, test.text->name());
}

}  // namespace tilevm::filetest
