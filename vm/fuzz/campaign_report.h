// What a campaign is asked, and what it found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vm/fuzz/coverage.h"
#include "vm/fuzz/fuzz_case.h"
#include "vm/fuzz/seed_range.h"

namespace tilevm::vm::fuzz {

struct CampaignOptions {
  SeedRange seeds;
  std::vector<std::string> backends;
  isa::Target target;
  /// Each program gets a planted fault, of one kind after another, and must report exactly it;
  /// `backends` says nothing then.
  bool plant = false;
  std::optional<double> time_limit = {};  ///< seconds after which no batch begins
  std::string corpus = {};                ///< a folder; empty: nothing is kept
  bool resume = false;                    ///< leave out seeds that the corpus has
  bool shrink = true;
  std::vector<std::string> avoid = {};  ///< known signatures or their first words: only counted
  std::string version = {};             ///< version of tilevm, for bundles
  EngineOptions engine = {};  ///< options of the engines that are compared with the simulator
  /// For tests: one more engine.
  std::function<std::unique_ptr<Engine>()> another_engine = {};
};

/// A signature and what has it.
struct KnownFinding {
  std::uint64_t count = 0;  ///< number in this run; 0: only the corpus has it, from an earlier run
  std::uint64_t first_seed = 0;
  Finding finding;
  std::string text;          ///< text of the first case, shrunk
  std::string file, bundle;  ///< paths in the corpus, or empty
};

struct CampaignReport {
  std::uint64_t programs = 0;
  std::uint64_t planted = 0;  ///< faults that were planted, and reported as they must be
  std::uint64_t avoided = 0;  ///< programs whose signature was known
  double seconds = 0;
  bool out_of_time = false;
  Coverage coverage;
  std::map<std::string, KnownFinding> findings;
};

}  // namespace tilevm::vm::fuzz
