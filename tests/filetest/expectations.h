// What a .tile test expects, read from its comments.
//
//   # test: run                         what is done: check, run (the default) or fmt
//   # args: -D M=64 --in a=rand:1       options; every further `# args:` is one more case
//   # expect: c hash=0123456789abcdef   an output of the case above
//   # expect-corner: c                  ... and its corner, line by line below
//   #   1 2 3
//   # expect-prints:                  what Print statements show, line by line below; a case that
//   #   line 9, k block [0]: i = 3    prints must have it
//   # expect-shadow:                what `tilevm run --shadow` shows of errors, line by line below;
//   #   shadow: errors against ..   such a case runs in the simulator only, with shadow values
//   # error: TV0104 some words          an error on this line, or on the code line above if the
//   # error: TV0104 @ 3:7 some words    comment stands alone; or on line 3, column 7
//   # error: usage some words           an error without a place: usage, program, limit
//
// A file with `# error` must fail with exactly these errors, one without must succeed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::filetest {

enum class Kind { check, run, format };

struct OutputExpectation {
  std::string name;
  std::string hash;                                ///< 16 digits, or empty
  std::optional<std::vector<std::string>> corner;  ///< lines without indentation
};

struct Case {
  Kind kind = Kind::run;
  std::vector<std::string> args;
  std::vector<OutputExpectation> outputs;
  std::vector<std::string> prints;  ///< lines without indentation
  std::vector<std::string> shadow;  ///< likewise
  /// The line (from 0) behind which expectations of this case are written, if it has one.
  std::optional<std::size_t> head;
};

struct ErrorExpectation {
  std::string code;  ///< "TV0104", or a kind of error without a place
  int line = 0;      ///< 0: without a place
  int column = 0;    ///< 0: any
  std::string words;
};

/// `lines` are those of the file, `is_expectation` marks the whole lines that blessing replaces.
struct TestFile {
  std::vector<std::string> lines;
  std::vector<bool> is_expectation;
  std::vector<Case> cases;  ///< at least one
  std::vector<ErrorExpectation> errors;
};

/// Error (usage): a directive that cannot be understood, with its line.
[[nodiscard]] Result<TestFile> read_test(const std::string& text);

/// The text of a file without any `# error:`, and what is before it on its line.
[[nodiscard]] std::string without_errors(const TestFile& file);

}  // namespace tilevm::filetest
