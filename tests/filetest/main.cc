// Runs .tile tests.
//
//   filetest sim|emu|cuda FILE...        the cases of the files, on an engine
//   filetest readable FILE...        whether each file has an expectation that a reader can check
//   filetest levels FILE...          whether the files compile for a GPU, by ptxas's default level
//                                    of optimisation and by level 0; needs no GPU
//   filetest debug FILE...           the sessions of `tilevm debug` in the files (debug_sessions.h)
//   filetest index README FOLDER...  whether README is the index of the tests by instruction
//   filetest messages PAGE FOLDER... whether PAGE has what users read of the errors of the tests
//
// Exit status: 0 all well, 1 a test failed, 2 usage, 77 the engine or the compiler is not there.
// With TILEVM_BLESS=1 in the environment, `sim` and `debug` rewrite files to expect what they give,
// and `index` and `messages` write their page.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/compile/toolchain.h"
#include "tests/filetest/compare.h"
#include "tests/filetest/debug_sessions.h"
#include "tests/filetest/expectations.h"
#include "tests/filetest/index.h"
#include "tests/filetest/levels.h"
#include "tests/filetest/messages.h"
#include "tests/filetest/runner.h"
#include "tests/filetest/test_source.h"
#include "vm/run/vm.h"
#include "vm/text/file.h"

namespace {

using namespace tilevm;
using filetest::Outcome;
using filetest::TestFile;
using filetest::TestSource;

bool fail(const std::string& path, const std::string& why) {
  std::cout << "FAIL " << path << ": " << why << '\n';
  return false;
}

bool is_blessing() {
  const char* const bless = std::getenv("TILEVM_BLESS");
  return bless != nullptr && std::string_view(bless) == "1";
}

Status rewrite(const std::string& path, const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  return vm::write_file_atomic(path, std::span(bytes, text.size()));
}

/// Runs the cases of one file. True if all is as expected.
bool run_file(const std::string& path, vm::Engine& engine) {
  const Result<TestSource> test = filetest::read_test_source(path);
  if (!test) return fail(path, test.error().message);
  if (const std::string why = why_not(test->file, engine); !why.empty()) {
    std::cout << "skip " << path << ": not on " << engine.name() << ", " << why << '\n';
    return true;
  }
  bool good = true;
  const std::vector<Outcome> outcomes = filetest::run_cases(test->file, test->program, engine);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (const std::string& line : complaints(test->file, test->file.cases[i], outcomes[i])) {
      good = fail(path, "case " + std::to_string(i + 1) + ": " + line);
    }
  }
  if (!good) return false;
  std::cout << "ok   " << path << " (" << test->file.cases.size() << " on " << engine.name()
            << ")\n";
  return true;
}

/// Rewrites one file until it expects what it gives: new lines move the statements whose numbers
/// prints contain, so one time may not be enough. What cannot be expected is reported as in a run.
bool bless_file(const std::string& path, vm::Engine& engine) {
  for (int times = 0; times < 3; ++times) {
    const Result<TestSource> test = filetest::read_test_source(path);
    if (!test) return fail(path, test.error().message);
    const auto program = without_errors(*test);
    const std::vector<Outcome> outcomes = filetest::run_cases(test->file, program, engine);
    const std::string text = filetest::bless(test->file, outcomes);
    if (text == test->text->text()) break;
    if (const Status written = rewrite(path, text); !written) {
      return fail(path, written.error().message);
    }
  }
  return run_file(path, engine);
}

bool check_readable(const std::string& path) {
  const Result<TestSource> test = filetest::read_test_source(path);
  if (!test) return fail(path, test.error().message);
  return filetest::is_readable(test->file) ||
         fail(path,
              "hashes alone do not show a reader that the results are right; add a small case with "
              "`# expect-values: NAME` or `# expect-corner: NAME`, or a Print");
}

int check_levels(const std::vector<std::string>& files) {
  const auto compiler = backend::describe_compiler(backend::CompilerChoice::automatic);
  if (!compiler) {
    std::cout << "skipped " << files.size() << " files: " << compiler.error().message << '\n';
    return 77;
  }
  bool good = true;
  for (const std::string& file : files) {
    const Result<std::string> found = filetest::compile_at_levels(file);
    if (found) {
      std::cout << "ok   " << file << " (" << *found << ")\n";
    } else {
      good = fail(file, found.error().message);
    }
  }
  return good ? 0 : 1;
}

/// Compares the sessions of a file with those of today; names the first line that differs.
bool check_sessions(const std::string& path) {
  const auto known = vm::read_source(path, std::cin);
  if (!known) return fail(path, known.error().message);
  const Result<std::string> today = filetest::repeat_sessions((*known)->text());
  if (!today) return fail(path, today.error().message);
  if (is_blessing()) {
    const Status written = rewrite(path, *today);
    return written || fail(path, written.error().message);
  }
  if ((*known)->text() == *today) {
    std::cout << "ok   " << path << '\n';
    return true;
  }
  const SourceFile now(path, *today);
  int line = 1;
  while (line < now.line_count() && (*known)->line(line) == now.line(line)) ++line;
  return fail(path, "line " + std::to_string(line) + ": is `" + std::string(now.line(line)) +
                        "`, not `" + std::string((*known)->line(line)) +
                        "`; write it again with\n    TILEVM_BLESS=1 build/tests/filetest debug " +
                        path);
}

/// Compares a page that is made from the tests with the one that is kept, or writes it.
int check_page(const std::string& verb, const std::string& path, const Result<std::string>& page,
               const std::vector<std::string>& folders) {
  if (!page) return fail(path, page.error().message) ? 0 : 1;
  if (is_blessing()) {
    const Status written = rewrite(path, *page);
    return written || fail(path, written.error().message) ? 0 : 1;
  }
  const auto known = vm::read_source(path, std::cin);
  if (known && (*known)->text() == *page) return 0;
  const SourceFile today(path, *page);
  int line = 1;
  while (known && line < today.line_count() && (*known)->line(line) == today.line(line)) ++line;
  fail(path, fmt::format("line {} is not that of today's tests, `{}`; write it again with\n"
                         "    TILEVM_BLESS=1 build/tests/filetest {} {} {}",
                         line, today.line(line), verb, path, fmt::join(folders, " ")));
  return 1;
}

int check_page(const std::string& verb, const std::string& path,
               const std::vector<std::string>& folders) {
  if (verb == "index") return check_page(verb, path, filetest::make_index(path, folders), folders);
  const auto engine = vm::make_engine("sim", {});
  if (!engine) return fail(path, engine.error().message) ? 0 : 2;
  return check_page(verb, path, filetest::all_messages(folders, **engine), folders);
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) {
    std::cerr << "usage: filetest sim|emu|cuda|readable|levels|debug FILE...\n"
                 "       filetest index|messages PAGE FOLDER...\n";
    return 2;
  }
  const std::string verb = arguments.front();
  const std::vector<std::string> files(arguments.begin() + 1, arguments.end());
  if (verb == "index" || verb == "messages") {
    return check_page(verb, files.front(), {files.begin() + 1, files.end()});
  }
  if (verb == "levels") return check_levels(files);
  bool good = true;
  if (verb == "debug") {
    for (const std::string& file : files) good = check_sessions(file) && good;
    return good ? 0 : 1;
  }
  if (verb == "readable") {
    for (const std::string& file : files) good = check_readable(file) && good;
    return good ? 0 : 1;
  }
  auto engine = vm::make_engine(verb, {});
  if (!engine) {
    const bool missing = engine.error().kind == ErrorKind::unavailable;
    std::cout << (missing ? "skipped " : "") << files.size() << " files: " << engine.error().message
              << '\n';
    return missing ? 77 : 2;
  }
  const bool blessing = is_blessing() && verb == "sim";
  for (const std::string& file : files) {
    good = (blessing ? bless_file(file, **engine) : run_file(file, **engine)) && good;
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
