// What the process ends with, and why something did not work.
#pragma once

#include <variant>

#include "isa/base/diagnostic.h"
#include "isa/base/result.h"

namespace tilevm::vm {

/// What the process ends with.
enum class Exit : int {
  ok = 0,
  fault = 1,        ///< the program or its data is wrong, or results differ
  usage = 2,        ///< the command line is wrong, or an output cannot be written
  unavailable = 3,  ///< a backend is missing
  limit = 4,        ///< a limit or a timeout was reached
  internal = 70,    ///< our fault
  skipped = 77,
};
[[nodiscard]] Exit exit_of(ErrorKind kind);

/// Why something did not work: faults of the program with their locations, or an error of the
/// environment.
using Failure = std::variant<Diagnostics, Error>;
[[nodiscard]] Exit exit_of(const Failure& failure);
[[nodiscard]] Exit exit_of(const Diagnostics& diagnostics);

}  // namespace tilevm::vm
