// What a .tile test expects, read from its comments.
//
//   # test: run                         what is done: run (the default), check, fmt, explain, emit
//   # program: programs/transpose.tile  the program that is tested; without this line, the file
//   # args: -D M=64 --in a=rand:1       options; every further `# args:` is one more case
//   # expect: c hash=0123456789abcdef   an output of the case above
//   # expect-values: c                  ... and all of its elements (64 at most), row by row below
//   #   1 2 3
//   # expect-corner: c                  ... or only its top left corner
//   #   1 2 3
//   # expect-prints:                    what Print statements show, line by line below; a case that
//   #   line 9, k block [0]: i = 3      prints must have this
//   # expect-shadow:                    what `tilevm run --shadow` shows of errors, line by line
//   #   shadow: errors against ..       below; such a case runs only in the simulator
//   # expect-warnings:                 what the simulator warns of (but for outputs that nothing
//   #   line 9: `Gather` .. [TV0417]    stored), line by line; a case that is warned of must have
//   it # expect-explain: LoadGlobal Cast   what `tilevm compile --explain` says of these
//   instructions, #   a = LoadGlobal(g, layout=L)     or, if none is named, all that it says;
//   without the numbers #     LoadGlobal  4 x 16 bytes      of lines and columns, and without what
//   the compiler adds # expect-emit: a = LoadGlobal       the CUDA code of the statements that
//   contain these words; #   tv::load_bytes<16>(a, ..        `def matmul` chooses the whole of a
//   kernel #   ...                             any number of lines, also in expect-explain # error:
//   TV0104 some words          an error on this line, or on the code line above if the # error:
//   TV0104 @ 3:7 some words    comment is alone on its line; or on line 3, column 7 # error: usage
//   some words           an error without a place: usage, program, limit
//
// Blessing writes a text out in full where its lines are no longer right; shorten it with `...`.
// Lines are compared word by word, so alignment does not matter. A file with `# error` must fail
// with exactly these errors, one without must succeed. In a file that names a program, an error
// without a place may be anywhere in that program.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::filetest {

enum class Kind { check, run, format, explain, emit };

/// The lines below a directive, without the mark of the comment.
using Lines = std::vector<std::string>;

struct OutputExpectation {
  std::string name;
  std::string hash;  ///< 16 digits, or empty
  std::optional<Lines> values;
  std::optional<Lines> corner;
};

/// A part of a report or of emitted code, and what it must be. A line `...` stands for any lines.
struct TextExpectation {
  std::string part;  ///< names of instructions, or words of a statement; empty: everything
  Lines lines;
};

struct Case {
  Kind kind = Kind::run;
  std::vector<std::string> args;
  std::vector<OutputExpectation> outputs;
  Lines prints;
  Lines shadow;
  Lines warnings;
  std::vector<TextExpectation> explain;
  std::vector<TextExpectation> emit;
  /// The line (from 0) after which expectations of this case are written, if it has one.
  std::optional<std::size_t> head;
};

struct ErrorExpectation {
  std::string code;  ///< "TV0104", or a kind of error without a place
  int line = 0;      ///< 0: without a place, or anywhere in the program that the file names
  int column = 0;    ///< 0: any
  std::string words;
};

/// `lines` are those of the file, `is_expectation` marks the whole lines that blessing replaces.
struct TestFile {
  std::string program;  ///< the path of the tested program; empty: the file itself
  Lines lines;
  std::vector<bool> is_expectation;
  std::vector<Case> cases;  ///< cases, at least one
  std::vector<ErrorExpectation> errors;
};

/// Error (usage): a directive that cannot be understood, with its line.
[[nodiscard]] Result<TestFile> read_test(const std::string& text);

/// The text of a file without any `# error:`, and what is before it on its line.
[[nodiscard]] std::string without_errors(const TestFile& file);

}  // namespace tilevm::filetest
