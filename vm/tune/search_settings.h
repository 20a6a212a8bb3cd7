// The settings of a search.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/bind/constants.h"

namespace tilevm::vm::tuning {

using Clock = std::chrono::steady_clock;

struct SearchSettings {
  std::string worker;                   ///< absolute path of tilevm
  std::string file;                     ///< absolute path of the program
  std::vector<frontend::Define> fixed;  ///< what -D says
  /// Definitions of the problem on which a winner is proved.
  std::vector<frontend::Define> reduced;
  std::string entry, kernel;
  std::vector<std::string> inputs = {};   ///< "NAME=SPEC", with absolute paths
  std::vector<std::string> folders = {};  ///< absolute, from which files are included
  std::string output;                     ///< where trials are kept
  std::string start;  ///< a table of trials whose points are timed first; empty: none
  int jobs = 1;
  int rounds = 30;
  std::uint64_t most = 512;                ///< points that are timed
  double time_limit = 0;                   ///< seconds; 0: none
  Clock::time_point begin = Clock::now();  ///< time from which seconds count
};

}  // namespace tilevm::vm::tuning
