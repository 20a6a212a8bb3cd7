// What may be tuned: the cross product of a file's tunables, and which of its points are legal.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/bind/constants.h"
#include "isa/numeric/target.h"

namespace tilevm::vm::tuning {

/// The tunables that no define fixes; points are numbered, the last axis fastest.
struct Space {
  std::vector<isa::Tunable> axes;

  [[nodiscard]] std::uint64_t size() const;  ///< at most 2^63
  /// The values of a point, index < size().
  [[nodiscard]] std::vector<frontend::Define> point(std::uint64_t index) const;
};

/// A point that verifies.
struct Candidate {
  std::vector<frontend::Define> point;
  std::string key;  ///< names the emitted source and what is run of it
};

/// What a search begins with.
struct Plan {
  std::uint64_t size = 0;  ///< of the space
  std::uint64_t seen = 0;  ///< points that were looked at
  bool exhaustive = true;  ///< every legal point is among the candidates
  std::vector<Candidate> candidates;
  std::map<std::string, std::uint64_t> rejected;  ///< points by the reason
  std::shared_ptr<const SourceFile> source;       ///< what the diagnostics point into
};

struct PlanSettings {
  std::vector<frontend::Define> fixed;
  isa::Target target;
  std::string what;          ///< entry and kernel, a part of every key
  std::uint64_t most = 512;  ///< candidates
  std::uint64_t seed = 0;
};

/// Looks at the points, all of them or in a random order until there are enough, and rejects those
/// that break a `require` or do not verify (too much shared memory, too many threads ..). Faults of
/// the file itself are diagnostics.
[[nodiscard]] Plan make_plan(const std::shared_ptr<const SourceFile>& source,
                             const PlanSettings& settings, Diagnostics& diagnostics);

/// "BM=16 BN=8".
[[nodiscard]] std::string to_string(const std::vector<frontend::Define>& point);

}  // namespace tilevm::vm::tuning
