// Runs .tile tests: filetest sim|cuda FILE...
//
// Exit status: 0 all well, 1 a test failed, 2 usage, 77 the engine is not there. With
// TILEVM_BLESS=1 in the environment (and the engine sim) files are rewritten to expect what they
// give.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/filetest/expectations.h"
#include "tests/filetest/runner.h"
#include "vm/run/vm.h"
#include "vm/text/file.h"

namespace {

using namespace tilevm;
using filetest::Case;
using filetest::Outcome;
using filetest::TestFile;

Status rewrite(const std::string& path, const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  return vm::write_file_atomic(path, std::span(bytes, text.size()));
}

/// Runs the cases of one file. True if all is as expected.
bool run_file(const std::string& path, vm::Engine& engine, bool bless) {
  const auto fail = [&](const std::string& why) {
    std::cout << "FAIL " << path << ": " << why << '\n';
    return false;
  };
  const auto source = vm::read_source(path, std::cin);
  if (!source) return fail(source.error().message);
  const Result<TestFile> file = filetest::read_test((*source)->text());
  if (!file) return fail(file.error().message);
  if (const std::string why = why_not(*file, engine); !why.empty()) {
    std::cout << "skip " << path << ": not on " << engine.name() << ", " << why << '\n';
    return true;
  }
  const auto text =
      bless ? std::make_shared<const SourceFile>(path, without_errors(*file)) : *source;
  std::vector<Outcome> outcomes;
  bool good = true;
  for (std::size_t i = 0; i < file->cases.size(); ++i) {
    outcomes.push_back(filetest::run_case(file->cases[i], text, &engine));
    if (bless) continue;
    for (const std::string& line : complaints(*file, file->cases[i], outcomes.back())) {
      good = fail("case " + std::to_string(i + 1) + ": " + line);
    }
  }
  if (!bless) {
    if (!good) return false;
    std::cout << "ok   " << path << " (" << outcomes.size() << " on " << engine.name() << ")\n";
    return true;
  }
  const Status written = rewrite(path, filetest::bless(*file, outcomes));
  return written ? true : fail(written.error().message);
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    std::cerr << "usage: filetest sim|cuda FILE...\n";
    return 2;
  }
  auto engine = vm::make_engine(arguments.front(), {});
  if (!engine) {
    const bool missing = engine.error().kind == ErrorKind::unavailable;
    std::cout << (missing ? "skipped " : "") << arguments.size() - 1
              << " files: " << engine.error().message << '\n';
    return missing ? 77 : 2;
  }
  const char* const bless = std::getenv("TILEVM_BLESS");
  const bool blessing = bless != nullptr && std::string(bless) == "1" && arguments.front() == "sim";
  bool good = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    good = run_file(arguments[i], **engine, blessing) && good;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "filetest: " << error.what() << '\n';
    return 70;
  }
}
