// The findings of a campaign: each signature is shrunk and kept once, and counted.
#pragma once

#include <optional>

#include "vm/fuzz/campaign_report.h"
#include "vm/fuzz/corpus.h"
#include "vm/fuzz/shrink.h"

namespace tilevm::vm::fuzz {

class Findings {
 public:
  /// All must outlive this. The corpus may be missing; one that is resumed brings its findings.
  Findings(const CampaignOptions& options, const Corpus* corpus, CampaignReport& report);

  /// Counts a finding. `again` judges smaller cases. Error: the corpus cannot be written.
  [[nodiscard]] Status add(const FuzzCase& each, const Finding& finding,
                           const JudgeFunction& again);

 private:
  [[nodiscard]] Status keep(const FuzzCase& each, KnownFinding& known) const;

  const CampaignOptions& options_;
  const Corpus* corpus_;
  CampaignReport& report_;
};

}  // namespace tilevm::vm::fuzz
