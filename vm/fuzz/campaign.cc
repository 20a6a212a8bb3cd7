#include "vm/fuzz/campaign.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/enumerators.h"
#include "vm/fuzz/findings.h"
#include "vm/fuzz/generate.h"
#include "vm/fuzz/judge.h"
#include "vm/fuzz/program_text.h"
#include "vm/fuzz/text_oracles.h"

namespace tilevm::vm::fuzz {
namespace {

constexpr std::size_t batch_size = 32;
/// Programs between two lines of progress.txt.
constexpr std::uint64_t kept_programs = 256;

using Clock = std::chrono::steady_clock;

FuzzCase as_case(const GeneratedCase& generated, const isa::Target& target) {
  return {generated.seed, target, program_text(generated.program), generated.inputs};
}

/// What is wrong with a planted case; also what the checks of its text find.
std::optional<Finding> judge_planted_case(const FuzzCase& each) {
  const PlantedFault& planted = *each.planted;
  // Without the statement that must be reported there is no mistake any more.
  if (planted.faulty && each.text.find(planted.expected.line) == std::string::npos) {
    return std::nullopt;
  }
  auto made = make_ready(each);
  if (auto* finding = std::get_if<Finding>(&made)) return std::move(*finding);
  return judge_planted(std::get<ReadyCase>(made), planted);
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, Judge judge, std::optional<Corpus> corpus)
      : options_(options),
        work_{options.plant ? "planted" : fmt::format("{}", fmt::join(options.backends, ",")),
              isa::to_string(options.target)},
        judge_(std::move(judge)),
        corpus_(std::move(corpus)),
        findings_(options, corpus_ ? &*corpus_ : nullptr, report_) {}

  Result<CampaignReport> run(const std::function<void(const CampaignReport&)>& tell) {
    const SeedRange& seeds = options_.seeds;
    begun_ = seeds.first;
    std::vector<std::uint64_t> batch;
    for (std::uint64_t seed = seeds.first;; ++seed) {
      const bool known = options_.resume && corpus_ && corpus_->has(seed, work_);
      if (seeds.has(seed) && !known) batch.push_back(seed);
      const bool last = seed == seeds.last;
      if (batch.size() < batch_size && !last) continue;
      if (Status status = run_batch(batch); !status) return status.error();
      batch.clear();
      report_.seconds = elapsed();
      tell(report_);
      report_.out_of_time = options_.time_limit && elapsed() >= *options_.time_limit && !last;
      if (last || report_.out_of_time || report_.programs - kept_ >= kept_programs) {
        if (Status status = keep_progress(seed); !status) return status.error();
      }
      if (last || report_.out_of_time) return std::move(report_);
    }
  }

 private:
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  Status keep_progress(std::uint64_t last) {
    if (!corpus_ || report_.programs == kept_) return Done{};
    const SeedRange done{begun_, last, options_.seeds.index, options_.seeds.count};
    const Progress progress{done, report_.programs - kept_, elapsed() - kept_seconds_, work_};
    begun_ = last + 1;
    kept_ = report_.programs;
    kept_seconds_ = elapsed();
    if (Status status = corpus_->add_progress(progress); !status) return status;
    return corpus_->add_coverage(report_.coverage);
  }

  Status run_batch(const std::vector<std::uint64_t>& seeds) {
    if (!options_.plant) return judge_batch(seeds);
    for (const std::uint64_t seed : seeds) {
      if (Status status = plant_in(seed); !status) return status;
    }
    return Done{};
  }

  // --- Differences between engines ---

  Status judge_batch(const std::vector<std::uint64_t>& seeds) {
    std::vector<FuzzCase> cases;
    std::vector<ReadyCase> ready;
    for (const std::uint64_t seed : seeds) {
      const GeneratedCase generated = generate(seed, options_.target);
      ++report_.programs;
      FuzzCase each = as_case(generated, options_.target);
      auto made = examine_text(generated, each);
      if (const auto* finding = std::get_if<Finding>(&made)) {
        if (Status status = add(each, *finding); !status) return status;
        continue;
      }
      cover(std::get<ReadyCase>(made));
      cases.push_back(std::move(each));
      ready.push_back(std::move(std::get<ReadyCase>(made)));
    }
    std::vector<const ReadyCase*> batch;
    for (const ReadyCase& each : ready) batch.push_back(&each);
    auto findings = judge_.judge(batch);
    if (!findings) return findings.error();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!(*findings)[i]) continue;
      if (Status status = add(cases[i], *(*findings)[i]); !status) return status;
    }
    return Done{};
  }

  std::variant<ReadyCase, Finding> examine_text(const GeneratedCase& generated,
                                                const FuzzCase& each) const {
    if (auto finding = check_generated(generated, options_.target)) return *std::move(finding);
    return make_ready(each);
  }

  void cover(const ReadyCase& each) {
    const Coverage covered = coverage_of(each.program);
    report_.coverage.insert(covered.begin(), covered.end());
  }

  Status add(const FuzzCase& each, const Finding& finding) {
    return findings_.add(each, finding, [&](const FuzzCase& candidate) -> std::optional<Finding> {
      auto made = make_ready(candidate);
      if (auto* text = std::get_if<Finding>(&made)) return std::move(*text);
      return judge_.judge_again(std::get<ReadyCase>(made), finding);
    });
  }

  // --- Planted faults ---

  /// Both forms of a seed's program: with the mistake and without it. Some mistakes cannot stand in
  /// some programs.
  Status plant_in(std::uint64_t seed) {
    const auto kind = static_cast<Planted>(seed % enumerator_count<Planted>());
    for (const bool faulty : {false, true}) {
      const PlantedCase planted = generate_planted(seed, options_.target, kind, faulty);
      if (!planted.expected) return Done{};
      report_.programs += faulty ? 1 : 0;
      FuzzCase each = as_case(planted.generated, options_.target);
      each.planted = PlantedFault{std::string(to_string(kind)), faulty, *planted.expected};
      const std::string& defect = planted.generated.defect;
      const auto finding =
          defect.empty() ? judge_planted_case(each) : Finding{"generator: planted", defect, {}, {}};
      if (!finding) continue;
      return findings_.add(each, *finding, judge_planted_case);
    }
    ++report_.planted;
    return Done{};
  }

  const CampaignOptions& options_;
  Work work_;
  Judge judge_;
  std::optional<Corpus> corpus_;
  CampaignReport report_;
  Findings findings_;
  Clock::time_point start_ = Clock::now();
  std::uint64_t begun_ = 0, kept_ = 0;
  double kept_seconds_ = 0;
};

}  // namespace

Result<CampaignReport> run_campaign(const CampaignOptions& options,
                                    const std::function<void(const CampaignReport&)>& tell) {
  Result<Judge> judge =
      Judge::make(options.plant ? std::vector<std::string>() : options.backends, options.engine);
  if (!judge) return judge.error();
  if (options.another_engine) judge->add(options.another_engine());
  std::optional<Corpus> corpus;
  if (!options.corpus.empty()) {
    Result<Corpus> opened = Corpus::open(options.corpus);
    if (!opened) return opened.error();
    corpus = *std::move(opened);
  }
  return Campaign(options, *std::move(judge), std::move(corpus)).run(tell);
}

FuzzCase make_case(std::uint64_t seed, const isa::Target& target) {
  return as_case(generate(seed, target), target);
}

Result<std::optional<Finding>> judge_case(const FuzzCase& each,
                                          const std::vector<std::string>& backends) {
  if (each.planted) return judge_planted_case(each);
  Result<Judge> judge = Judge::make(backends);
  if (!judge) return judge.error();
  auto made = make_ready(each);
  if (auto* finding = std::get_if<Finding>(&made)) {
    return std::optional<Finding>(std::move(*finding));
  }
  auto findings = judge->judge({&std::get<ReadyCase>(made)});
  if (!findings) return findings.error();
  return std::move(findings->front());
}

}  // namespace tilevm::vm::fuzz
