// Verdicts as text and as JSON.
#pragma once

#include <string>

#include "vm/diff/differ.h"
#include "vm/text/json.h"

namespace tilevm::vm {

struct VerdictStyle {
  bool color = false;
  bool several_seeds = false;  ///< whether lines begin with their seed
};

/// The lines of a seed: each output, prints, engines without a result, and who stands alone.
[[nodiscard]] std::string render_verdict(const DiffCase& what, const SeedRun& run,
                                         const VerdictStyle& style);

/// Adds an object for each output and pair of engines: name, seed, backends, verdict, exact,
/// elements, different, hash_a, hash_b, and where they differ first and worst (index, a, b, ulps),
/// and rule (of permuted elements).
void add_results(const DiffCase& what, const SeedRun& run, Json& list);
/// Adds an object for each pair of engines that printed: seed, backends, exact, count, and where
/// they differ a and b.
void add_prints(const SeedRun& run, Json& list);
/// The seed as a whole: seed, verdict, groups of engines that agree, suspect, and an object for
/// each engine (backend, outcome, message).
[[nodiscard]] Json seed_json(const DiffCase& what, const SeedRun& run);

}  // namespace tilevm::vm
