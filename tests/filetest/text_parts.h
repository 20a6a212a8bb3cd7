// The parts of a report (`tilevm compile --explain`) and of emitted CUDA code that a test names.
#pragma once

#include <string>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::filetest {

using Lines = std::vector<std::string>;

/// The words of a line with one space between them.
[[nodiscard]] std::string words_of(const std::string& line);

[[nodiscard]] Lines lines_of(const std::string& text);

/// The lines of a report without lines and columns (format_decisions) that speak of the
/// instructions in `part`, each below its statement; names of `kernels` restrict them to these. An
/// empty part is the whole report. Error (usage): a word is neither, or nothing is said of it.
[[nodiscard]] Result<Lines> report_part(const std::string& report, const std::string& part,
                                        const Lines& kernels);

/// The code of all statements whose quotation contains the words `part`, without the quotation. An
/// empty part is the whole code. Error (usage): there is no such statement.
[[nodiscard]] Result<Lines> code_part(const std::string& code, const std::string& part);

/// Whether the lines are as expected, word by word; an expected line `...` is any lines, or none.
[[nodiscard]] bool matches_lines(const Lines& expected, const Lines& seen);

}  // namespace tilevm::filetest
