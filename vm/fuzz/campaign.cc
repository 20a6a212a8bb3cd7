#include "vm/fuzz/campaign.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "isa/base/enumerators.h"
#include "vm/fuzz/generate.h"
#include "vm/fuzz/judge.h"
#include "vm/fuzz/program_text.h"
#include "vm/fuzz/shrink.h"
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

class Campaign {
 public:
  Campaign(const CampaignOptions& options, Judge judge, std::optional<Corpus> corpus)
      : options_(options), judge_(std::move(judge)), corpus_(std::move(corpus)) {}

  Result<CampaignReport> run(const std::function<void(const CampaignReport&)>& tell) {
    const SeedRange& seeds = options_.seeds;
    begun_ = seeds.first;
    std::vector<std::uint64_t> batch;
    for (std::uint64_t seed = seeds.first;; ++seed) {
      const bool mine = seed % seeds.count == seeds.index;
      if (mine && !(options_.resume && corpus_ && corpus_->has(seed))) batch.push_back(seed);
      const bool last = seed == seeds.last;
      if (batch.size() < batch_size && !last) continue;
      if (Status status = judge_batch(batch); !status) return status.error();
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
    if (!corpus_) return Done{};
    const SeedRange done{begun_, last, options_.seeds.index, options_.seeds.count};
    const Progress progress{done, report_.programs - kept_, elapsed() - kept_seconds_};
    begun_ = last + 1;
    kept_ = report_.programs;
    kept_seconds_ = elapsed();
    if (Status status = corpus_->add_progress(progress); !status) return status;
    return corpus_->add_coverage(report_.coverage);
  }

  Status judge_batch(const std::vector<std::uint64_t>& seeds) {
    std::vector<FuzzCase> cases;
    std::vector<ReadyCase> ready;
    for (const std::uint64_t seed : seeds) {
      const GeneratedCase generated = generate(seed, options_.target);
      ++report_.programs;
      FuzzCase each = as_case(generated, options_.target);
      if (const auto finding = check_generated(generated, options_.target)) {
        if (Status status = add(each, *finding); !status) return status;
        continue;
      }
      auto made = make_ready(each);
      if (const auto* finding = std::get_if<Finding>(&made)) {
        if (Status status = add(each, *finding); !status) return status;
        continue;
      }
      const Coverage covered = coverage_of(std::get_if<ReadyCase>(&made)->program);
      report_.coverage.insert(covered.begin(), covered.end());
      cases.push_back(std::move(each));
      ready.push_back(std::move(*std::get_if<ReadyCase>(&made)));
    }
    std::vector<const ReadyCase*> batch;
    for (const ReadyCase& each : ready) batch.push_back(&each);
    auto findings = judge_.judge(batch, seeds.empty() ? 0 : seeds.front());
    if (!findings) return findings.error();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!(*findings)[i]) continue;
      if (Status status = add(cases[i], *(*findings)[i]); !status) return status;
    }
    return Done{};
  }

  /// Counts a finding; the first of its signature is shrunk and kept.
  Status add(const FuzzCase& each, const Finding& finding) {
    const auto& avoid = options_.avoid;
    if (std::find(avoid.begin(), avoid.end(), finding.signature) != avoid.end()) {
      ++report_.avoided;
      return Done{};
    }
    KnownFinding& known = report_.findings[finding.signature];
    if (++known.count > 1) return Done{};
    known.first_seed = each.seed;
    FuzzCase smaller = each;
    known.finding = finding;
    if (options_.shrink && !finding.signature.starts_with("generator")) {
      smaller = shrink(each, finding.signature,
                       [&](const FuzzCase& candidate) { return judge_one(candidate); });
      if (auto again = judge_one(smaller)) known.finding = *std::move(again);
    }
    known.text = smaller.text;
    if (!corpus_) return Done{};
    const Result<std::string> file = corpus_->add_case(smaller, known.finding);
    if (!file) return file.error();
    known.file = *file;
    return Done{};
  }

  std::optional<Finding> judge_one(const FuzzCase& each) {
    auto made = make_ready(each);
    if (auto* finding = std::get_if<Finding>(&made)) return std::move(*finding);
    auto findings = judge_.judge({std::get_if<ReadyCase>(&made)}, each.seed);
    return findings ? std::move(findings->front()) : std::nullopt;
  }

  const CampaignOptions& options_;
  Judge judge_;
  std::optional<Corpus> corpus_;
  CampaignReport report_;
  Clock::time_point start_ = Clock::now();
  std::uint64_t begun_ = 0, kept_ = 0;
  double kept_seconds_ = 0;
};

}  // namespace

Result<CampaignReport> run_campaign(const CampaignOptions& options,
                                    const std::function<void(const CampaignReport&)>& tell) {
  Result<Judge> judge = Judge::make(options.backends);
  if (!judge) return judge.error();
  std::optional<Corpus> corpus;
  if (!options.corpus.empty()) {
    Result<Corpus> opened = Corpus::open(options.corpus);
    if (!opened) return opened.error();
    corpus = *std::move(opened);
  }
  return Campaign(options, *std::move(judge), std::move(corpus)).run(tell);
}

namespace {

/// What is wrong with the form of a planted case; nothing if it behaves as it must.
std::optional<Finding> judge_planted(const FuzzCase& each, const PlantedCase& planted,
                                     std::string_view name, bool faulty) {
  if (!planted.generated.defect.empty()) {
    return Finding{"generator: planted", planted.generated.defect, {}};
  }
  const auto made = make_ready(each);
  if (const auto* finding = std::get_if<Finding>(&made)) return *finding;
  const auto& ready = *std::get_if<ReadyCase>(&made);
  const SourceFile& source = ready.program.source();
  const Outcome outcome = run_checked(ready);
  if (!faulty && !outcome.failure) return std::nullopt;
  const std::string title = fmt::format("planted {}: ", name);
  if (!outcome.failure) return Finding{title + "no report", planted.expected->line, {}};
  const std::string text = failure_text(*outcome.failure, source);
  const std::string report = fault_signature(*outcome.failure, source);
  if (!faulty) return Finding{title + "without it " + report, text, {}};
  const auto* diagnostics = std::get_if<Diagnostics>(&*outcome.failure);
  if (diagnostics == nullptr) return Finding{title + report, text, {}};
  const std::vector<Diagnostic> all = diagnostics->sorted();
  const std::string_view line = source.line(source.locate(all.front().span.begin).line);
  const bool right = all.size() == 1 && all.front().code == planted.expected->code &&
                     line.find(planted.expected->line) != std::string_view::npos;
  if (right) return std::nullopt;
  return Finding{title + report, text, {}};
}

}  // namespace

CampaignReport run_planted(const CampaignOptions& options,
                           const std::function<void(const CampaignReport&)>& tell) {
  const auto start = Clock::now();
  CampaignReport report;
  const SeedRange& seeds = options.seeds;
  for (std::uint64_t seed = seeds.first;; ++seed) {
    const auto kind = static_cast<Planted>(seed % enumerator_count<Planted>());
    for (const bool faulty : {false, true}) {
      if (seed % seeds.count != seeds.index) break;
      const PlantedCase planted = generate_planted(seed, options.target, kind, faulty);
      if (!planted.expected) break;
      ++report.programs;
      const FuzzCase each = as_case(planted.generated, options.target);
      const auto finding = judge_planted(each, planted, to_string(kind), faulty);
      report.planted += faulty && !finding ? 1 : 0;
      if (!finding) continue;
      KnownFinding& known = report.findings[finding->signature];
      if (++known.count == 1) known = {1, seed, *finding, each.text, {}};
      break;
    }
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    tell(report);
    report.out_of_time = options.time_limit && report.seconds >= *options.time_limit;
    if (seed == seeds.last || report.out_of_time) return report;
  }
}

FuzzCase make_case(std::uint64_t seed, const isa::Target& target) {
  return as_case(generate(seed, target), target);
}

Result<std::optional<Finding>> judge_case(const FuzzCase& each,
                                          const std::vector<std::string>& backends) {
  Result<Judge> judge = Judge::make(backends);
  if (!judge) return judge.error();
  auto made = make_ready(each);
  if (auto* finding = std::get_if<Finding>(&made)) {
    return std::optional<Finding>(std::move(*finding));
  }
  auto findings = judge->judge({std::get_if<ReadyCase>(&made)}, each.seed);
  if (!findings) return findings.error();
  return std::move(findings->front());
}

}  // namespace tilevm::vm::fuzz
