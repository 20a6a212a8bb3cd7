// What the first different statement read and wrote, from further runs that keep its values.
#pragma once

#include <optional>

#include "vm/diff/probed_runs.h"
#include "vm/diff/statement_difference.h"

namespace tilevm::vm {

/// Runs the engines `a` and `b` again; completes `found`, which has a place and a record. A
/// simulator with so many host threads gives what the statement read. Error: a run that failed.
[[nodiscard]] std::optional<Error> show_statement(ProbedRuns& runs, Engine& a, Engine& b,
                                                  int threads, BisectedStatement& found);

}  // namespace tilevm::vm
