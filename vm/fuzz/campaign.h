// A campaign: a range of seeds, generated, judged, shrunk and kept.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vm/fuzz/campaign_report.h"

namespace tilevm::vm::fuzz {

/// Runs a campaign; `tell` is called after each batch. Errors: usage, unavailable.
[[nodiscard]] Result<CampaignReport> run_campaign(
    const CampaignOptions& options, const std::function<void(const CampaignReport&)>& tell);

/// The case of a seed.
[[nodiscard]] FuzzCase make_case(std::uint64_t seed, const isa::Target& target);

/// Judges one case, as a campaign does.
[[nodiscard]] Result<std::optional<Finding>> judge_case(const FuzzCase& each,
                                                        const std::vector<std::string>& backends);

}  // namespace tilevm::vm::fuzz
