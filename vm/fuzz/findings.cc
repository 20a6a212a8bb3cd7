#include "vm/fuzz/findings.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "vm/fuzz/replay.h"
#include "vm/fuzz/signature.h"
#include "vm/fuzz/text_oracles.h"

namespace tilevm::vm::fuzz {

Findings::Findings(const CampaignOptions& options, const Corpus* corpus, CampaignReport& report)
    : options_(options), corpus_(corpus), report_(report) {
  if (!options.resume || corpus == nullptr) return;
  for (KeptCase& kept : corpus->cases()) {
    if (kept.each.planted.has_value() != options.plant || kept.finding.signature.empty()) continue;
    const std::string signature = kept.finding.signature;
    report_.findings.try_emplace(
        signature,
        KnownFinding{
            0, kept.each.seed, std::move(kept.finding), std::move(kept.each.text), kept.file, {}});
  }
}

Status Findings::add(const FuzzCase& each, const Finding& finding, const JudgeFunction& again) {
  const auto& avoid = options_.avoid;
  const bool avoided = std::any_of(avoid.begin(), avoid.end(), [&](const std::string& known) {
    return matches(finding.signature, known);
  });
  if (avoided) {
    ++report_.avoided;
    return Done{};
  }
  const auto [at, is_new] = report_.findings.try_emplace(finding.signature);
  KnownFinding& known = at->second;
  ++known.count;
  if (!is_new) return Done{};
  known.first_seed = each.seed;
  known.finding = finding;
  FuzzCase smaller = each;
  if (options_.shrink && !finding.signature.starts_with("generator")) {
    smaller = shrink(each, finding, again);
    if (auto small = again(smaller)) known.finding = *std::move(small);
  }
  known.text = smaller.text;
  return corpus_ != nullptr ? keep(smaller, known) : Status(Done{});
}

/// Writes the case, and a bundle of it if there are two engines to run it on.
Status Findings::keep(const FuzzCase& each, KnownFinding& known) const {
  const Result<std::string> file = corpus_->add_case(each, known.finding);
  if (!file) return file.error();
  known.file = *file;
  if (!has_replay(known.finding)) return Done{};
  const auto ready = make_ready(each);
  if (!std::holds_alternative<ReadyCase>(ready)) return Done{};
  const std::string folder = bundle_folder(*file);
  if (Status written = write_replay(folder, std::get<ReadyCase>(ready), each, known.finding,
                                    options_.engine, options_.version);
      !written) {
    return written;
  }
  known.bundle = folder;
  return Done{};
}

}  // namespace tilevm::vm::fuzz
