// The search itself: every candidate is timed by a process of its own (`tilevm bench --json`), so
// that a fault, a hang or a compiler that crashes costs one point. Processes compile at the same
// time and wait for a lock before they use the GPU.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vm/tune/space.h"
#include "vm/tune/trial.h"

namespace tilevm::vm::tuning {

struct SearchSettings {
  std::string worker;                     ///< absolute path of tilevm
  std::string file;                       ///< absolute path of the program
  std::vector<frontend::Define> fixed;    ///< what -D says
  std::vector<frontend::Define> reduced;  ///< of the problem on which a winner is proved
  std::string entry, kernel;
  std::string output;  ///< where trials are kept
  int jobs = 1;
  int rounds = 30;
  double time_limit = 0;  ///< seconds; 0: none
};

/// How far a search is.
struct Progress {
  std::size_t done = 0, total = 0, failed = 0;
  std::optional<Trial> best;  ///< the fastest so far
  double seconds_left = 0;
};
/// "12 of 96 points, 3 failed, best 61.20 us (BM=16 BN=8), about 40 s left".
[[nodiscard]] std::string to_string(const Progress& progress);

struct SearchResult {
  std::optional<Trial> best;  ///< proved to be exact
  std::vector<Trial> trials;  ///< the fastest first, then those that failed
  std::size_t known = 0;      ///< trials that the file had
  std::size_t skipped = 0;    ///< points that the time limit left out
};

/// Times the candidates. If not all legal points are among them, they are timed with a quarter of
/// the launches first, and the best quarter of them with all. Then the fastest is proved: on the
/// reduced problem, five seeds, the GPU gives the simulator's bits; if not, the next one is. `tell`
/// hears of every point, one call at a time. Error (usage, program): the file of trials.
[[nodiscard]] Result<SearchResult> search(const Plan& plan, const Environment& environment,
                                          const SearchSettings& settings,
                                          const std::function<void(const Progress&)>& tell);

}  // namespace tilevm::vm::tuning
