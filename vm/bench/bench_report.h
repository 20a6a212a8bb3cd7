// A BenchReport for people and for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vm/bench/bench.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// The machine, the protocol, a table with a line for each launch, and what was compared; many
/// lines, each with its line break.
[[nodiscard]] std::string format_bench(const BenchReport& report);

/// The members of the report's JSON object, in order (docs/guides/bench.md).
[[nodiscard]] std::vector<std::pair<std::string, Json>> bench_members(const BenchReport& report);

[[nodiscard]] Json to_json(const Environment& environment);
[[nodiscard]] Json to_json(const backend::Spread& spread);

}  // namespace tilevm::vm
