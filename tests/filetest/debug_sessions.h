// Sessions of `tilevm debug` in a file, a page of docs or a test: each begins with the command line
//
//   $ tilevm debug programs/figure2.tile -D M=16
//   matmul [0, 0], line 5, moment 0
//   ...
//   (tilevm) step
//   ...
//
// and goes on to the next line that begins with `$`, to the end of a fenced block, or to the end of
// the file. What is typed after `(tilevm) ` is done again, and every line of the session must be
// what the debugger shows.
#pragma once

#include <string>

#include "isa/base/result.h"

namespace tilevm::filetest {

/// The text of a file with each session as it is today. Error (usage): no session, or an option
/// that sessions do not have.
[[nodiscard]] Result<std::string> repeat_sessions(const std::string& text);

}  // namespace tilevm::filetest
