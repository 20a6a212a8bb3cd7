// A campaign: a range of seeds, generated, judged, shrunk and kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vm/fuzz/corpus.h"
#include "vm/fuzz/fuzz_case.h"

namespace tilevm::vm::fuzz {

struct CampaignOptions {
  SeedRange seeds;
  std::vector<std::string> backends;
  isa::Target target;
  std::optional<double> time_limit;  ///< seconds after which no batch begins
  std::string corpus;                ///< a folder; empty: nothing is kept
  bool resume = false;               ///< leave out seeds that the corpus has
  bool shrink = true;
  std::vector<std::string> avoid;  ///< signatures that are known: counted, and nothing else
};

/// A signature and what has it.
struct KnownFinding {
  std::uint64_t count = 0;
  std::uint64_t first_seed = 0;
  Finding finding;
  std::string text;  ///< of the first case, shrunk
  std::string file;  ///< in the corpus, or empty
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

/// Runs a campaign; `tell` is called after each batch. Errors: usage, unavailable.
[[nodiscard]] Result<CampaignReport> run_campaign(
    const CampaignOptions& options, const std::function<void(const CampaignReport&)>& tell);

/// Plants a fault in the program of each seed, of one kind after another. A finding is a program
/// that faults without its mistake, or does not report exactly the mistake.
[[nodiscard]] CampaignReport run_planted(const CampaignOptions& options,
                                         const std::function<void(const CampaignReport&)>& tell);

/// The case of a seed.
[[nodiscard]] FuzzCase make_case(std::uint64_t seed, const isa::Target& target);

/// Judges one case, as a campaign does.
[[nodiscard]] Result<std::optional<Finding>> judge_case(const FuzzCase& each,
                                                        const std::vector<std::string>& backends);

}  // namespace tilevm::vm::fuzz
