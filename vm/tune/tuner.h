// The search itself: every candidate is timed by a process of its own (`tilevm bench --json`), so
// that a fault, a hang or a compiler that crashes costs one point. Processes compile at the same
// time and wait for a lock before they use the GPU.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vm/tune/search_settings.h"
#include "vm/tune/space.h"
#include "vm/tune/trial.h"

namespace tilevm::vm::tuning {

/// How far a search is.
struct Progress {
  std::size_t done = 0, total = 0, failed = 0;  ///< `total` at most
  std::optional<Trial> best;                    ///< the fastest so far
  double seconds_left = 0;                      ///< most seconds that are left
};
/// "12 of at most 96 points, 3 failed, best 61.20 us (BM=16 BN=8), about 40 s left".
[[nodiscard]] std::string to_string(const Progress& progress);

struct SearchResult {
  std::optional<Trial> best;  ///< proved to be exact
  std::vector<Trial> trials;  ///< the fastest first, then those that failed
  std::size_t timed = 0;      ///< points, with those that failed
  std::size_t known = 0;      ///< trials that the file had
  std::size_t dropped = 0;    ///< points whose copies alone take longer than the best point
  std::size_t left = 0;       ///< points that the time limit left out, at most
  bool exhaustive = false;    ///< every legal point was timed or dropped
};

/// Times points in the order of order.h: the best of tables, the default one, random ones, and
/// neighbours of the fastest. A point whose kernels spill registers is dropped once it is compiled,
/// unless all do. Then the fastest is proved: on the reduced problem, five seeds, the GPU gives the
/// simulator's bits; if not, the next one is. With a time limit the best of the first points is
/// proved while others are compiled, so that it is known how long a proof takes and there is a
/// result; the search ends early enough for the proof of its winner, and no process runs on after
/// the limit. `tell` hears of every point, one call at a time. Errors (usage, program): a file of
/// trials.
[[nodiscard]] Result<SearchResult> search(Points& points, const Environment& environment,
                                          const SearchSettings& settings,
                                          const std::function<void(const Progress&)>& tell);

}  // namespace tilevm::vm::tuning
