// Outcomes of points, as lines of a file from which a search goes on after an interrupt.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isa/base/result.h"
#include "vm/bench/bench.h"

namespace tilevm::vm::tuning {

/// One point, timed so often.
struct Trial {
  std::string key;
  std::string point;  ///< "BM=16 BN=8"
  int rounds = 0;
  std::optional<double> us;  ///< the medians of the timed launches together; nothing: it failed
  std::string reason;        ///< why it failed
  int registers = 0;         ///< the most of its kernels
  std::int64_t spill_bytes = 0, shared_bytes = 0;
  std::vector<std::string> defines = {};  ///< definitions of the line that it was read from
  std::optional<bool> exact;  ///< whether the GPU gave the simulator's bits; nothing: not asked

  friend bool operator==(const Trial&, const Trial&) = default;
};

/// What all points of a search have in common, for who reads the file without the program's text
/// (python/tilevm/_tuned.py).
struct Problem {
  std::string file;
  std::vector<std::string> defines;  ///< "N=57344", those that are not tuned
};

/// A line of JSON, with its break.
[[nodiscard]] std::string to_line(const Trial& trial, const Environment& environment,
                                  const Problem& problem);

/// The trials of a file by key and rounds, the latest of each; only those of the same environment.
/// Crossovers of tilevm.nn are passed over. One line may be damaged, by an interrupt. No file gives
/// no trials. Error (usage): the file holds something else.
using Trials = std::map<std::pair<std::string, int>, Trial>;
[[nodiscard]] Result<Trials> read_trials(const std::string& path, const Environment& environment);
/// Reads trials of an opened file; `path` is its name in messages.
[[nodiscard]] Result<Trials> read_trials(std::istream& file, const std::string& path,
                                         const Environment& environment);

/// The points of a table of trials, of any environment, from which a search may begin: for each
/// problem of this file's name and each device the fastest; first those whose problem has most
/// defines in common with this one. At most `most`. Errors as of read_trials.
[[nodiscard]] Result<std::vector<std::string>> read_starts(std::istream& file,
                                                           const std::string& path,
                                                           const Problem& problem,
                                                           std::size_t most);

/// What `tilevm bench --json` said of a point. `status` is the process's exit status.
[[nodiscard]] Trial read_bench(const std::string& output, int status);

/// Why `tilevm diff --json` did not end with status 0, in a line.
[[nodiscard]] std::string read_refusal(const std::string& output, int status);

}  // namespace tilevm::vm::tuning
